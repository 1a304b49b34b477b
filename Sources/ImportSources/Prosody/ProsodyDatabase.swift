import Basics
import JSON

/// The SQLite database of a Prosody that keeps its data in one (`storage = "sql"`, mod_storage_sql of 0.10 to 0.12): the
/// tables `prosody` and `prosodyarchive`.
public struct ProsodyDatabase: ImportSource {
  private let path: String
  public let hasFiles = true

  public init(_ path: String) { self.path = path }

  public func check() throws(SourceFailure) {
    try SourcePath.check(path, ProsodySource.expected)
    guard SourcePath.isDatabase(path) else {
      throw SourceFailure(Place(file: path), "it is no SQLite database; \(ProsodySource.expected) is expected")
    }
  }

  public var places: String { "the tables prosody and prosodyarchive of \(path)" }

  public func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    let database = try Database(reading: path)
    guard try database.hasTable("prosody") else {
      throw SourceFailure(Place(file: path), "it has no table prosody; is it Prosody's database?")
    }
    return ProsodyReader(try ProsodyTables(database, path, kinds), kinds)
  }
}

final class ProsodyTables: ProsodyStorage {
  private let database: Database
  private let path: String
  private let users: Database.Statement
  private let values: Database.Statement
  private let hasArchive: Bool
  private let count: Int64
  private var done: Int64 = 0

  init(_ database: Database, _ path: String, _ kinds: RecordKinds) throws(SourceFailure) {
    self.database = database
    self.path = path
    hasArchive = try database.hasTable("prosodyarchive")
    let query =
      if kinds != .files {
        "SELECT DISTINCT host, user, store FROM prosody WHERE store IN ('accounts', 'config') AND user <> ''"
      } else if hasArchive {
        "SELECT DISTINCT host, user, store FROM prosodyarchive WHERE store = 'uploads' AND user = ''"
      } else {
        "SELECT '' host, '' user, '' store WHERE false"
      }
    let counting = try database.prepare("SELECT count(*) FROM (\(query))")
    _ = try counting.step()
    count = max(1, counting.int(0))
    users = try database.prepare("\(query) ORDER BY store, host, user")
    values = try database.prepare("SELECT key, type, value FROM prosody WHERE host = ?1 AND user = ?2 AND store = ?3")
  }

  var fraction: Double { Double(done) / Double(count) }

  func nextUser() throws(SourceFailure) -> ProsodyUser? {
    guard try users.step() else { return nil }
    done += 1
    let (host, name) = (users.text(0), users.text(1))
    guard let kind = ProsodyUser.Kind(rawValue: users.text(2)) else { return nil }
    return ProsodyUser(
      kind: kind, jid: name.isEmpty ? host : "\(name)@\(host)", host: host, name: name, place: path)
  }

  func load(_ store: String, of user: ProsodyUser) throws(ProsodyFlaw) -> (LuaTable, Place)? {
    let place = Place(file: path, key: "\(user.name)@\(user.host), \(store)")
    do throws(SourceFailure) {
      values.reset()
      values.bind(1, user.host)
      values.bind(2, user.name)
      values.bind(3, store)
      var table = LuaTable()
      var isFound = false
      while try values.step() {
        isFound = true
        let key = values.text(0)
        guard let value = Self.value(values.text(1), values.text(2)) else {
          values.reset()
          throw SourceFailure(place, "the value of \(key) is no \(values.text(1))")
        }
        // An older database has no index that keeps a key from being there twice. The later one of two contacts is taken,
        // but nobody knows which of two states of an account is meant.
        if store == "accounts", let known = table[key], known != value {
          values.reset()
          throw SourceFailure(place, "the key \(key) is there twice")
        }
        // The fields whose keys are no texts are one value of an empty key.
        if key.isEmpty, let rest = value.table {
          table.whole += rest.whole
          table.list += rest.list
          table.fields += rest.fields
        } else {
          table.fields.append((key, value))
        }
      }
      return isFound ? (table, place) : nil
    } catch {
      throw ProsodyFlaw(place: place, text: error.text)
    }
  }

