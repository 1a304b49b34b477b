import Dialogs
import XMLStream
import XMPP

/// Events of an app's own, in a message that nobody keeps (XEP-0334 4.3):
/// `<event xmlns='urn:parley:events:0' kind='…'><json xmlns='urn:xmpp:json:0'>{…}</json></event>`. The payload stands in
/// the container of XEP-0335, inside an element that says what it is (its section 4).
struct CustomEvents: Feature {
  static let xep = XEP(335, "0.1.1", "JSON Containers", note: "in events of the app protocol (`urn:parley:events:0`)")

  private static let event = Name("event", "urn:parley:events:0")
  private static let json = Name("json", "urn:xmpp:json:0")

  func register(in table: inout FeatureTable) {
    table.read(Self.event) { element, draft in
      guard draft.custom == nil, let kind = element["kind"], let payload = element.first(Self.json)?.text,
        (1...Limits.customKindBytesMax).contains(kind.utf8.count), payload.utf8.count <= Limits.customPayloadBytesMax
      else { return }
      draft.custom = CustomEvent(kind: kind, payload: payload)
    }
  }

  /// What an app's event looks like to XMPP.
  static func write(_ custom: CustomEvent, into writer: inout ElementWriter) {
    writer.open(event)
    writer.attribute("kind", custom.kind)
    writer.open(json)
    writer.text(custom.payload)
    writer.close()
    writer.close()
    Hints.writeNoStore(into: &writer)
  }
}
