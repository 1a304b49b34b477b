import Addresses
import Dialogs

/// Nodes' configurations, items and changes, as bytes.
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
    out.write(Int64(configuration.publishers.rawValue))
    out.write(configuration.namesPublisher)
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
    // Older configurations, without other publishers, end here.
    if from.isAtEnd { return configuration }
    guard let publishers = NodeConfiguration.Publishers(rawValue: UInt8(clamping: try from.int())) else {
      throw damaged
    }
    configuration.publishers = publishers
    configuration.namesPublisher = try from.flag()
    return configuration
  }

  // MARK: Items

  /// The version of bookmarks in which extensions have fields.
  private static let bookmarkVersion: Int64 = 2

  /// The values of `items.kind`. They are stored: never renumber.
  private enum ContentKind: Int64 {
    case opaque = 1, bookmark = 2, nickname = 3, avatar = 4, avatarMetadata = 5, card = 6, displayed = 7
  }

  static func encode(content: NodeContent) throws(StoreFailure) -> (kind: Int64, payload: [UInt8]) {
    switch content {
    case .opaque(let bytes): return (ContentKind.opaque.rawValue, bytes)
    case .bookmark(let bookmark):
      var out = ByteWriter()
      out.write(bookmarkVersion)
      out.write(bookmark.address.description)
      out.write(bookmark.name) { $0.write($1) }
      out.write(bookmark.autojoins)
      out.write(bookmark.nick) { $0.write($1) }
      out.write(bookmark.password) { $0.write($1) }
      out.write(bookmark.extensions)
      out.write(bookmark.others)
      out.write(bookmark.isPinned)
      out.write(bookmark.notifications.rules) {
        $0.write(Int64($1.alerts.rawValue))
        $0.write($1.category) { $0.write($1) }
        $0.write($1.type) { $0.write($1) }
        $0.write($1.details)
      }
      out.write(bookmark.notifications.others)
      return (ContentKind.bookmark.rawValue, out.bytes)
    case .displayed(let displayed):
      var out = ByteWriter()
      out.write(version)
      out.write(displayed.by)
      out.write(displayed.id)
      return (ContentKind.displayed.rawValue, out.bytes)
    case .bookmarks: throw damaged
    case .nickname(let name): return (ContentKind.nickname.rawValue, Array(name.utf8))
    case .avatar(let avatar):
      var out = ByteWriter()
      out.write(version)
      out.write(avatar.hash)
      out.write(avatar.mediaType)
      out.write(avatar.bytes)
      return (ContentKind.avatar.rawValue, out.bytes)
    case .avatarMetadata(let metadata):
      var out = ByteWriter()
      out.write(version)
      out.write(metadata.hashes) { $0.write($1) }
      write(metadata.form, &out)
      return (ContentKind.avatarMetadata.rawValue, out.bytes)
    case .card(let card):
      var out = ByteWriter()
      out.write(version)
      out.write(card.fullName) { $0.write($1) }
      out.write(card.displayName) { $0.write($1) }
      out.write(card.bytes)
      return (ContentKind.card.rawValue, out.bytes)
    }
  }

  static func decode(content bytes: [UInt8], kind: Int64) throws(StoreFailure) -> NodeContent {
    switch ContentKind(rawValue: kind) {
    case .opaque: return .opaque(bytes)
    case .bookmark:
      var from = ByteReader(bytes)
      let format = try from.int()
      guard format == version || format == bookmarkVersion, let address = BareJID(stored: try from.text()) else {
        throw damaged
      }
      var bookmark = Bookmark(
        address: address, name: try from.optional(text), autojoins: try from.flag(), nick: try from.optional(text),
        password: try from.optional(text), extensions: try from.array(), others: try from.array())
      if format == version {
        // The element with its children is kept unchanged until a client publishes it again.
        bookmark.others += bookmark.extensions
        bookmark.extensions = []
        return .bookmark(bookmark)
      }
      bookmark.isPinned = try from.flag()
      let rules = try from.list { from throws(StoreFailure) in
        NotificationRules.Rule(
          try alerts(try from.int()), category: try from.optional(text), type: try from.optional(text),
          details: try from.array())
      }
      bookmark.notifications = NotificationRules(rules, others: try from.array())
      return .bookmark(bookmark)
    case .displayed:
      var from = ByteReader(bytes)
      guard try from.int() == version else { throw damaged }
      return .displayed(Displayed(by: try from.text(), id: try from.text()))
    case .nickname: return .nickname(String(decoding: bytes, as: UTF8.self))
    case .avatar:
      var from = ByteReader(bytes)
      guard try from.int() == version else { throw damaged }
      return .avatar(Avatar(hash: try from.text(), mediaType: try from.text(), bytes: try from.array()))
    case .avatarMetadata:
      var from = ByteReader(bytes)
      guard try from.int() == version else { throw damaged }
      return .avatarMetadata(AvatarMetadata(hashes: try from.list(text), form: try metadataForm(&from)))
    case .card:
      var from = ByteReader(bytes)
      guard try from.int() == version else { throw damaged }
      return .card(
        Card4(fullName: try from.optional(text), displayName: try from.optional(text), bytes: try from.array()))
    case nil: throw damaged
    }
  }

  private static func write(_ form: AvatarMetadata.Form, _ out: inout ByteWriter) {
    switch form {
    case .none: out.write(Int64(0))
    case .info(let info):
      out.write(Int64(1))
      out.write(info.hash)
      out.write(info.mediaType)
      out.write(Int64(info.byteCount))
      out.write(info.size) {
        $0.write(Int64($1.width))
        $0.write(Int64($1.height))
      }
    case .said(let bytes):
      out.write(Int64(2))
      out.write(bytes)
    }
  }

  private static func metadataForm(_ from: inout ByteReader) throws(StoreFailure) -> AvatarMetadata.Form {
    switch try from.int() {
    case 0: return .none
    case 1:
      let (hash, mediaType, byteCount) = (try from.text(), try from.text(), Int(try from.int()))
      let size = try from.optional { from throws(StoreFailure) in
        guard let size = ImageSize(width: Int(try from.int()), height: Int(try from.int())) else { throw damaged }
        return size
      }
      return .info(AvatarMetadata.Info(hash: hash, mediaType: mediaType, byteCount: byteCount, size: size))
    case 2: return .said(try from.array())
    default: throw damaged
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