  func entries(_ store: String, of user: ProsodyUser) throws(ProsodyFlaw) -> (any ProsodyEntries)? {
    guard hasArchive else { return nil }
    do throws(SourceFailure) {
      let rows = try database.prepare(
        """
        SELECT sort_id, key, "when", type, value, "with" FROM prosodyarchive WHERE host = ?1 AND user = ?2 AND store = ?3
        ORDER BY sort_id
        """)
      rows.bind(1, user.host)
      rows.bind(2, user.name)
      rows.bind(3, store)
      return ProsodyRows(rows, path)
    } catch {
      throw ProsodyFlaw(place: Place(file: path), text: error.text)
    }
  }

  /// The files are in the data folder, where the database is by default, too.
  func file(_ slot: String, of service: ProsodyUser) -> String {
    let folder = path.contains("/") ? String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]) : "."
    return "\(folder)/\(ProsodyFolder.encoded(service.host))/http_file_share/\(ProsodyFolder.encoded(slot)).bin"
  }

  // MARK: Values

  private static func value(_ type: String, _ text: String) -> LuaValue? {
    switch type {
    case "string": .text(text)
    case "number": Double(text).map { .number($0) }
    case "boolean": text == "true" ? .boolean(true) : text == "false" ? .boolean(false) : nil
    case "json": (try? JSONValue(parsing: Array(text.utf8))).flatMap { value($0, 0) }
    default: nil
    }
  }

  /// Returns the value that Prosody has written as JSON: a table's list is `__array`, and fields whose keys are no texts
  /// are `__hash`, keys and values in turn.
  private static func value(_ json: JSONValue, _ depth: Int) -> LuaValue? {
    guard depth < ImportLimits.luaDepthMax else { return nil }
    switch json {
    case .null: return LuaValue.none
    case .bool(let flag): return .boolean(flag)
    case .number: return json.number.map { .number($0) }
    case .string(let text): return .text(text)
    case .array(let values): return .table(LuaTable(list: values.compactMap { value($0, depth + 1) }))
    case .object(let members):
      var table = LuaTable()
      for member in members {
        if member.name == "__array", case .array(let values) = member.value {
          table.list += values.compactMap { value($0, depth + 1) }
        } else if member.name == "__hash", case .array(let values) = member.value {
          for index in stride(from: 0, to: values.count - 1, by: 2) {
            guard let found = value(values[index + 1], depth + 1) else { continue }
            if values[index] == .bool(false) { table.whole = [found] }
            if case .number(let number) = values[index] { table.fields.append((number, found)) }
          }
        } else if let found = value(member.value, depth + 1) {
          table.fields.append((member.name, found))
        }
      }
      return .table(table)
    }
  }
}

/// The rows of an archive.
private final class ProsodyRows: ProsodyEntries {
  private let rows: Database.Statement
  private let path: String
  /// Whether the database has failed: nothing more is read then.
  private var isOver = false

  init(_ rows: Database.Statement, _ path: String) {
    self.rows = rows
    self.path = path
  }

  func next() throws(ProsodyFlaw) -> ProsodyEntry? {
    guard !isOver else { return nil }
    do throws(SourceFailure) { guard try rows.step() else { return nil } } catch {
      isOver = true
      throw ProsodyFlaw(place: error.place, text: error.text)
    }
    let place = Place(file: path, key: "prosodyarchive, row \(rows.int(0))")
    guard rows.text(3) == "xml" else { throw ProsodyFlaw(place: place, text: "its type is no xml") }
    guard let stanza = XMLNode(parsing: rows.text(4), within: "jabber:client") else {
      throw ProsodyFlaw(place: place, text: "its value is no element")
    }
    return ProsodyEntry(
      key: rows.text(1), with: rows.text(5), time: ProsodyRecords.time(rows.double(2)), stanza: stanza, place: place)
  }
}
