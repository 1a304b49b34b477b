import Dialogs
import XMLStream
import XMPP

/// XEP-0115: the server's own capabilities as a hash, in its stream features
/// (6.3), so that a client which has seen this server need not ask again.
///
/// Clients' capabilities ride in their presence. The server reads one thing out
/// of them: of which nodes a client wants to be told (XEP-0060 9.2). It asks the
/// first client that shows a hash, and believes it of all others.
struct EntityCapabilities: Feature {
  static let xep = XEP(
    115, "1.6.0", "Entity Capabilities", note: "of clients by SHA-1; passed on, not optimised away (8.4)")
  /// Names the software (4: a URI, best one to read about it at; a UUID names it
  /// without claiming an address that is somebody else's).
  static let software = "urn:uuid:0f6c3f0e-6f0b-4c53-9d0c-9f3a5d1f7a52"

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.caps)", on: [.server, .session])
  }

  // MARK: Clients

  /// What the session's client said last; its interests are known or asked for.
  private static let claim = Slot<CapabilitiesClaim?>(nil)
  private static let asked = Slot(false)

  /// Whether the client has yet to say what it is interested in.
  static func isAsked(_ session: XMPPSession) -> Bool { session[asked] }

  /// An available presence for everybody has been sent. One that says nothing of
  /// capabilities changes nothing (8.4).
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

  /// 6.2.
  private static func ask(_ session: XMPPSession, for claim: CapabilitiesClaim) {
    session[asked] = true
    session.ask { writer in
      writer.open(.discoInfo)
      writer.attribute("node", claim.queried)
      writer.close()
    } then: { session, answer in
      // Another presence may have said something else meanwhile.
      guard session[Self.claim] == claim else { return }
      // Who cannot say it is interested in nothing.
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
