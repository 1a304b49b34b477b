import Basics
import Dialogs

/// Invitations.
extension Reader {
  func invite(token hash: [UInt8]) throws -> Invite? {
    try connection(.inviteByToken).bind(1, hash).first(Self.invite)
  }

  func invite(reserving name: String, in realm: RealmID, after time: Timestamp) throws -> Invite? {
    try connection(.inviteByName).bind(1, realm.number).bind(2, name).bind(3, time.milliseconds).first(Self.invite)
  }

  func inviteCount(by inviter: UserID?, in realm: RealmID) throws -> Int {
    try connection(.inviteCount).bind(1, realm.number).bind(2, inviter?.number).first { Int($0.int(0)) } ?? 0
  }

  func invites(in realm: RealmID, limit: Int) throws -> [Invite] {
    try connection(.invites).bind(1, realm.number).bind(2, bound(limit)).all(Self.invite)
  }

  private static func invite(_ row: Prepared) throws -> Invite {
    guard let kind = Invite.Kind(rawValue: UInt8(clamping: row.int(2))) else {
      throw StoreFailure.corrupt("invitation \(row.int(0)) is of an unknown kind")
    }
    return Invite(
      id: row.int(0), realm: RealmID(row.int(1)), kind: kind, token: row.bytes(3),
      inviter: row.intOrNil(4).map { UserID($0) }, name: row.textOrNil(5),
      createdAt: Timestamp(milliseconds: row.int(6)), expires: Timestamp(milliseconds: row.int(7)),
      isUsed: row.int(8) != 0)
  }
}

extension Writer {
  func insert(_ invite: Invite) throws -> Invite {
    let id = try connection(.insertInvite).bind(1, invite.realm.number).bind(2, Int64(invite.kind.rawValue))
      .bind(3, invite.token).bind(4, invite.inviter?.number).bind(5, invite.name)
      .bind(6, invite.createdAt.milliseconds).bind(7, invite.expires.milliseconds).bind(8, invite.isUsed ? 1 : 0)
      .first { $0.int(0) }
    guard let id else { throw StoreFailure.corrupt("a new invitation got no number") }
    var invite = invite
    invite.id = id
    return invite
  }

  func setUsed(_ invite: Int64) throws { try connection(.setUsed).bind(1, invite).run() }

  func removeInvite(_ id: Int64) throws -> Bool {
    try connection(.deleteInvite).bind(1, id).first { _ in true } ?? false
  }

  func removeInvites(before time: Timestamp) throws {
    try connection(.deleteInvites).bind(1, time.milliseconds).run()
  }
}

extension Query {
  private static let columns = "id, realm, kind, token, inviter, name, created, expires, used"
  fileprivate static let inviteByToken = Query("SELECT \(columns) FROM invites WHERE token = ?1")
  fileprivate static let inviteByName = Query(
    "SELECT \(columns) FROM invites WHERE realm = ?1 AND name = ?2 AND used = 0 AND expires > ?3")
  fileprivate static let inviteCount = Query("SELECT count(*) FROM invites WHERE realm = ?1 AND inviter IS ?2")
  fileprivate static let invites = Query("SELECT \(columns) FROM invites WHERE realm = ?1 ORDER BY id LIMIT ?2")
  fileprivate static let insertInvite = Query(
    """
    INSERT INTO invites (realm, kind, token, inviter, name, created, expires, used)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id
    """)
  fileprivate static let setUsed = Query("UPDATE invites SET used = 1 WHERE id = ?1")
  fileprivate static let deleteInvite = Query("DELETE FROM invites WHERE id = ?1 AND used = 0 RETURNING id")
  fileprivate static let deleteInvites = Query("DELETE FROM invites WHERE expires < ?1")
  /// The index is by realm first.
  static let deleteInvitesOfUser = Query(
    "DELETE FROM invites WHERE realm = (SELECT realm FROM users WHERE id = ?1) AND inviter = ?1")
}
