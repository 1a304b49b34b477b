public import Accounts
import Addresses
public import Dialogs
import NIOCore
import XMLStream
import XMPP

/// The export of a user's data in the format of XEP-0227 (1.1), which other servers import: roster (4.4), private XML
/// (4.6), vCard (4.7) and pending subscription requests (4.9). Credentials are left out: they are of no use to the
/// user, and a danger if the file is found (8).
public struct AccountExport: ExportForm {
  public init() {}

  private static let root = Name("server-data", "urn:xmpp:pie:0")
  private static let host = Name("host", "urn:xmpp:pie:0")
  private static let user = Name("user", "urn:xmpp:pie:0")
  private static let roster = Name("query", NS.roster)
  private static let privateXML = Name("query", NS.privateStorage)
  private static let blocks = Name("blocklist", NS.blocking)
  private static let presence = Name("presence", NS.client)

  public func write(_ user: User, _ parley: Parley, into archive: ExportArchive) async throws(Problem) {
    let bytes = try await parley.read { reader -> [UInt8] in
      let stored = VCard.Stored(
        profile: user.profile, fullName: try reader.fullName(of: user.id),
        vCard: try reader.value(of: user.id, node: ValueKey.vCard, item: ValueKey.bytes),
        avatar: try reader.avatar(of: user))
      return Self.document(
        user, stored, try reader.contacts(of: user.id), try reader.blocks(of: user.id),
        try reader.values(of: user.id, node: ValueKey.privateXML))
    }
    try await archive.add("account.xml", bytes)
  }

  static func document(
    _ user: User, _ stored: VCard.Stored, _ contacts: [Contact], _ patterns: [BlockPattern], _ kept: [[UInt8]]
  ) -> [UInt8] {
    var writer = ElementWriter()
    writer.element(root) { writer in
      writer.element(host) { writer in
        writer.attribute("jid", user.address.domain)
        writer.element(Self.user) { writer in
          writer.attribute("name", user.name)
          writer.element(roster) { writer in
            for contact in contacts where contact.subscription.isInRoster { Roster.write(contact, into: &writer) }
          }
          if !kept.isEmpty {
            writer.element(privateXML) { writer in
              for element in kept { writer.raw(element) }
            }
          }
          if stored.exists { VCard.write(stored, into: &writer) }
          // Elements of other namespaces may stand here too (4).
          if !patterns.isEmpty { Blocking.write(blocks, patterns, into: &writer) }
          for contact in contacts where contact.subscription.pendingIn {
            writer.element(presence) { writer in
              writer.attribute("from", contact.address.description)
              writer.attribute("to", user.address.description)
              writer.attribute("type", "subscribe" as StaticString)
              if let request = contact.request { writer.raw(request) }
            }
          }
        }
      }
    }
    return Array(writer.buffer.readableBytesView)
  }
}
