import Dialogs
import XMLStream
import XMPP

/// XEP-0115: the hash of the server's own capabilities, in its stream features (6.3), so that a client that knows this
/// server need not ask again.
///
/// Clients send their capabilities in presence. The server uses them for one purpose: the nodes that a client is
/// interested in (XEP-0060 9.2). It queries the first client with a hash, and applies the answer to all others.
struct EntityCapabilities: Feature {
  static let xep = XEP(
    115, "1.6.0", "Entity Capabilities",
    note: """
      Clients' capabilities with SHA-1. The server asks clients for them in the name of its domain. Presence is forwarded \
      with them, without the optimization of 8.4.
      """)
  /// The URI of the software (4): a UUID claims no address of another party.
  static let software = "urn:uuid:0f6c3f0e-6f0b-4c53-9d0c-9f3a5d1f7a52"

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.caps)", on: [.server, .session])
  }

  // MARK: Clients

  /// The session's last capabilities; its interests are known or have been queried.
  private static let claim = Slot<CapabilitiesClaim?>(nil)
  private static let asked = Slot(false)

  /// Returns whether the client has yet to state its interests.
  static func isAsked(_ session: XMPPSession) -> Bool { session[asked] }

  /// Handles available presence sent to all contacts. One without capabilities changes nothing (8.4).
  static func announced(_ presence: Element, by session: XMPPSession) {
    if let claim = CapabilitiesClaim(presence), claim != session[Self.claim] {
      session[Self.claim] = claim
      if let known = session.door.capabilities.interests(of: claim) {
        learned(known, of: session)
      } else {
        setInterests([], of: session)
        ask(session, for: claim)
      }
    }
    PEP.announced(by: session)
  }

  /// Queries a client (6.2).
  private static func ask(_ session: XMPPSession, for claim: CapabilitiesClaim) {
    session[asked] = true
    session.ask { writer in
      writer.element(.discoInfo) { $0.attribute("node", claim.queried) }
    } then: { session, answer in
      // Another presence may have stated other capabilities meanwhile.
      guard session[Self.claim] == claim else { return }
      // A client that answers with an error has no interests.
      let query = answer.isError ? nil : answer.element.first(.discoInfo)
      learned(query.map { session.door.capabilities.learn($0, for: claim) } ?? [], of: session)
      PEP.announced(by: session)
    }
  }

  private static func setInterests(_ interests: Set<String>, of session: XMPPSession) {
    session.parley.hub.update(session.handle) { $0.interests = interests }
  }

  private static func learned(_ interests: Set<String>, of session: XMPPSession) {
    setInterests(interests, of: session)
    session[asked] = false
    RoomOutbound.inviteHeld(session)
  }

  // MARK: The server

  /// Returns the node under which disco#info repeats these capabilities (6.2).
  static func node(of capabilities: Capabilities) -> String { "\(software)#\(capabilities.verification)" }

  static func streamFeature(_ table: FeatureTable) -> StreamFeature {
    .capabilities(node: software, version: table.capabilities(of: .server).verification)
  }

  /// The hash of every app session's capabilities.
  private static let sessionVersion = Features.table().capabilities(of: .session).verification

  /// Writes `<c/>` for the presence of an app's session, which the server answers for.
  static func writeSession(into writer: inout ElementWriter) {
    writer.element(.caps) { writer in
      writer.attribute("hash", "sha-1" as StaticString)
      writer.attribute("node", software)
      writer.attribute("ver", sessionVersion)
    }
  }
}
