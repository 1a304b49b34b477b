import Basics
import Dialogs

/// One-time codes and password resets, second factors, and the times of last logins. User 0 means none.
extension Reader {
  func code(for identity: Identity, of user: UserID?, in realm: RealmID) throws -> OneTimeCode? {
    try connection(.code).bind(1, realm.number).bind(2, identity.issuer.stored).bind(3, identity.subject)
      .bind(4, user?.number ?? 0).first { row in
        OneTimeCode(
          identity: identity, user: user, hash: row.bytes(0), expires: Timestamp(milliseconds: row.int(1)),
          attemptsLeft: Int(row.int(2)))
      }
  }

  func passwordReset(token hash: [UInt8]) throws -> PasswordReset? {
    try connection(.passwordReset).bind(1, hash).first { row in
      let user = row.int(0)
      return PasswordReset(
        hash: hash, user: user == 0 ? nil : UserID(user), expires: Timestamp(milliseconds: row.int(1)))
    }
  }

  func secondFactor(of user: UserID) throws -> SecondFactor? {
    try connection(.secondFactor).bind(1, user.number).first { row in
      SecondFactor(
        user: user, sealedSecret: row.bytes(0), isOn: row.int(1) != 0, lastStep: row.int(2),
        createdAt: Timestamp(milliseconds: row.int(3)))
    }
  }

  func recoveryCodes(of user: UserID) throws -> [[UInt8]] {
    try connection(.recoveryCodes).bind(1, user.number).all { $0.bytes(0) }
  }

  func lastLogin(of user: UserID) throws -> Timestamp? {
    try connection(.lastLogin).bind(1, user.number).first { $0.intOrNil(0) }.flatMap { $0 }
      .map { Timestamp(milliseconds: $0) }
  }
}

extension Writer {
  func put(_ code: OneTimeCode, in realm: RealmID) throws {
    try connection(.putCode).bind(1, realm.number).bind(2, code.identity.issuer.stored).bind(3, code.identity.subject)
      .bind(4, code.user?.number ?? 0).bind(5, code.hash).bind(6, code.expires.milliseconds)
      .bind(7, Int64(code.attemptsLeft)).run()
  }

  func removeCode(for identity: Identity, of user: UserID?, in realm: RealmID) throws {
    try connection(.deleteCode).bind(1, realm.number).bind(2, identity.issuer.stored).bind(3, identity.subject)
      .bind(4, user?.number ?? 0).run()
  }

  func removeCodes(endedBy time: Timestamp) throws {
    try connection(.deleteOldCodes).bind(1, time.milliseconds).run()
  }

  func insert(_ reset: PasswordReset) throws {
    try connection(.insertPasswordReset).bind(1, reset.hash).bind(2, reset.user?.number ?? 0)
      .bind(3, reset.expires.milliseconds).run()
  }

  func removePasswordResets(of user: UserID) throws {
    try connection(.deletePasswordResets).bind(1, user.number).run()
  }

  func removePasswordResets(endedBy time: Timestamp) throws {
    try connection(.deleteOldPasswordResets).bind(1, time.milliseconds).run()
  }

  func put(_ factor: SecondFactor) throws {
    try connection(.putSecondFactor).bind(1, factor.user.number).bind(2, factor.sealedSecret)
      .bind(3, factor.isOn ? 1 : 0).bind(4, factor.lastStep).bind(5, factor.createdAt.milliseconds).run()
  }

  func setRecoveryCodes(_ hashes: [[UInt8]], of user: UserID) throws {
    try connection(.deleteRecoveryCodes).bind(1, user.number).run()
    for hash in hashes { try connection(.insertRecoveryCode).bind(1, user.number).bind(2, hash).run() }
  }

  func removeRecoveryCode(_ hash: [UInt8], of user: UserID) throws {
    try connection(.deleteRecoveryCode).bind(1, user.number).bind(2, hash).run()
  }

  func removeSecondFactor(of user: UserID) throws {
    try connection(.deleteSecondFactor).bind(1, user.number).run()
    try connection(.deleteRecoveryCodes).bind(1, user.number).run()
  }

  func setLastLogin(_ time: Timestamp, of user: UserID) throws {
    try connection(.setLastLogin).bind(1, user.number).bind(2, time.milliseconds).run()
  }
}

extension Query {
  fileprivate static let code = Query(
    "SELECT hash, expires, attempts FROM codes WHERE realm = ?1 AND issuer = ?2 AND subject = ?3 AND user = ?4")
  fileprivate static let putCode = Query(
    """
    INSERT OR REPLACE INTO codes (realm, issuer, subject, user, hash, expires, attempts)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    """)
  fileprivate static let deleteCode = Query(
    "DELETE FROM codes WHERE realm = ?1 AND issuer = ?2 AND subject = ?3 AND user = ?4")
  fileprivate static let deleteOldCodes = Query("DELETE FROM codes WHERE expires <= ?1")
  static let deleteCodesOfUser = Query("DELETE FROM codes WHERE user = ?1 AND user <> 0")

  fileprivate static let passwordReset = Query("SELECT user, expires FROM password_resets WHERE hash = ?1")
  fileprivate static let insertPasswordReset = Query(
    "INSERT INTO password_resets (hash, user, expires) VALUES (?1, ?2, ?3)")
  static let deletePasswordResets = Query("DELETE FROM password_resets WHERE user = ?1")
  fileprivate static let deleteOldPasswordResets = Query("DELETE FROM password_resets WHERE expires <= ?1")

  fileprivate static let secondFactor = Query(
    "SELECT secret, is_on, last_step, created FROM second_factors WHERE user = ?1")
  fileprivate static let putSecondFactor = Query(
    """
    INSERT OR REPLACE INTO second_factors (user, secret, is_on, last_step, created) VALUES (?1, ?2, ?3, ?4, ?5)
    """)
  static let deleteSecondFactor = Query("DELETE FROM second_factors WHERE user = ?1")
  fileprivate static let recoveryCodes = Query("SELECT hash FROM recovery_codes WHERE user = ?1")
  fileprivate static let insertRecoveryCode = Query("INSERT INTO recovery_codes (user, hash) VALUES (?1, ?2)")
  fileprivate static let deleteRecoveryCode = Query("DELETE FROM recovery_codes WHERE user = ?1 AND hash = ?2")
  static let deleteRecoveryCodes = Query("DELETE FROM recovery_codes WHERE user = ?1")

  fileprivate static let lastLogin = Query("SELECT last_login FROM users WHERE id = ?1")
  static let forgetLastLogin = Query("UPDATE users SET last_login = NULL WHERE id = ?1")
  fileprivate static let setLastLogin = Query("UPDATE users SET last_login = ?2 WHERE id = ?1")
}
