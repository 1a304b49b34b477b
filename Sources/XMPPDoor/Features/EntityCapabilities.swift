import XMLStream
import XMPP

/// XEP-0115: the server's own capabilities as a hash, in its stream features
/// (6.3), so that a client which has seen this server need not ask again.
/// Clients' capabilities ride in their presence and are none of our business.
struct EntityCapabilities: Feature {
  static let xep = XEP(
    115, "1.6.0", "Entity Capabilities", note: "the server's own; clients' are passed on, not optimised away (8.4)")
  /// Names the software (4: a URI, best one to read about it at; a UUID names it
  /// without claiming an address that is somebody else's).
  static let software = "urn:uuid:0f6c3f0e-6f0b-4c53-9d0c-9f3a5d1f7a52"

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.caps)", on: [.server, .session])
  }

  /// The node under which disco#info repeats these capabilities (6.2).
  static func node(of capabilities: Capabilities) -> String { "\(software)#\(capabilities.verification)" }

  static func streamFeature(_ table: FeatureTable) -> StreamFeature {
    .capabilities(node: software, version: table.capabilities(of: .server).verification)
  }

  /// The hash of an app's session, the same for all of them.
  private static let sessionVersion = Features.table().capabilities(of: .session).verification

  /// `<c/>` for the presence of an app's session, which the server speaks for.
  static func writeSession(into writer: inout ElementWriter) {
    writer.open(.caps)
    writer.attribute("hash", "sha-1" as StaticString)
    writer.attribute("node", software)
    writer.attribute("ver", sessionVersion)
    writer.close()
  }
}
