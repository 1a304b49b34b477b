import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0441: a user's preferences for their archive. `Dialogs.ArchivePreferences` defines their meaning.
struct ArchivePreferencesCommand: Feature {
  static let xep = XEP(
    441, "0.2.0", "Message Archive Management Preferences",
    note: """
      Preferences apply to the user's view of later messages, not to the history in the app protocol. No ad-hoc \
      command (2.4).
      """)

  private static let prefs = Name("prefs", NS.mam)
  private static let always = Name("always", NS.mam)
  private static let never = Name("never", NS.mam)
  private static let jid = Name("jid", NS.mam)

  func register(in table: inout FeatureTable) {
    table.iq(.get, Self.prefs, to: [.account]) { turn, _ in
      let user = turn.party.id
      turn.fetch {
        try ArchivePreferences.of(user, $0) ?? ArchivePreferences()
      } reply: { (preferences) throws(StanzaError) in
        turn.reply { Self.write(preferences, into: &$0) }
      }
    }
    table.iq(.set, Self.prefs, to: [.account]) { (turn, element) throws(StanzaError) in
      let preferences = try Self.read(element)
      turn.post(.archivePreferences(preferences)) { result in
        switch result {
        case .success: turn.reply { Self.write(preferences, into: &$0) }
        case .failure(let problem): turn.fail(problem)
        }
      }
    }
    // They are the user's own; a room has none.
    let forbidden: FeatureTable.IQHandler = { (_, _) throws(StanzaError) in throw StanzaError(.forbidden) }
    table.iq(.get, Self.prefs, to: [.user], forbidden)
    table.iq(.set, Self.prefs, to: [.user], forbidden)
  }

  private static func read(_ element: Element) throws(StanzaError) -> ArchivePreferences {
    let standard: ArchivePreferences.Standard
    switch element["default"] {
    case "always": standard = .always
    case "never": standard = .never
    case "roster": standard = .roster
    default: throw StanzaError(.badRequest, "'default' is always, never or roster (XEP-0441 2.1)")
    }
    return ArchivePreferences(
      standard: standard, always: try list(element.first(always)), never: try list(element.first(never)))
  }

  private static func list(_ element: Element?) throws(StanzaError) -> [JID] {
    var list: [JID] = []
    guard let element else { return list }
    for child in element.children where child.is(jid) {
      guard let address = JID(parsing: child.text) else { throw StanzaError(.jidMalformed, "'jid' is no address") }
      list.append(address)
    }
    return list
  }

  private static func write(_ preferences: ArchivePreferences, into writer: inout ElementWriter) {
    let standard: StaticString =
      switch preferences.standard {
      case .always: "always"
      case .never: "never"
      case .roster: "roster"
      }
    writer.element(prefs) { writer in
      writer.attribute("default", standard)
      for (name, list) in [("always" as StaticString, preferences.always), ("never", preferences.never)] {
        writer.element(name) { writer in
          for address in list { writer.element("jid") { $0.text(address.description) } }
        }
      }
    }
  }
}
