import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0292: the vCard of RFC 6351, as a node. It shares names and picture with vcard-temp; other fields of either stay
/// where the client wrote them.
struct VCard4: Feature {
  static let xep = XEP(
    292, "0.12.0", "vCard4 Over XMPP",
    note: """
      `fn`, `nickname` and `photo` are those of the user's profile. All other fields are stored as they are and not \
      copied to a vcard-temp.
      """)

  private static let vCard = Name("vcard", NS.vCard4)
  private static let photo = Name("photo", NS.vCard4)
  private static let address = Name("uri", NS.vCard4)
  private static let names = CardNames(
    fullName: Name("fn", NS.vCard4), nickname: Name("nickname", NS.vCard4), text: Name("text", NS.vCard4))

  func register(in table: inout FeatureTable) { table.advertise("\(NS.vCard4)") }

  // MARK: Read

  /// Reads a vCard (3.2). Without a picture the profile's stays, since clients have another way to set it; a URL is
  /// stored as it came.
  static func read(_ payload: Element) throws(StanzaError) -> Card4 {
    guard payload.is(vCard) else { throw StanzaError(.badRequest, pubsub: "invalid-payload", "this is no <vcard/>") }
    var avatar: Avatar?
    var writer = ElementWriter()
    try writer.element(vCard) { (writer) throws(StanzaError) in
      for child in payload.children {
        if child.is(photo), let base64 = child.first(address).flatMap({ $0.withText { picture($0) } }) {
          let bytes = try Picture.published(base64)
          if avatar == nil, !bytes.isEmpty { avatar = Avatar(bytes) }
        } else {
          writer.element(child)
        }
      }
    }
    return Card4(
      fullName: names.fullName(payload), displayName: names.displayName(payload),
      bytes: Array(writer.buffer.readableBytesView), photo: avatar)
  }

  /// Returns the Base64 text of a `data:` URL (RFC 2397) behind `;base64,`; `nil` if it is none.
  private static func picture(_ address: UnsafeRawBufferPointer) -> [UInt8]? {
    let text = address.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
    guard text.starts(with: "data:".utf8), let comma = text.firstIndex(of: UInt8(ascii: ",")),
      text[..<comma].reversed().starts(with: ";base64".utf8.reversed())
    else { return nil }
    return Array(text[text.index(after: comma)...])
  }

  // MARK: Written

  static func write(_ card: Card4, into writer: inout ElementWriter) {
    let kept = card.bytes.isEmpty ? nil : try? Element(parsing: card.bytes)
    writer.element(vCard) { writer in
      let isStale = names.write(card.displayName, fullName: card.fullName, kept: kept, into: &writer)
      if let kept { writer.children(of: kept, except: isStale) }
      if let avatar = card.photo {
        writer.element(photo) { writer in
          writer.element(address) { writer in
            writer.text("data:\(avatar.mediaType);base64,")
            writer.text(Base64.encode(avatar.bytes))
          }
        }
      }
    }
  }

  /// Returns items with the picture added to the vCards among them, if the viewer may see it.
  static func completed(
    _ items: [NodeItem], of owner: UserID, for viewer: Party, _ reader: any StoreReader
  ) throws -> [NodeItem] {
    guard items.contains(where: { if case .card = $0.content { true } else { false } }),
      let avatar = try reader.user(owner).flatMap({ try reader.avatar(of: $0, for: viewer) })
    else { return items }
    return items.map { item in
      guard case .card(var card) = item.content else { return item }
      card.photo = avatar
      return NodeItem(id: item.id, content: .card(card), position: item.position, time: item.time)
    }
  }
}
