import Basics
import Dialogs

/// XMPP clients with tokens, and app passwords.
extension Reader {
  func client(_ agent: String, of user: UserID) throws -> Client? {
    try connection(.client).bind(1, user.number).bind(2, agent).first(Self.client)
  }

  func clients(of user: UserID) throws -> [Client] {
    try connection(.clients).bind(1, user.number).all(Self.client)
  }

  private static func client(_ row: Prepared) throws -> Client {
    var current: Client.Token?
    if let mechanism = row.textOrNil(7) {
      current = Client.Token(
        mechanism: mechanism, nonce: row.bytes(8), expires: Timestamp(milliseconds: row.int(9)),
        count: row.intOrNil(10))
    }
    var new: Client.Token?
    if let mechanism = row.textOrNil(11) {
      new = Client.Token(
        mechanism: mechanism, nonce: row.bytes(12), expires: Timestamp(milliseconds: row.int(13)))
    }
    return Client(
      id: row.int(0), user: UserID(row.int(1)), agent: row.text(2), software: row.textOrNil(3),
      device: row.textOrNil(4), source: try source(row.int(5), row.int(6)), current: current, new: new,
      createdAt: Timestamp(milliseconds: row.int(14)), usedAt: Timestamp(milliseconds: row.int(15)))
  }

  private static func source(_ kind: Int64, _ id: Int64) throws(StoreFailure) -> Access.Source {
    switch kind {
    case 0: .password
    case 1: .grant(id)
    case 2: .appPassword(id)
    default: throw StoreFailure.corrupt("a client has access from an unknown source")
    }
  }

  func appPasswords(of user: UserID) throws -> [AppPassword] {
    try connection(.appPasswords).bind(1, user.number).all { row in
      AppPassword(
        id: row.int(0), user: user, name: row.text(1), createdAt: Timestamp(milliseconds: row.int(2)),
        usedAt: row.intOrNil(3).map { Timestamp(milliseconds: $0) })
    }
  }

  func appPasswordKeys(of user: UserID) throws -> [(password: Int64, keys: SCRAMKeys)] {
    try connection(.appPasswordKeys).bind(1, user.number).all { row in
      guard let hash = SCRAMHash(rawValue: UInt8(clamping: row.int(1))) else {
        throw StoreFailure.corrupt("an app password of user \(user.number) is of an unknown kind")
      }
      let keys = SCRAMKeys(
        hash: hash, salt: row.bytes(2), iterations: Int(row.int(3)), storedKey: row.bytes(4), serverKey: row.bytes(5))
      return (row.int(0), keys)
    }
  }
}

extension Writer {
  private static func columns(_ source: Access.Source) -> (kind: Int64, id: Int64) {
    switch source {
    case .password: (0, 0)
    case .grant(let id): (1, id)
    case .appPassword(let id): (2, id)
    }
  }

  func put(_ client: Client) throws {
    let (kind, id) = Self.columns(client.source)
    try connection(.putClient).bind(1, client.id == 0 ? nil : client.id).bind(2, client.user.number)
      .bind(3, client.agent).bind(4, client.software).bind(5, client.device).bind(6, kind).bind(7, id)
      .bind(8, client.current?.mechanism).bind(9, client.current?.nonce)
      .bind(10, client.current?.expires.milliseconds).bind(11, client.current?.count)
      .bind(12, client.new?.mechanism).bind(13, client.new?.nonce).bind(14, client.new?.expires.milliseconds)
      .bind(15, client.createdAt.milliseconds).bind(16, client.usedAt.milliseconds).run()
  }

  func removeClient(_ id: Int64, of user: UserID) throws {
    try connection(.deleteClient).bind(1, id).bind(2, user.number).run()
  }

  func removeClients(of user: UserID) throws { try connection(.deleteClients).bind(1, user.number).run() }

  func removeClients(of user: UserID, from source: Access.Source) throws {
    let (kind, id) = Self.columns(source)
    try connection(.deleteClientsFrom).bind(1, user.number).bind(2, kind).bind(3, id).run()
  }

