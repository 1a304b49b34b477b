import XMPP

/// A row for servers in the compliance suites of 2023 (XEP-0479 0.1.0). Rows for clients only are omitted.
struct ComplianceRow: Codable, Hashable, Sendable {
  let category: String
  let feature: String
  /// The level from which on the suites require it: `core` or `advanced`.
  let level: String
  let specifications: String
  let isMet: Bool
  /// The change that would fulfil the requirement; nil if it is met.
  let remedy: String?
}

enum ComplianceSuites {
  struct Requirement: Sendable {
    let category: String
    let feature: String
    let level: String
    let specifications: String
    let isMet: @Sendable (ProbeFacts) -> Bool
    let remedy: String
  }

  static func rows(_ facts: ProbeFacts) -> [ComplianceRow] {
    all.map { requirement in
      let isMet = requirement.isMet(facts)
      return ComplianceRow(
        category: requirement.category, feature: requirement.feature, level: requirement.level,
        specifications: requirement.specifications, isMet: isMet, remedy: isMet ? nil : requirement.remedy)
    }
  }

  private static func row(
    _ category: String, _ feature: String, _ level: String, _ specifications: String,
    _ remedy: String = "the server does not show it", _ isMet: @escaping @Sendable (ProbeFacts) -> Bool
  ) -> Requirement {
    Requirement(
      category: category, feature: feature, level: level, specifications: specifications, isMet: isMet, remedy: remedy)
  }

  static let all: [Requirement] = [
    row("Core", "Core features", "core", "RFC 6120", "no XMPP port answers") { !$0.streamFeatures.isEmpty },
    row("Core", "TLS", "core", "RFC 7590", "set xmpp.port") { $0.startTLS },
    row("Core", "Direct TLS", "advanced", "XEP-0368", "set xmpp.tls_port") { $0.directTLS },
    row("Core", "Feature discovery", "core", "XEP-0030") { $0.server.contains("\(NS.discoInfo)") },
    row("Core", "Feature broadcasts", "advanced", "XEP-0115") { $0.streamFeatures.contains("\(NS.caps)") },
    row("Core", "Server extensibility", "core", "XEP-0114", "name components, and set component.port") {
      $0.transports.contains("\(NS.component)")
    },
    row("Core", "Event publishing", "advanced", "XEP-0163") { $0.identities.contains("pubsub/pep") },
    row("Web", "Web connection mechanisms: WebSocket", "core", "RFC 7395", "set https.port or http.port") {
      $0.transports.contains("\(NS.framing)")
    },
    row("Web", "Web connection mechanisms: BOSH", "core", "XEP-0206, XEP-0124", "set https.port or http.port") {
      $0.transports.contains("http://jabber.org/protocol/httpbind")
    },
    row("IM", "Core features", "core", "RFC 6121") { $0.answered.contains("\(NS.roster)") },
    row("IM", "User avatar compatibility", "advanced", "XEP-0398, XEP-0153") {
      $0.account.contains("urn:xmpp:pep-vcard-conversion:0")
    },
    row("IM", "vcard-temp", "core", "XEP-0054") { $0.account.contains("\(NS.vCard)") },
    row("IM", "Outbound message synchronization", "core", "XEP-0280") { $0.server.contains("\(NS.carbons)") },
    row("IM", "User blocking", "advanced", "XEP-0191") { $0.answered.contains("\(NS.blocking)") },
    row("IM", "Group chat", "core", "XEP-0045, XEP-0249") { $0.rooms.contains("\(NS.muc)") },
    row("IM", "Advanced group chat", "advanced", "XEP-0048, XEP-0313, XEP-0402, XEP-0410") {
      $0.answered.contains("\(NS.privateStorage)") && $0.room.contains("\(NS.mam)")
        && $0.account.contains("\(NS.bookmarksCompatibility)")
        && $0.room.contains("http://jabber.org/protocol/muc#self-ping-optimization")
    },
    row("IM", "Persistent storage of private data via PubSub", "advanced", "XEP-0223") { facts in
      ["publish-options", "persistent-items", "access-whitelist"].allSatisfy { feature in
        facts.account.contains("\(NS.pubsub)#\(feature)")
      }
    },
    row("IM", "Private XML storage", "advanced", "XEP-0049") { $0.answered.contains("\(NS.privateStorage)") },
    row("IM", "Stream management", "advanced", "XEP-0198") { $0.streamFeatures.contains("\(NS.streamManagement)") },
    row("IM", "History storage and retrieval", "advanced", "XEP-0313") { $0.account.contains("\(NS.mam)") },
    row("IM", "File upload", "core", "XEP-0363", "set http.url to an https URL, or https.port") {
      $0.items.union($0.server).contains("urn:xmpp:http:upload:0")
    },
    row("Mobile", "Stream management", "core", "XEP-0198") { $0.streamFeatures.contains("\(NS.streamManagement)") },
    row("Mobile", "Client state indication", "core", "XEP-0352") { $0.streamFeatures.contains("\(NS.csi)") },
    row("Mobile", "Third party push notifications", "advanced", "XEP-0357") {
      $0.account.contains("urn:xmpp:push:0")
    },
    row("A/V Calling", "STUN/TURN server discovery", "core", "XEP-0215") {
      $0.answered.contains("\(NS.externalServices)")
    },
  ]
}
