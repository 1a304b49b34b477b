import Accounts
import Addresses
import Basics
public import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Users in the portable format of XEP-0227 (1.1), in pieces, as an operator takes them to another server: with the keys
/// of passwords, nodes, messages that were not received yet, and archives.
///
/// A user's archive has no private messages of rooms here, which name a room and no user, and no messages that were retracted. Rooms are out of the format's
/// scope (2). Marks of what was displayed (XEP-0490) name ids of this server's archive and are left out.
public enum PortableExport {
  /// The part of a user that comes next.
  public enum Part: Hashable, Sendable {
    case settings
    /// The messages that were not received, behind a position.
    case offline(Position)
    case archive(Position)
  }

  public struct Piece: Sendable {
    public let bytes: [UInt8]
    /// `nil` if this is the end of the user.
    public let next: Part?
  }

  static let server = Name("server-data", "urn:xmpp:pie:0")
  static let host = Name("host", "urn:xmpp:pie:0")
  static let user = Name("user", "urn:xmpp:pie:0")
  private static let offline = Name("offline-messages", "urn:xmpp:pie:0")
  private static let archive = Name("archive", "urn:xmpp:pie:0#mam")
  private static let scram = Name("scram-credentials", "urn:xmpp:pie:0#scram")
  /// A disabled account, which the format does not know. Its keys stand within this element, where no other server looks for
  /// them: a server that ignores the element (3) has an account that nobody can log in to, and not one that is enabled again.
  private static let disabled = Name("disabled", "urn:parley:pie:0")

  /// Returns the beginning of the document, and its end.
  public static func frame(of domain: String) -> (start: [UInt8], end: [UInt8]) {
    var writer = ElementWriter(defaultNamespace: "")
    writer.raw("<?xml version='1.0' encoding='UTF-8'?>\n")
    writer.open(server)
    writer.open(host)
    writer.attribute("jid", domain)
    writer.raw("\n")
    let start = writer.buffer.readableBytes
    writer.close()
    writer.raw("\n")
    writer.close()
    writer.raw("\n")
    let bytes = Array(writer.buffer.readableBytesView)
    return (Array(bytes[..<start]), Array(bytes[start...]))
  }

  /// Returns a piece of a user, to be written behind the one before it.
  public static func piece(_ part: Part, of user: User, _ reader: any StoreReader) throws -> Piece {
    switch part {
    case .settings:
      return Piece(
        bytes: try written(within: []) { writer in
          writer.open(Self.user)
          writer.attribute("name", user.localpart)
          let keys = try reader.credentials(of: user.id).filter { !$0.isLocked }
          if user.state == .active {
            for keys in keys { write(keys, into: &writer) }
          } else {
            writer.element(disabled) { writer in for keys in keys { write(keys, into: &writer) } }
          }
          try write(SettingsOf(user, reader), into: &writer)
          try writeNodes(of: user, reader, into: &writer)
          writer.open(offline)
        }, next: .offline(user.delivered))
    case .offline(let after):
      var query = ArchiveQuery(limit: DoorLimits.exportedMessagesAtOnce)
      query.after = after
      query.bytesMax = Limits.pageBytesMax
      let page = try reader.replay(of: .server(user.id, .administration), query)
      return Piece(
        bytes: written(within: [Self.user, offline]) { writer in
          for entry in page.entries {
            guard let message = exported(entry) else { continue }
            Outbound.writeStanza(
              of: entry, message, to: Outbound.address(entry.addressee, message.envelope.toResource),
              withStanzaID: false, isDelayed: true, viewer: user.party, into: &writer)
          }
          guard page.complete else { return }
          writer.close()
          writer.open(archive)
        }, next: page.complete ? .archive(.zero) : .offline(page.next ?? page.entries.last?.position ?? after))
    case .archive(let after):
      var query = ArchiveQuery(limit: DoorLimits.exportedMessagesAtOnce)
      query.after = after
      query.bytesMax = Limits.pageBytesMax
      let page = try reader.archive(of: .server(user.id, .administration), query)
      return Piece(
        bytes: written(within: [Self.user, archive]) { writer in
          for entry in page.entries {
            guard let message = exported(entry) else { continue }
            writer.raw("\n")
            Archive.writeResult(entry, message, queryID: nil, for: user.party, { _, _ in "" }, into: &writer)
          }
          guard page.complete else { return }
          writer.close()
          writer.close()
          writer.raw("\n")
        }, next: page.complete ? nil : .archive(page.next ?? page.entries.last?.position ?? .end))
    }
  }

  /// Returns the message of an entry; `nil` if it stays here. Of what was retracted nothing is left that another server could show:
  /// without the message, its retraction would be read as a text.
  private static func exported(_ entry: Entry) -> Message? {
    guard entry.whisper == nil, entry.state?.retraction == nil, let message = entry.archived else { return nil }
    switch message.reference?.kind {
    case .retraction, .moderation: return nil
    case .reply, .correction, .reactions, .pin, .part, nil: return message
    }
  }

