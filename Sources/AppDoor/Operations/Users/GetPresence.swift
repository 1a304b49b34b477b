import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Whether a user is here: for those who may see their presence, as in XMPP
/// (RFC 6121 4.3.2).
enum GetPresence: ServedOperation {
  typealias Input = UserInput
  typealias Output = PresenceBody
  static let name = "user.presence"
  static let method = Method.get
  static let path = "/v1/users/{userId}/presence"

  static func perform(_ input: UserInput, _ call: RequestContext) async throws(Problem) -> Outcome<PresenceBody> {
    let caller = try call.user()
    let user = try await GetUser.find(input.userId, call)
    if user.id != caller.user.id {
      let contact = try await call.parley.read { try $0.contact(of: caller.user.id, user.address) }
      guard contact?.subscription.to == true else {
        throw Problem(.forbidden, "presence-not-shared", "This user does not share their presence with you.")
      }
    }
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let viewer = JID(caller.user.address)
    let isOwn = user.id == caller.user.id
    let (isBlocked, isShown) = try await call.parley.read { reader in
      (
        try reader.blocks(of: user.id).contains { $0.matches(viewer) },
        try isOwn || reader.showsLastSeen(user.id, isContact: true)
      )
    }
    // XEP-0191 3.3: to somebody who is blocked the user is not there.
    if isBlocked { return .ok(call.rendering.absence(of: party, lastSeen: nil)) }
    return .ok(call.rendering.presence(of: party, lastSeen: isShown ? user.lastSeenAt : nil))
  }
}
