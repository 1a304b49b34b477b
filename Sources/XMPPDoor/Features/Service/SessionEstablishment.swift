import XMPP

/// RFC 3921 3 and RFC 6120 7: requests for a session and for a resource on a stream that has both. They are stanzas like
/// any other, because clients send the first behind `<enable/>` and count the answer (XEP-0198 4).
struct SessionEstablishment: Feature {
  static let xep = XEP(
    0, "", "RFC 3921 3: session establishment", note: "An empty result; the session begins with the resource.")

  func register(in table: inout FeatureTable) {
    table.iq(.set, .session, to: [.server, .account]) { turn, _ in turn.reply() }
    table.iq(.set, .bind, to: [.account]) { (_, _) throws(StanzaError) in
      throw StanzaError(.notAllowed, "a resource is bound")
    }
  }
}
