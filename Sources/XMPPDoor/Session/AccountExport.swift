public import Accounts
import Addresses
public import Dialogs
import NIOCore
import XMLStream
import XMPP

/// The export of a user's data in the format of XEP-0227 (1.1), which other servers import: roster (4.4), private XML
/// (4.6), vCard (4.7), blocks (4.8) and pending subscription requests (4.9). Credentials are left out: they are of no use to the
/// user, and a danger if the file is found (8).
public struct AccountExport: ExportForm {
  public init() {}

  public func write(_ user: User, _ parley: Parley, into archive: ExportArchive) async throws(Problem) {
    // A roster may be large: what was read is gone before the document is written into the archive.
    let document = try await parley.read { Self.document(try PortableExport.SettingsOf(user, $0)) }
    try await archive.add("account.xml", document)
  }

  static func document(_ settings: PortableExport.SettingsOf) -> [UInt8] {
    var writer = ElementWriter()
    writer.element(PortableExport.server) { writer in
      writer.element(PortableExport.host) { writer in
        writer.attribute("jid", settings.user.address.domain)
        writer.element(PortableExport.user) { writer in
          writer.attribute("name", settings.user.localpart)
          PortableExport.write(settings, into: &writer)
        }
      }
    }
    return Array(writer.buffer.readableBytesView)
  }
}
