import JSON

/// The accounts of one pass. They wait for its end in a temporary database, because a ban stands in another table, in any
/// order, and because newer versions keep a row for each form of one password.
final class EjabberdAccounts {
  private struct Held: Codable {
    var account: AccountRecord
    let place: Place
  }

  private let database: Database
  private let select: Database.Statement
  private let put: Database.Statement
  private let insertBan: Database.Statement
  private var all: Database.Statement?

  init() throws(SourceFailure) {
    database = try Database()
    try database.run(
      """
      PRAGMA journal_mode = OFF;
      CREATE TABLE accounts (number INTEGER PRIMARY KEY, jid TEXT UNIQUE, held TEXT);
      CREATE TABLE bans (jid TEXT PRIMARY KEY);
      BEGIN;
      """)
    select = try database.prepare("SELECT held FROM accounts WHERE jid = ?1")
    put = try database.prepare(
      "INSERT INTO accounts (jid, held) VALUES (?1, ?2) ON CONFLICT (jid) DO UPDATE SET held = excluded.held")
    insertBan = try database.prepare("INSERT OR IGNORE INTO bans VALUES (?1)")
  }

  /// Adds an account, or what another row has of it, and returns what there is to report.
  func add(_ account: AccountRecord, _ place: Place) throws(SourceFailure) -> String? {
    var held = Held(account: account, place: place)
    var flaw: String?
    select.bind(1, account.jid)
    if try select.step(), let known = Self.held(select.text(0)) {
      held = known
      flaw = held.account.add(account.scram)
      if let password = account.password {
        if held.account.password ?? password != password { flaw = "it has two passwords, of which the first is taken" }
        held.account.password = held.account.password ?? password
      }
      if account.isDisabled { held.account.isDisabled = true }
    }
    select.reset()
    guard let text = try? JSONValue(encoding: held).text else { throw SourceFailure(place, "it cannot be held") }
    put.bind(1, account.jid)
    put.bind(2, text)
    try put.run()
    return flaw
  }

  func ban(_ jid: String) throws(SourceFailure) {
    insertBan.bind(1, jid)
    try insertBan.run()
  }

  /// Returns the accounts in the order in which they were added; `nil` behind the last one.
  func next() throws(SourceFailure) -> Reading? {
    if all == nil {
      all = try database.prepare(
        "SELECT held, EXISTS (SELECT 1 FROM bans WHERE bans.jid = accounts.jid) FROM accounts ORDER BY number")
    }
    guard let rows = all, try rows.step(), var held = Self.held(rows.text(0)) else { return nil }
    if rows.int(1) == 1 { held.account.isDisabled = true }
    return .record(.account(held.account), held.place)
  }

  private static func held(_ text: String) -> Held? {
    guard let value = try? JSONValue(parsing: text) else { return nil }
    return try? InputDecoder.decode(Held.self, from: value)
  }
}
