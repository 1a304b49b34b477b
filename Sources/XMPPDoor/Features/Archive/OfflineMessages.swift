import Dialogs
import XMLStream
import XMPP

/// Messages without a body that are stored all the same, because their content must not be lost: XEP-0313 6.1.1 allows
/// it, and the XEPs below ask for it. Each child is passed on and archived as it came; the server acts on none of them.
struct OfflineMessages: Feature {
  static let xep = XEP(
    160, "1.0.1", "Best Practices for Handling Offline Messages",
    note: """
      Offline messages are read from the log. Messages without a body are also stored if their content must not be \
      lost.
      """)

  /// The XEPs whose messages are stored without a body and passed on.
  static let passedOn: [XEP] = [
    XEP(373, "0.7.0", "OpenPGP for XMPP"),
    XEP(380, "0.4.0", "Explicit Message Encryption"),
    XEP(
      384, "0.9.1", "OMEMO Encryption",
      note: "Messages, also in the namespace before 0.4. Device lists and bundles are nodes of XEP-0163."),
    XEP(482, "0.1.0", "Call Invites"),
  ]

  func register(in table: inout FeatureTable) {
    let kept: [Name] = [
      // RFC 6121 5.2.4.
      .subject,
      // The source of a file, sent later (XEP-0447).
      Name("sources", NS.sfs),
    ]
    for name in kept { table.read(name) { _, draft in draft.isKept = true } }
    for local: StaticString in ["invite", "retract", "accept", "reject", "left"] {
      table.read(Name(local, NS.callInvites)) { _, draft in (draft.isKept, draft.isMomentary) = (true, true) }
    }
    table.read(Name("x", NS.mucUser)) { element, draft in
      // An empty <x/> only marks a private message (XEP-0045 7.5).
      if element.first(Name("invite", NS.mucUser)) != nil || element.first(Name("decline", NS.mucUser)) != nil {
        (draft.isKept, draft.isInvitation) = (true, true)
      }
    }
    registerCiphertext(in: &table)
  }

  /// Registers encrypted content, which counts as a message although the server cannot read it. OMEMO without a payload
  /// only carries keys: it is stored, but not shown.
  private func registerCiphertext(in table: inout FeatureTable) {
    for namespace in [NS.omemo, NS.omemoLegacy] {
      let payload = Name("payload", namespace)
      table.read(Name("encrypted", namespace)) { element, draft in
        draft.isKept = true
        if element.first(payload) != nil { draft.kind = .encrypted }
      }
    }
    // XEP-0373, and XEP-0027, which some clients still use.
    for name in [Name("openpgp", "urn:xmpp:openpgp:0"), Name("x", "jabber:x:encrypted")] {
      table.read(name) { _, draft in
        draft.isKept = true
        draft.kind = .encrypted
      }
    }
    table.read(Name("encryption", NS.encryption)) { element, draft in
      draft.isKept = true
      // An OMEMO element itself tells whether there is something to show.
      let isOMEMO =
        element.has("namespace", equalTo: NS.omemo) || element.has("namespace", equalTo: NS.omemoLegacy)
      if !isOMEMO { draft.kind = .encrypted }
    }
  }
}
