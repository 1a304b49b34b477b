import Addresses
import AppProtocol
import Dialogs

/// Whether a user is here: for those who may see their presence, as in XMPP
/// (RFC 6121 4.3.2).
enum GetPresence: ServedOperation {
  typealias Input = UserInput
  typealias Output = PresenceBody
  static let name = "user.presence"
  static let method = Method.get
  static let path = "/v1/users/{userId}/presence"

  static func perform(_ input: UserInput, _ call: Call) async throws(Problem) -> Outcome<PresenceBody> {
    let caller = try call.user()
    let user = try await GetUser.find(input.userId, call)
    if user.id != caller.user.id {
      let contact = try await call.parley.read { try $0.contact(of: caller.user.id, user.address) }
      guard contact?.subscription.to == true else {
        throw Problem(.forbidden, "presence-not-shared", "This user does not share their presence with you.")
      }
    }
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    // XEP-0191 3.3: to somebody who is blocked the user is not there.
    let viewer = JID(caller.user.address)
    if try await call.parley.read({ try $0.blocks(of: user.id) }).contains(where: { $0.matches(viewer) }) {
      return .ok(call.rendering.absence(of: party, lastSeen: user.lastSeenAt))
    }
    return .ok(call.rendering.presence(of: party, lastSeen: user.lastSeenAt))
  }
}
