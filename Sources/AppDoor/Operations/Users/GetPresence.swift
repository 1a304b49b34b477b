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
    let viewer = try call.user().user
    let user = try await GetUser.find(input.userId, call)
    let (access, isShown, contact) = try await call.parley.read { reader in
      let access = try reader.presenceAccess(to: user.address, for: viewer, at: JID(viewer.address))
      return (
        access, try reader.showsLastSeen(access, to: viewer), try reader.contact(of: viewer.id, user.address)
      )
    }
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    // A domain of this process may be another server's for the viewer, who sees what that server tells them.
    if !party.realm.isRemote, case .reads = access {
      return .ok(call.rendering.presence(of: party, lastSeen: isShown ? call.parley.hub.lastSeen(of: user) : nil))
    }
    guard contact?.subscription.to == true else {
      throw Problem(.forbidden, "presence-not-shared", "This user does not share their presence with you.")
    }
    if let presence = call.parley.hub.presence(of: user.address, toldTo: viewer.address) {
      return .ok(call.rendering.presence(presence))
    }
    // To a blocked caller the user appears offline (XEP-0191 3.3).
    return .ok(call.rendering.absence(of: party, lastSeen: nil))
  }
}
