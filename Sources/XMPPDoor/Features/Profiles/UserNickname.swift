import Dialogs
import XMLStream
import XMPP

/// XEP-0172: a user's display name for those who see their presence; the same name that apps show.
struct UserNickname: Feature {
  static let xep = XEP(
    172, "1.1", "User Nickname",
    note: """
      Published nicknames; other payloads of the node are refused. The display name of an app user is published as one, \
      and apps show that of a contact elsewhere.
      """)

  private static let nick = Name("nick", NS.nick)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.nick)", on: [.account])
    // XEP-0163 4.2: of contacts elsewhere (`RemoteProfiles`).
    table.advertise("\(NS.nick)+notify", on: [.session])
  }

  /// Reads a nickname (4.4). A long one is cut.
  static func read(_ payload: Element) throws(StanzaError) -> NodeContent {
    guard payload.is(nick) else {
      throw StanzaError(.badRequest, pubsub: "invalid-payload", "a nickname is a <nick/>")
    }
    return .nickname(CardNames.cut(payload.text) ?? "")
  }

  static func write(_ name: String, into writer: inout ElementWriter) {
    writer.element(nick) { $0.text(name) }
  }
}
