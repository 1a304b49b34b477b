import Addresses
import Dialogs

/// How a node is configured, what its items say, and that they changed, as bytes.
extension FactCoding {
  // MARK: Configuration

  static func encode(configuration: NodeConfiguration) -> [UInt8] {
    var out = ByteWriter()
    out.write(version)
    out.write(Int64(configuration.access.rawValue))
    out.write(configuration.groups) { $0.write($1) }
    out.write(configuration.persistsItems)
    out.write(configuration.itemsMax) { $0.write(Int64($1)) }
    out.write(Int64(configuration.whenFull.rawValue))
    out.write(Int64(configuration.sendLast.rawValue))
    out.write(configuration.notifies)
    out.write(configuration.deliversPayloads)
    out.write(configuration.notifiesRetract)
    out.write(configuration.notifiesDelete)
    out.write(configuration.notifiesConfiguration)
    out.write(configuration.title) { $0.write($1) }
    out.write(configuration.about) { $0.write($1) }
    out.write(configuration.type) { $0.write($1) }
    return out.bytes
  }

  static func decode(configuration bytes: [UInt8]) throws(StoreFailure) -> NodeConfiguration {
    var from = ByteReader(bytes)
    guard try from.int() == version,
      let access = NodeConfiguration.Access(rawValue: UInt8(clamping: try from.int()))
    else { throw damaged }
    var configuration = NodeConfiguration()
    configuration.access = access
    configuration.groups = try from.list(text)
    configuration.persistsItems = try from.flag()
    configuration.itemsMax = try from.optional { from throws(StoreFailure) in Int(clamping: try from.int()) }
    guard let whenFull = NodeConfiguration.WhenFull(rawValue: UInt8(clamping: try from.int())),
      let sendLast = NodeConfiguration.SendLast(rawValue: UInt8(clamping: try from.int()))
    else { throw damaged }
    configuration.whenFull = whenFull
    configuration.sendLast = sendLast
    configuration.notifies = try from.flag()
    configuration.deliversPayloads = try from.flag()
    configuration.notifiesRetract = try from.flag()
    configuration.notifiesDelete = try from.flag()
    configuration.notifiesConfiguration = try from.flag()
    configuration.title = try from.optional(text)
    configuration.about = try from.optional(text)
    configuration.type = try from.optional(text)
    return configuration
  }

  // MARK: Items

  /// `items.kind`. Stored: never renumber.
  private enum ContentKind: Int64 { case opaque = 1, bookmark = 2 }

  static func encode(content: NodeContent) throws(StoreFailure) -> (kind: Int64, payload: [UInt8]) {
    switch content {
    case .opaque(let bytes): return (ContentKind.opaque.rawValue, bytes)
    case .bookmark(let bookmark):
      var out = ByteWriter()
      out.write(version)
      out.write(bookmark.address.description)
      out.write(bookmark.name) { $0.write($1) }
      out.write(bookmark.autojoins)
      out.write(bookmark.nick) { $0.write($1) }
      out.write(bookmark.password) { $0.write($1) }
      out.write(bookmark.extensions)
      out.write(bookmark.others)
      return (ContentKind.bookmark.rawValue, out.bytes)
    case .bookmarks: throw damaged
    }
  }

  static func decode(content bytes: [UInt8], kind: Int64) throws(StoreFailure) -> NodeContent {
    switch ContentKind(rawValue: kind) {
    case .opaque: return .opaque(bytes)
    case .bookmark:
      var from = ByteReader(bytes)
      guard try from.int() == version, let address = BareJID(parsing: try from.text()) else { throw damaged }
      return .bookmark(
        Bookmark(
          address: address, name: try from.optional(text), autojoins: try from.flag(), nick: try from.optional(text),
          password: try from.optional(text), extensions: try from.array(), others: try from.array()))
    case nil: throw damaged
    }
  }

  // MARK: Changes

  static func write(_ change: NodeChange, _ out: inout ByteWriter) {
    out.write(change.node)
    out.write(change.item) { $0.write($1) }
    out.write(Int64(change.act.rawValue))
  }

  static func nodeChange(_ from: inout ByteReader) throws(StoreFailure) -> NodeChange {
    let node = try from.text()
    let item = try from.optional(text)
    guard let act = NodeChange.Act(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
    return NodeChange(node: node, item: item, act: act)
  }
}
