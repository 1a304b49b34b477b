import Accounts
import Basics
import Dialogs
import JSON
import Logging
import ServerMetrics

/// The context of a request: an operation's data besides its input.
struct RequestContext: Sendable {
  let door: AppDoor
  /// The caller; `nil` without a bearer token, which only operations without `needsCaller` see.
  let caller: Accounts.Caller?
  /// The caller's realm; without one, that of the Host.
  let realm: Realm
  /// The client's address, for limits.
  let address: String
  /// The authority that the client used (`localhost:8080`).
  let host: String?
  let isSecure: Bool
  /// The place of the request among those with long answers; `nil` without a caller.
  let readPlace: ReadPlace?
  /// Returns whether the client has the output with a tag (RFC 9110 13.1.2).
  let isHeld: @Sendable (_ tag: String) -> Bool
  /// Calls a closure once if the client goes away while it waits for the response.
  let whenClientLeaves: @Sendable (@escaping @Sendable () -> Void) -> Void

  var parley: Parley { door.parley }
  var accounts: Accounts { door.accounts }
  var rendering: Rendering { Rendering(parley: door.parley, realm: realm.id) }

  /// The server's URL for clients, without a path.
  var publicURL: String {
    door.settings.publicURL ?? "\(isSecure ? "https" : "http")://\(host ?? realm.domain)"
  }

  /// Reads what may be long, such as messages or contacts, when the request has a place (`ReadPlaces`), and refuses if the user owes
  /// stanzas at its turn: requests that came together were all let in before the first one's read was charged.
  ///
  /// - Parameter owner: The owner of the read; `nil` for that of the request.
  func readMessages<Value: Sendable>(
    as kind: ReadKind = .other, for owner: ReadOwner? = nil,
    _ body: @escaping @Sendable (any StoreReader) throws -> Value
  ) async throws(Problem) -> Value {
    await readPlace?.take()
    let (budget, clock) = (caller.map { parley.budget(of: $0.user, from: address) }, parley.clock)
    return try await parley.read(as: kind, for: owner) { reader -> Value in
      try budget?.checkStanzas(now: clock.now)
      return try body(reader)
    }
  }

  func user() throws(Problem) -> Accounts.Caller {
    guard let caller else {
      throw Problem(.unauthenticated, "token-missing", "Send an access token: Authorization: Bearer ...")
    }
    return caller
  }
}

/// A result with its status, one of the operation's `successes`.
struct Outcome<Output: Sendable>: Sendable {
  let status: Int
  let output: Output

  static func ok(_ output: Output) -> Outcome { Outcome(status: 200, output: output) }
  static func created(_ output: Output) -> Outcome { Outcome(status: 201, output: output) }
}

extension Outcome where Output == EmptyBody {
  static var done: Outcome { Outcome(status: 204, output: EmptyBody()) }
}

/// An operation of this server. Each has a file under `Operations`, and a line in `Operations.swift`.
protocol ServedOperation: Operation {
  static func perform(_ input: Input, _ call: RequestContext) async throws(Problem) -> Outcome<Output>
  /// Returns the part of a conditional operation's output that its tag is made of: what a client would show.
  static func tagged(_ output: Output) -> Output
  /// Returns a text that changes whenever the output of a conditional operation does, for one that is read at less cost than the
  /// output; otherwise `nil`. The tag is made of it and of the caller, and a client that has the output costs no more than that.
  static func version(_ call: RequestContext) async throws(Problem) -> String?
}

extension ServedOperation {
  static func tagged(_ output: Output) -> Output { output }
  static func version(_ call: RequestContext) async throws(Problem) -> String? { nil }
}

/// An operation that consists of posts within one dialog. There is a command of the same name, which runs on the
/// session's own lane, in order with the session's other commands and without a task: the fast path.
protocol PostingOperation: ServedOperation where Input: DirectInput {
  /// Returns the dialog's id in the input.
  static func dialogID(_ input: Input) -> String
  /// Returns a read that completes the input; `nil` if none is needed, which is usual.
  static func reading(
    _ input: Input, by author: Party, in place: DialogPlace, _ parley: Parley
  ) -> (@Sendable (any StoreReader) throws -> Input)?
  /// Returns the posts, in order; the last one's outcome is the operation's.
  static func intents(
    _ input: Input, by author: Accounts.Caller, resource: String?, in place: DialogPlace, _ parley: Parley
  ) throws(Problem) -> [Intent]
  static func outcome(_ receipt: Receipt, mark: Mark?, _ author: Party, _ rendering: Rendering) -> Outcome<Output>?
  /// Returns whether `outcome` needs the author's mark in the dialog.
  static func needsMark(_ receipt: Receipt) -> Bool
  /// Takes what a command uses, or refuses it.
  static func limit(_ limiters: AppDoor.Limiters, _ session: OpenSession, now: Timestamp) throws(Problem)
}

extension PostingOperation {
  static func reading(
    _ input: Input, by author: Party, in place: DialogPlace, _ parley: Parley
  ) -> (@Sendable (any StoreReader) throws -> Input)? { nil }

  static func perform(_ input: Input, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user()
    let place = try await call.door.dialogs.place(dialogID(input), for: caller.user)
    var receipt = Receipt(position: .zero)
    do throws(Problem) {
      var input = input
      if let read = reading(input, by: caller.user, in: place, call.parley) {
        input = try await call.parley.read(read)
      }
      for intent in try intents(input, by: caller, resource: nil, in: place, call.parley) {
        receipt = try await call.parley.post(intent, by: caller.user)
      }
    } catch {
      throw await call.door.dialogs.refusal(error, of: place, to: caller.user)
    }
    var mark: Mark?
    if needsMark(receipt) {
      mark = try await call.parley.read { try $0.mark(caller.user.id, in: place.id) }
    }
    guard let outcome = outcome(receipt, mark: mark, caller.user, call.rendering) else {
      throw Problem(.internal, "outcome-missing", "The post was stored, but it cannot be shown.")
    }
    return outcome
  }
}
