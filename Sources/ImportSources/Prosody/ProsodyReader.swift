import Basics

/// An account of Prosody, one of its rooms, or a host with uploaded files.
struct ProsodyUser {
  /// The kind of data, by the name of the store that has all of it.
  enum Kind: String {
    case account = "accounts"
    case room = "config"
    /// Those of `mod_http_file_share`, which belong to the host as a whole.
    case uploads = "uploads"
  }
  let kind: Kind
  /// The address; `nil` if the name is damaged.
  let jid: String?
  /// Host and name as they are stored.
  let host: String
  let name: String
  /// The place of the account in the source.
  let place: String
}

/// An entry of an archive, an item of a node, or an uploaded file.
struct ProsodyEntry {
  let key: String?
  /// The address that it is from or to, as the store says.
  let with: String?
  let time: Timestamp?
  let stanza: XMLNode
  let place: Place
}

struct ProsodyFlaw: Error {
  let place: Place
  let text: String
}

/// Prosody's stores by user, whichever way they are kept.
protocol ProsodyStorage: AnyObject {
  var fraction: Double { get }
  func nextUser() throws(SourceFailure) -> ProsodyUser?
  /// Returns a store of keys and values; `nil` if the user has none.
  func load(_ store: String, of user: ProsodyUser) throws(ProsodyFlaw) -> (LuaTable, Place)?
  /// Returns a store of entries; `nil` if the user has none.
  func entries(_ store: String, of user: ProsodyUser) throws(ProsodyFlaw) -> (any ProsodyEntries)?
  /// Returns the path of an uploaded file.
  func file(_ slot: String, of service: ProsodyUser) -> String
}

protocol ProsodyEntries: AnyObject {
  /// Returns the next entry; `nil` at the end. After a flaw it goes on.
  func next() throws(ProsodyFlaw) -> ProsodyEntry?
}

/// One pass over Prosody's data, user by user.
final class ProsodyReader: RecordReader {
  private let storage: any ProsodyStorage
  private let kinds: RecordKinds
  private var waiting: [Reading] = []
  private var user: ProsodyUser?
  /// Entries of the user that are still to be read, the next ones last.
  private var lists: [List] = []
  private var list: (kind: List, entries: any ProsodyEntries)?

  /// The accounts of this pass, among whom the authors of rooms are.
  private var accounts: [String] = []

  private enum List {
    case archive(owner: String, isOffline: Bool)
    case items(NodeRecord)
    case room(ProsodyOccupants)
    case files(of: ProsodyUser)

    var store: String {
      switch self {
      case .room: "muc_log"
      case .files: "uploads"
      case .archive(_, let isOffline): isOffline ? "offline" : "archive"
      case .items(let node): "pep_\(node.name)"
      }
    }
  }

  init(_ storage: any ProsodyStorage, _ kinds: RecordKinds) {
    self.storage = storage
    self.kinds = kinds
  }

  var fraction: Double { storage.fraction }

  func next() throws(SourceFailure) -> Reading? {
    while true {
      if let reading = waiting.popLast() { return reading }
      do throws(ProsodyFlaw) {
        if let (kind, entries) = list {
          if let entry = try entries.next() {
            if let reading = read(entry, kind) { return reading }
          } else {
            list = nil
          }
          continue
        }
        if let next = lists.popLast(), let user {
          list = try storage.entries(next.store, of: user).map { (next, $0) }
          continue
        }
      } catch {
        return .flaw(error.place, error.text)
      }
      guard let next = try storage.nextUser() else { return nil }
      user = next
      switch next.kind {
      case .uploads: lists = [.files(of: next)]
      case .account: waiting = read(next).reversed()
      case .room: waiting = room(next).reversed()
      }
    }
  }