  /// Returns what `body` writes within these elements of a host.
  private static func written(
    within elements: [Name], _ body: (inout ElementWriter) throws -> Void
  ) rethrows -> [UInt8] {
    var writer = ElementWriter(defaultNamespace: "")
    for name in [server, host] + elements { writer.open(name) }
    writer.raw("")
    let start = writer.buffer.readableBytes
    try body(&writer)
    // A tag that was opened last ends here.
    writer.raw("")
    return Array(writer.buffer.readableBytesView.dropFirst(start))
  }

  // MARK: Elements

  /// The parts that the exports of users and of operators share: roster, private XML, vCard, blocks and requests.
  struct SettingsOf: Sendable {
    let user: User
    let vCard: VCard.Stored
    let contacts: [Contact]
    let blocks: [BlockPattern]
    let privateXML: [[UInt8]]

    init(_ user: User, _ reader: any StoreReader) throws {
      self.user = user
      vCard = try VCard.stored(of: user, reader)
      // What contact groups add is the operators', and stays with their server.
      contacts = try reader.ownContacts(of: user.id).map { $0.exported(by: user.address) }
      blocks = try reader.blocks(of: user.id)
      privateXML = try reader.values(of: user.id, node: ValueKey.privateXML)
    }
  }

  private static let roster = Name("query", NS.roster)
  private static let privateXML = Name("query", NS.privateStorage)
  private static let privacy = Name("query", "jabber:iq:privacy")
  private static let presence = Name("presence", NS.client)

  static func write(_ settings: SettingsOf, into writer: inout ElementWriter) {
    writer.element(roster) { writer in
      for contact in settings.contacts where contact.subscription.isInRoster { Roster.write(contact, into: &writer) }
    }
    if !settings.privateXML.isEmpty {
      writer.element(privateXML) { writer in
        for element in settings.privateXML { writer.raw(element) }
      }
    }
    if settings.vCard.exists { VCard.write(settings.vCard, into: &writer) }
    if !settings.blocks.isEmpty { write(settings.blocks, into: &writer) }
    for contact in settings.contacts where contact.subscription.pendingIn {
      writer.element(presence) { writer in
        writer.attribute("from", contact.address.description)
        writer.attribute("to", settings.user.address.description)
        writer.attribute("type", "subscribe" as StaticString)
        if let request = contact.request { writer.raw(request) }
      }
    }
  }

  /// Writes a block list as the default privacy list that has its effect (4.8; XEP-0191 5).
  private static func write(_ blocks: [BlockPattern], into writer: inout ElementWriter) {
    writer.element(privacy) { writer in
      writer.element("default") { $0.attribute("name", "blocked" as StaticString) }
      writer.element("list") { writer in
        writer.attribute("name", "blocked" as StaticString)
        for (index, pattern) in blocks.enumerated() {
          writer.element("item") { writer in
            writer.attribute("type", "jid" as StaticString)
            writer.attribute("value", pattern.jid.description)
            writer.attribute("action", "deny" as StaticString)
            writer.attribute("order", index + 1)
          }
        }
        writer.element("item") { writer in
          writer.attribute("action", "allow" as StaticString)
          writer.attribute("order", blocks.count + 1)
        }
      }
    }
  }

  private static func write(_ keys: SCRAMKeys, into writer: inout ElementWriter) {
    guard let mechanism = SCRAMMechanism.allCases.first(where: { $0.hash == keys.hash }) else { return }
    writer.element(scram) { writer in
      writer.attribute("mechanism", mechanism.name)
      writer.element("iter-count") { $0.text("\(keys.iterations)") }
      for (name, bytes) in [
        ("salt" as StaticString, keys.salt), ("server-key", keys.serverKey), ("stored-key", keys.storedKey),
      ] {
        writer.element(name) { $0.text(Base64.encode(bytes)) }
      }
    }
  }

  /// Writes the nodes with their configurations (4.10).
  private static func writeNodes(of user: User, _ reader: any StoreReader, into writer: inout ElementWriter) throws {
    let nodes = try reader.nodes(of: user.id).filter { $0.name != Displayed.node && $0.name != Bookmark.listNode }
    guard !nodes.isEmpty else { return }
    try writer.element(.pubsubOwner) { writer in
      for node in nodes {
        writer.element("configure") { writer in
          writer.attribute("node", node.name)
          NodeForm.form(of: node.configuration).write(into: &writer)
        }
        let people = try reader.people(of: node.name, of: user.id).affiliations
        if people.isEmpty { continue }
        writer.element("affiliations") { writer in
          writer.attribute("node", node.name)
          for (address, affiliation) in people.sorted(by: { $0.key.description < $1.key.description }) {
            writer.element("affiliation") { writer in
              writer.attribute("jid", address.description)
              writer.attribute("affiliation", PEP.text(affiliation))
            }
          }
        }
      }
    }
    try writer.element(.pubsub) { writer in
      for node in nodes {
        try writer.element("items") { writer in
          writer.attribute("node", node.name)
          var after = Position.zero
          while true {
            let items = try reader.items(
              in: node.name, of: user.id, after: after, before: .end, newest: false,
              limit: DoorLimits.itemsReadAtOnce)
            for item in try VCard4.completed(items, of: user.id, for: user.party, reader) {
              NodeWriter.write(item, of: user.address.description, node.configuration, into: &writer)
            }
            guard let last = items.last, items.count == DoorLimits.itemsReadAtOnce else { return }
            after = last.position
          }
        }
      }
    }
  }
}
