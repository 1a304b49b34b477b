import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0084: a user's picture in two nodes, one of which holds the metadata of the other.
struct UserAvatar: Feature {
  static let xep = XEP(
    84, "1.1.4", "User Avatar",
    note: """
      The item id of an avatar's data must be its SHA-1 hash; data without bytes removes those before it. Metadata is \
      refused before its data is published. Pictures at a URL are only stored. Apps show the picture of a contact elsewhere.
      """)

  private static let data = Name("data", NS.avatarData)
  private static let metadata = Name("metadata", NS.avatarMetadata)
  private static let info = Name("info", NS.avatarMetadata)

  func register(in table: inout FeatureTable) {
    // XEP-0163 4.2: of contacts elsewhere (`RemoteProfiles`).
    table.advertise("\(NS.avatarMetadata)+notify", on: [.session])
  }

  // MARK: Data

  /// Reads a picture (4.1). One without bytes is none: some libraries remove a picture so.
  static func read(data payload: Element) throws(StanzaError) -> Avatar {
    guard payload.is(data) else { throw StanzaError(.badRequest, pubsub: "invalid-payload", "this is no <data/>") }
    return Avatar(try Picture.published(payload.withText { Array($0) }))
  }

  static func write(_ avatar: Avatar, into writer: inout ElementWriter) {
    writer.element(data) { $0.text(Base64.encode(avatar.bytes)) }
  }

  /// Returns a request for a picture's data (4.3).
  static func request(_ hash: String) -> [UInt8] {
    var writer = StreamFraming.writer()
    writer.element(.pubsub) { writer in
      writer.element("items") { writer in
        writer.attribute("node", NS.avatarData)
        writer.element("item") { $0.attribute("id", hash) }
      }
    }
    return Array(writer.buffer.readableBytesView)
  }

  /// Returns the picture in the answer to such a request; `nil` if there is none that can be read.
  static func avatar(in answer: Element) -> Avatar? {
    let item = answer.first(.pubsub)?.first(Name("items", NS.pubsub))?.first(.pubsubItem)
    return item?.first(data).flatMap { try? read(data: $0) }
  }

  // MARK: Metadata

  /// Reads metadata (4.2). All of it is stored as it came: other forms of the picture on the web, pointers. Without an
  /// `<info/>` there is no picture.
  static func read(metadata payload: Element) throws(StanzaError) -> AvatarMetadata {
    guard payload.is(metadata) else {
      throw StanzaError(.badRequest, pubsub: "invalid-payload", "this is no <metadata/>")
    }
    var hashes: [String] = []
    var isThere = false
    for child in payload.children where child.is(info) {
      guard let id = child["id"], !id.isEmpty, id.utf8.count <= Limits.itemIDBytesMax else {
        throw StanzaError(.badRequest, pubsub: "invalid-payload", "an <info/> has the picture's id")
      }
      isThere = true
      if child["url"] == nil, !hashes.contains(id) { hashes.append(id) }
      if hashes.count > DoorLimits.avatarFormsMax {
        throw StanzaError(.notAcceptable, pubsub: "payload-too-big", "at most \(DoorLimits.avatarFormsMax) forms")
      }
    }
    return AvatarMetadata(hashes: hashes, form: isThere ? .said(payload.serialised(defaultNamespace: "")) : .none)
  }

  static func write(_ metadata: AvatarMetadata, into writer: inout ElementWriter) {
    if case .said(let bytes) = metadata.form { return writer.raw(bytes) }
    writer.element(self.metadata) { writer in
      if case .info(let info) = metadata.form {
        writer.element(self.info) { writer in
          writer.attribute("bytes", info.byteCount)
          writer.attribute("id", info.hash)
          if let size = info.size {
            writer.attribute("height", size.height)
            writer.attribute("width", size.width)
          }
          writer.attribute("type", info.mediaType)
        }
      }
    }
  }
}

/// XEP-0398: both XEPs show the same picture, so nothing needs converting (`Dialogs.ProfileNode`). `AvatarHash` adds
/// its hash to presence.
struct AvatarConversion: Feature {
  static let xep = XEP(
    398, "1.0.0", "User Avatar to vCard-Based Avatars Conversion",
    note: "In both directions. A user who may not read the nodes does not see the picture in the vCard either.")

  func register(in table: inout FeatureTable) { table.advertise("\(NS.avatarConversion)", on: [.account]) }
}