  func insertAppPassword(_ password: AppPassword, keys: [SCRAMKeys]) throws -> AppPassword {
    let id = try connection(.insertAppPassword).bind(1, password.user.number).bind(2, password.name)
      .bind(3, password.createdAt.milliseconds).bind(4, password.usedAt?.milliseconds)
      .bind(5, password.id == 0 ? nil : password.id).first { $0.int(0) }
    guard let id else { throw StoreFailure.corrupt("a new app password got no number") }
    for key in keys {
      try connection(.insertAppPasswordKeys).bind(1, password.user.number).bind(2, id)
        .bind(3, Int64(key.hash.rawValue)).bind(4, key.storedKey).bind(5, key.serverKey).run()
    }
    var password = password
    password.id = id
    return password
  }

  func setUsed(_ time: Timestamp, appPassword: Int64, of user: UserID) throws {
    try connection(.setAppPasswordUsed).bind(1, appPassword).bind(2, user.number).bind(3, time.milliseconds).run()
  }

  func removeAppPassword(_ id: Int64, of user: UserID) throws {
    try connection(.deleteAppPasswordKeys).bind(1, user.number).bind(2, id).run()
    try connection(.deleteAppPassword).bind(1, id).bind(2, user.number).run()
  }

  func removeAppPasswords(of user: UserID) throws {
    try connection(.deleteAllAppPasswordKeys).bind(1, user.number).run()
    try connection(.deleteAppPasswords).bind(1, user.number).run()
  }
}

extension Query {
  private static let columns = """
    id, user, agent, software, device, source, source_id, mechanism, nonce, expires, count, new_mechanism, new_nonce,
    new_expires, created, used
    """
  fileprivate static let client = Query("SELECT \(columns) FROM clients WHERE user = ?1 AND agent = ?2")
  fileprivate static let clients = Query("SELECT \(columns) FROM clients WHERE user = ?1 ORDER BY id")
  fileprivate static let putClient = Query(
    """
    INSERT INTO clients (\(columns))
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
    ON CONFLICT (id) DO UPDATE SET software = ?4, device = ?5, source = ?6, source_id = ?7, mechanism = ?8, nonce = ?9,
      expires = ?10, count = ?11, new_mechanism = ?12, new_nonce = ?13, new_expires = ?14, used = ?16
    """)
  fileprivate static let deleteClient = Query("DELETE FROM clients WHERE id = ?1 AND user = ?2")
  static let deleteClients = Query("DELETE FROM clients WHERE user = ?1")
  fileprivate static let deleteClientsFrom = Query(
    "DELETE FROM clients WHERE user = ?1 AND source = ?2 AND source_id = ?3")

  fileprivate static let appPasswords = Query(
    "SELECT id, name, created, used FROM app_passwords WHERE user = ?1 ORDER BY id")
  fileprivate static let appPasswordKeys = Query(
    """
    SELECT k.password, k.hash, c.salt, c.iterations, k.stored_key, k.server_key
    FROM app_password_keys k JOIN credentials c ON c.user = k.user AND c.hash = k.hash
    WHERE k.user = ?1 ORDER BY k.password, k.hash
    """)
  fileprivate static let insertAppPassword = Query(
    "INSERT INTO app_passwords (user, name, created, used, id) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id")
  fileprivate static let insertAppPasswordKeys = Query(
    "INSERT INTO app_password_keys (user, password, hash, stored_key, server_key) VALUES (?1, ?2, ?3, ?4, ?5)")
  fileprivate static let setAppPasswordUsed = Query("UPDATE app_passwords SET used = ?3 WHERE id = ?1 AND user = ?2")
  fileprivate static let deleteAppPassword = Query("DELETE FROM app_passwords WHERE id = ?1 AND user = ?2")
  fileprivate static let deleteAppPasswordKeys = Query(
    "DELETE FROM app_password_keys WHERE user = ?1 AND password = ?2")
  static let deleteAppPasswords = Query("DELETE FROM app_passwords WHERE user = ?1")
  static let deleteAllAppPasswordKeys = Query("DELETE FROM app_password_keys WHERE user = ?1")
}
