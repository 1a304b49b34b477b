import Accounts
import Addresses
import Dialogs
import HTTPPort

/// Returns a user's presence, for those who may see it, as in XMPP (RFC 6121 4.3.2).
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
    // To a blocked caller the user appears offline (XEP-0191 3.3).
    if isBlocked { return .ok(call.rendering.absence(of: party, lastSeen: nil)) }
    return .ok(call.rendering.presence(of: party, lastSeen: isShown ? user.lastSeenAt : nil))
  }
}
