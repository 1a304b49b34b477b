import Accounts
import Dialogs

/// The common part of the operations that change a message or dialog for the caller alone.
struct PerUserMessageRequest: Sendable {
  let place: DialogPlace
  let caller: Party
  private let call: RequestContext

  init(_ dialogID: String, _ call: RequestContext) async throws(Problem) {
    self.call = call
    caller = try call.user().user
    place = try await call.door.dialogs.place(dialogID, for: caller)
  }

  @discardableResult
  func post(_ intent: PerUserMessageIntent) async throws(Problem) -> Receipt {
    do throws(Problem) { return try await call.parley.post(.perUser(place.id, intent), by: caller) } catch {
      throw await call.door.dialogs.refusal(error, of: place, to: caller)
    }
  }
}
