import AppProtocol
import Dialogs

/// THE list: every operation of the app protocol. A line here makes an
/// operation reachable; `docs/openapi.yaml` must have it, which a test checks.
enum Operations {
  static let all: [OperationEntry] = [
    .init(GetHealth.self),
    .init(GetInfo.self),
    .init(Register.self),
    .init(LogIn.self),
    .init(ListSessions.self),
    .init(LogOut.self),
    .init(GetMe.self),
    .init(UpdateMe.self),
    .init(ListUsers.self),
    .init(GetUser.self),
    .init(GetPresence.self),
    .init(ListContacts.self),
    .init(PutContact.self),
    .init(RemoveContact.self),
    .init(ListBlocks.self),
    .init(PutBlock.self),
    .init(RemoveBlock.self),
    .init(OpenDialog.self),
    .init(ListDialogs.self),
    .init(GetDialog.self),
    .init(UpdateDialog.self),
    .init(DeleteDialog.self),
    .init(ListMembers.self),
    .init(PutMember.self),
    .init(RemoveMember.self),
    .init(SendMessage.self),
    .init(ListMessages.self),
    .init(EditMessage.self),
    .init(DeleteMessage.self),
    .init(SetReactions.self),
    .init(SetMarker.self),
    .init(SetTyping.self),
    .init(Sync.self),
  ]
}

/// An operation without its types: JSON in, status and JSON out.
struct OperationEntry: Sendable {
  let name: String
  let method: Method
  let path: String
  let pathParameters: [String]
  let successes: [Int]
  let needsCaller: Bool
  let perform: @Sendable (JSONValue, [String: String], Call) async throws(Problem) -> (status: Int, body: [UInt8])

  init<Op: ServedOperation>(_ operation: Op.Type) {
    name = Op.name
    method = Op.method
    path = Op.path
    pathParameters = Op.pathParameters
    successes = Op.successes
    needsCaller = Op.needsCaller
    perform = { (value, parameters, call) async throws(Problem) in
      let input: Op.Input
      do throws(InputError) {
        input = try InputDecoder.decode(Op.Input.self, from: value, parameters: parameters)
      } catch { throw Problem(error) }
      let outcome = try await Op.perform(input, call)
      if outcome.status == 204 { return (204, []) }
      var writer = JSONWriter(capacity: 512)
      outcome.output.write(to: &writer)
      return (outcome.status, writer.bytes)
    }
  }
}
