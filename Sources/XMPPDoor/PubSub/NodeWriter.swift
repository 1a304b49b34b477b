import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Items and events of nodes as XML (XEP-0060 6.5.2, 7.1.2).
enum NodeWriter {
  private static let event = Name("event", NS.pubsubEvent)
  private static let start: StaticString = "<message"

  /// Writes `<item/>` in the namespace of the open element. It names its publisher where the node asks for it (12.19),
  /// and always if that is not the owner, from whose address everything here comes.
  static func write(
    _ item: NodeItem, of owner: String, _ configuration: NodeConfiguration, withPayload: Bool = true,
    into writer: inout ElementWriter
  ) {
    writer.element("item") { writer in
      writer.attribute("id", item.id)
      writer.attribute("publisher", item.publisher?.description ?? (configuration.namesPublisher ? owner : nil))
      if withPayload { write(item.content, into: &writer) }
    }
  }

  static func write(_ content: NodeContent, into writer: inout ElementWriter) {
    switch content {
    case .opaque(let bytes): if !bytes.isEmpty { writer.raw(bytes) }
    case .bookmark(let bookmark): BookmarkElement.write(bookmark, into: &writer)
    case .displayed(let displayed): DisplayedElement.write(displayed, into: &writer)
    case .bookmarks(let bookmarks, let others): BookmarkElement.write(bookmarks, others: others, into: &writer)
    case .nickname(let name): UserNickname.write(name, into: &writer)
    case .avatar(let avatar): UserAvatar.write(avatar, into: &writer)
    case .avatarMetadata(let metadata): UserAvatar.write(metadata, into: &writer)
    case .card(let card): VCard4.write(card, into: &writer)
    }
  }

  // MARK: Events

  /// An event behind `<message to='…'`, with the end tag: the same for all recipients.
  private final class Tail: Sendable {
    let bytes: ByteBuffer
    init(_ bytes: ByteBuffer) { self.bytes = bytes }
  }

  /// Sends an event.
  ///
  /// - Parameter form: whether it is addressed to the session or to the account.
  static func send(_ event: NodeEvent, _ form: Form, to session: XMPPSession) {
    let tail = tail(of: event)
    session.send { writer in
      if form == .account {
        writer.raw(session.accountMessageStart)
      } else {
        writer.raw(session.messageStart)
      }
      writer.raw(tail)
    }
  }

  /// Writes an event for a client elsewhere.
  static func write(_ event: NodeEvent, to recipient: JID, into writer: inout ElementWriter) {
    writer.raw(XMPPSession.messageStart(recipient.description))
    writer.raw(tail(of: event))
  }

  /// Returns the event, encoded once for all recipients.
  static func tail(of event: NodeEvent) -> ByteBuffer { event.forms.form(for: .xmpp) { encode(event) }.bytes }

  private static func encode(_ event: NodeEvent) -> Tail {
    var writer = ElementWriter()
    write(event, id: DoorContext.randomID(), into: &writer)
    var bytes = writer.buffer
    bytes.moveReaderIndex(forwardBy: start.utf8CodeUnitCount)
    return Tail(bytes)
  }

  /// Writes the message without `to`. It comes from the account (XEP-0163 4.3.1), as a headline, which is not stored
  /// (XEP-0060 12.6).
  static func write(_ event: NodeEvent, id: String, into writer: inout ElementWriter) {
    writer.open(.message)
    writer.attribute("from", event.owner.address.description)
    if case .requested(let address) = event.kind {
      writer.attribute("id", id)
      AuthorizationForm.form(node: event.node, address).write(into: &writer)
      return writer.close()
    }
    writer.attribute("type", "headline" as StaticString)
    writer.attribute("id", id)
    writer.open(self.event)
    switch event.kind {
    case .requested: break
    case .published(let item):
      writer.element("items") { writer in
        writer.attribute("node", event.node)
        if let item {
          write(
            item, of: event.owner.address.description, event.configuration,
            withPayload: event.configuration.deliversPayloads, into: &writer)
        }
      }
    case .subscription(let state):
      if let address = event.recipient { PEP.write(address, state, to: event.node, into: &writer) }
    case .retracted(let id):
      writer.element("items") { writer in
        writer.attribute("node", event.node)
        writer.element("retract") { $0.attribute("id", id) }
      }
    case .purged: writeEmpty("purge", event.node, into: &writer)
    case .deleted: writeEmpty("delete", event.node, into: &writer)
    case .configured:
      writer.element("configuration") { writer in
        writer.attribute("node", event.node)
        if event.configuration.deliversPayloads {
          NodeForm.form(of: event.configuration, kind: .result, isAtService: event.owner.id.isService)
            .write(into: &writer)
        }
      }
    }
    writer.close()
    // XEP-0163 4.3.4: an item that is not new has a delay.
    if event.isLast, case .published(let item?) = event.kind { Delay.write(item.time, into: &writer) }
    writer.close()
  }

  private static func writeEmpty(_ name: StaticString, _ node: String, into writer: inout ElementWriter) {
    writer.element(name) { $0.attribute("node", node) }
  }
}