  private func read(_ user: ProsodyUser) -> [Reading] {
    guard let jid = user.jid else {
      return kinds.contains(.accounts) ? [.flaw(Place(file: user.place), "its name is damaged")] : []
    }
    var found: [Reading] = []
    func load(_ store: String) -> (LuaTable, Place)? {
      do throws(ProsodyFlaw) { return try storage.load(store, of: user) } catch {
        found.append(.flaw(error.place, error.text))
        return nil
      }
    }
    if kinds.contains(.accounts), let (data, place) = load("accounts") {
      found += ProsodyRecords.account(jid, data, place)
      for store in ["account_roles", "roles"] {
        if let (data, place) = load(store) { found += ProsodyRecords.roles(data, place) }
      }
    }
    if kinds.contains(.copies) {
      accounts.append(jid)
      lists = [.archive(owner: jid, isOffline: true), .archive(owner: jid, isOffline: false)]
    }
    guard kinds.contains(.settings) else { return found }
    for (store, read) in [
      ("roster", ProsodyRecords.roster), ("vcard", ProsodyRecords.vCard), ("private", ProsodyRecords.privateXML),
    ] {
      if let (data, place) = load(store) { found += read(jid, data, place) }
    }
    if let (data, place) = load("blocklist") {
      found += ProsodyRecords.blocks(jid, data, place)
    } else if let (data, place) = load("privacy") {
      found += ProsodyRecords.privacy(jid, data, place)
    }
    if let (data, place) = load("pep") {
      let nodes = ProsodyRecords.nodes(jid, data, place)
      found += nodes.filter { $0.record.name != BookmarkList.node }.map { .record(.node($0.record), $0.place) }
      lists = nodes.reversed().map { .items($0.record) }
    }
    return found
  }

  private func room(_ room: ProsodyUser) -> [Reading] {
    guard let jid = room.jid else {
      return kinds.contains(.rooms) ? [.flaw(Place(file: room.place), "its name is damaged")] : []
    }
    let loaded: (LuaTable, Place)?
    do throws(ProsodyFlaw) { loaded = try storage.load("config", of: room) } catch {
      return kinds.contains(.rooms) ? [.flaw(error.place, error.text)] : []
    }
    guard let (data, place) = loaded else { return [] }
    if kinds.contains(.copies) { lists = [.room(ProsodyOccupants(of: jid, data, accounts))] }
    return (kinds.contains(.rooms) ? [ProsodyRooms.room(jid, data, place)] : [])
      + (kinds.contains(.settings) ? ProsodyRooms.people(jid, data, place) : [])
  }

  /// Returns `nil` for what is nothing: a slot for a file that has not come.
  private func read(_ entry: ProsodyEntry, _ kind: List) -> Reading? {
    var place = entry.place
    switch kind {
    case .files(let service):
      place.key = "\(service.jid ?? service.host), upload \(entry.key ?? "")"
      guard let slot = entry.key, let owner = entry.with, let name = entry.stanza["filename"], let time = entry.time
      else { return .flaw(place, "its key, owner, file name or time is damaged") }
      let path = storage.file(slot, of: service)
      guard let found = SourceFolder.file(path) else { return nil }
      return .record(
        .file(
          FileRecord(
            owner: MessageCopies.bare(owner), secret: slot, name: name, mediaType: entry.stanza["content-type"],
            size: found.size, time: time.milliseconds)), Place(file: path))
    case .room(let occupants):
      place.key = "\(occupants.room), archive \(entry.key ?? "")"
      guard let time = entry.time else { return .flaw(place, "it has no time") }
      switch MessageCopies.ofRoom(entry.stanza, occupants.room, at: time) {
      case .success(var message):
        if message.author == nil { message.author = occupants.author(of: entry.stanza) }
        return .record(.roomMessage(message), place)
      case .failure(let flaw): return .flaw(place, flaw.text)
      }
    case .items(let node):
      guard let id = entry.key else { return .flaw(place, "an item without a key") }
      place.key = "\(node.owner), node \(node.name), item \(id)"
      if node.name == BookmarkList.node {
        return .record(.privateXML(ElementRecord(owner: node.owner, xml: entry.stanza.xml)), place)
      }
      return .record(
        .item(ItemRecord(owner: node.owner, node: node.name, form: node.form, id: id, payload: entry.stanza.xml)), place
      )
    case .archive(let owner, let isOffline):
      place.key = "\(owner), \(isOffline ? "offline message" : "archive") \(entry.key ?? "")"
      guard let time = entry.time else { return .flaw(place, "it has no time") }
      switch MessageCopies.make(entry.stanza, of: owner, at: time, isOffline: isOffline) {
      case .success(let copy): return .record(.copy(copy), place)
      case .failure(let flaw): return .flaw(place, flaw.text)
      }
    }
  }
}
