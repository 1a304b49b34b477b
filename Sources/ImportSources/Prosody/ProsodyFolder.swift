import Basics

/// The data folder of a Prosody that keeps its data in files (`storage = "internal"`): `HOST/STORE/USER.dat` and `.list`,
/// all names with their special characters as `%xx`.
public struct ProsodyFolder: ImportSource {
  private let folder: String
  public let hasFiles = true

  public init(_ folder: String) { self.folder = folder }

  public func check() throws(SourceFailure) {
    try SourcePath.check(folder, isFolder: true, ProsodySource.expected)
    _ = try hosts(among: SourceFolder.names(in: folder))
  }

  public var places: String { "accounts, config and uploads.list of the hosts in \(folder)" }

  private func hosts(among names: [String]) throws(SourceFailure) -> [String] {
    let hosts = names.filter { Files.exists("\(folder)/\($0)/accounts") }
    if !hosts.isEmpty { return hosts }
    // The folder of a host has the stores themselves: "config" is that of rooms.
    let isHost = names.contains("accounts") || names.contains("config")
    throw SourceFailure(
      Place(file: folder),
      "it has no folder of a host with accounts; "
        + (isHost ? "it is a folder of a host: name the one above it" : "is it Prosody's data folder?"))
  }

  public func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    let names = try SourceFolder.names(in: folder)
    let hosts = try hosts(among: names)
    let services = names.filter { Files.exists("\(folder)/\($0)/config") }
    let uploads = names.filter { Files.exists("\(folder)/\($0)/uploads.list") }
    return ProsodyReader(
      ProsodyFiles(
        folder,
        stores: kinds == .files
          ? uploads.map { ($0, .uploads) } : hosts.map { ($0, .account) } + services.map { ($0, .room) }), kinds)
  }

  /// Returns the name of a file or folder (`util.datamanager`).
  static func encoded(_ name: String, keepsUnderscore: Bool = false) -> String {
    name.utf8.reduce(into: "") { text, byte in
      let isPlain =
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || keepsUnderscore && byte == 0x5F
      text += isPlain ? String(UnicodeScalar(byte)) : "%" + Hex.string([byte])
    }
  }
}

/// The files of one pass, a file at a time.
final class ProsodyFiles: ProsodyStorage {
  private let folder: String
  private var stores: [(host: String, kind: ProsodyUser.Kind)]
  private let storeCount: Int
  private var host = ""
  private var kind = ProsodyUser.Kind.account
  private var users: [String] = []
  private var userCount = 1

  init(_ folder: String, stores: [(host: String, kind: ProsodyUser.Kind)]) {
    self.folder = folder
    self.stores = stores.reversed()
    storeCount = stores.count
  }

  var fraction: Double {
    max(0, (Double(storeCount - stores.count) - Double(users.count) / Double(userCount)) / Double(storeCount))
  }

  func nextUser() throws(SourceFailure) -> ProsodyUser? {
    while true {
      if let file = users.popLast() {
        let name = String(file.dropLast(4))
        let place = path(kind.rawValue, name, "dat")
        guard let local = PercentEncoding.decode(name), let domain = PercentEncoding.decode(host) else {
          return ProsodyUser(kind: kind, jid: nil, host: host, name: name, place: place)
        }
        return ProsodyUser(kind: kind, jid: "\(local)@\(domain)", host: host, name: name, place: place)
      }
      guard let next = stores.popLast() else { return nil }
      (host, kind) = next
      if kind == .uploads {
        return ProsodyUser(
          kind: kind, jid: PercentEncoding.decode(host), host: host, name: "", place: path(kind.rawValue, "", "list"))
      }
      users = try SourceFolder.names(in: "\(folder)/\(host)/\(kind.rawValue)").filter { $0.hasSuffix(".dat") }
        .reversed()
      userCount = max(1, users.count)
    }
  }

  private func path(_ store: String, _ name: String, _ suffix: String) -> String {
    // What belongs to a host as a whole has no user.
    let user = name.isEmpty ? "" : "/\(name)"
    return "\(folder)/\(host)/\(ProsodyFolder.encoded(store, keepsUnderscore: true))\(user).\(suffix)"
  }

  func file(_ slot: String, of service: ProsodyUser) -> String {
    path("http_file_share", ProsodyFolder.encoded(slot), "bin")
  }

  func load(_ store: String, of user: ProsodyUser) throws(ProsodyFlaw) -> (LuaTable, Place)? {
    let path = path(store, user.name, "dat")
    guard Files.exists(path) else { return nil }
    let bytes: [UInt8]
    do throws(Files.Failure) { bytes = try Files.read(path, bytesMax: ImportLimits.luaFileBytesMax) } catch {
      throw ProsodyFlaw(place: Place(file: path), text: "it cannot be read: \(error.reason)")
    }
    do throws(LuaFlaw) {
      var parser = LuaParser(bytes)
      guard case .table(let table) = try parser.whole() else { throw LuaFlaw(line: 1, text: "it is no table") }
      return (table, Place(file: path, key: "\(user.jid ?? user.name), \(store)"))
    } catch {
      throw ProsodyFlaw(place: Place(file: path, line: error.line), text: error.text)
    }
  }

  func entries(_ store: String, of user: ProsodyUser) throws(ProsodyFlaw) -> (any ProsodyEntries)? {
    let path = path(store, user.name, "list")
    guard Files.exists(path) else { return nil }
    do throws(Files.Failure) {
      return ProsodyList(path, try Files.read(path, bytesMax: ImportLimits.luaFileBytesMax))
    } catch {
      throw ProsodyFlaw(place: Place(file: path), text: "it cannot be read: \(error.reason)")
    }
  }
}

/// The entries of a `.list` file.
private final class ProsodyList: ProsodyEntries {
  private let path: String
  private var parser: LuaParser

  init(_ path: String, _ bytes: [UInt8]) {
    self.path = path
    parser = LuaParser(bytes)
  }

  func next() throws(ProsodyFlaw) -> ProsodyEntry? {
    let item: (line: Int, value: LuaValue)?
    do throws(LuaFlaw) { item = try parser.item() } catch {
      throw ProsodyFlaw(place: Place(file: path, line: error.line), text: error.text)
    }
    guard let (line, value) = item else { return nil }
    let place = Place(file: path, line: line)
    guard let table = value.table, var stanza = ProsodyRecords.element(table) else {
      throw ProsodyFlaw(place: place, text: "it is no element")
    }
    let stamp = stanza["stamp"]
    stanza.attributes.removeAll { $0.name.hasPrefix("stamp") && $0.namespace.isEmpty }
    return ProsodyEntry(
      key: table["key"]?.text, with: table["with"]?.text,
      time: table["when"]?.number.flatMap(ProsodyRecords.time) ?? stamp.flatMap { Timestamp($0) },
      stanza: stanza, place: place)
  }
}
