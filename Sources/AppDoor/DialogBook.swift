import AppProtocol
import Dialogs
import Synchronization

/// Who is in a dialog: two parties that never change.
struct DialogMembers: Hashable, Sendable {
  let id: DialogID
  let first: Party
  let second: Party

  init(_ dialog: Dialog) {
    id = dialog.id
    first = dialog.first
    second = dialog.second
  }

  /// The other one; oneself in a dialog with oneself. nil: not a member.
  func peer(of user: UserID) -> Party? {
    if first.id == user { return second }
    if second.id == user { return first }
    return nil
  }
}

/// Finds a dialog's members by its public id. Remembered, for they never
/// change: sending a message costs no read. At most `cachedDialogsMax`.
final class DialogBook: Sendable {
  private let parley: Parley
  private let known = Mutex<[DialogID: DialogMembers]>([:])

  enum Found: Sendable {
    case members(DialogMembers)
    /// Not remembered: read it, then `remember` it.
    case unread(DialogID)
  }

  static let unknown = Problem(
    .missing, "dialog-unknown", "There is no such dialog, or you are not in it.", field: "dialogId")

  init(parley: Parley) { self.parley = parley }

  /// Without reading. Throws for an id that cannot be one.
  func find(_ text: String, in realm: RealmID) throws(Problem) -> Found {
    guard let id = PublicID(text).flatMap({ parley.dialog(of: $0, in: realm) }) else { throw Self.unknown }
    if let members = known.withLock({ $0[id] }) { return .members(members) }
    return .unread(id)
  }

  func remember(_ members: DialogMembers) {
    known.withLock {
      if $0.count >= AppLimits.cachedDialogsMax { $0 = [:] }
      $0[members.id] = members
    }
  }

  /// The members of a dialog that `user` is in.
  func members(_ text: String, for user: Party) async throws(Problem) -> (members: DialogMembers, peer: Party) {
    let members: DialogMembers
    switch try find(text, in: user.realm) {
    case .members(let found): members = found
    case .unread(let id):
      guard let dialog = try await parley.read({ try $0.dialog(id) }) else { throw Self.unknown }
      members = DialogMembers(dialog)
      remember(members)
    }
    guard let peer = members.peer(of: user.id) else { throw Self.unknown }
    return (members, peer)
  }
}
