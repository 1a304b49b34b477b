import Dialogs
import JSON
import XMLStream
import XMPP

/// Content for apps only, in the container of XEP-0335, inside an element that names its type (section 4): a custom
/// event, in a message that is not stored (XEP-0334 4.3), `<event xmlns='urn:parley:events:0' kind='…'><json
/// xmlns='urn:xmpp:json:0'>{…}</json></event>`, and custom content, beside the body that is its fallback, `<custom
/// xmlns='urn:parley:content:0' kind='…'><json xmlns='urn:xmpp:json:0'>…</json></custom>`.
struct JSONContainers: Feature {
  static let xep = XEP(
    335, "0.1.1", "JSON Containers",
    note: "For events (`urn:parley:events:0`) and custom content (`urn:parley:content:0`) of the app protocol.")

  private static let event = Name("event", "urn:parley:events:0")
  private static let custom = Name("custom", "urn:parley:content:0")
  private static let json = Name("json", "urn:xmpp:json:0")

  func register(in table: inout FeatureTable) {
    table.read(Self.event) { element, draft in
      guard draft.custom == nil, let kind = element["kind"], let payload = element.first(Self.json)?.text,
        (1...Limits.customKindBytesMax).contains(kind.utf8.count), payload.utf8.count <= Limits.customPayloadBytesMax
      else { return }
      draft.custom = CustomEvent(kind: kind, payload: payload)
    }
    table.read(Self.custom) { element, draft in
      guard draft.ownContent == nil, let kind = element["kind"],
        (1...Limits.contentFieldBytesMax).contains(kind.utf8.count)
      else { return }
      draft.ownContent = OwnContent(kind: kind, json: element.first(Self.json)?.text)
    }
  }

  /// Writes an app's custom event.
  static func write(_ custom: CustomEvent, into writer: inout ElementWriter) {
    writer.element(event) { writer in
      writer.attribute("kind", custom.kind)
      writer.element(json) { $0.text(custom.payload) }
    }
    Hints.writeNoStore(into: &writer)
  }

  /// Writes an app's custom content, behind its body.
  static func write(_ content: OwnContent, into writer: inout ElementWriter) {
    writer.element(custom) { writer in
      writer.attribute("kind", content.kind)
      if let payload = content.payload?.text { writer.element(json) { $0.text(payload) } }
    }
  }

  /// The members of content of type custom, as apps name them.
  struct OwnContent: Hashable, Sendable {
    let kind: String
    /// Members of objects are in the order of their names.
    let payload: JSONValue?

    /// Creates content; `nil` if the payload is no JSON, or longer than an event's may be.
    init?(kind: String, json text: String?) {
      self.kind = kind
      guard let text else {
        payload = nil
        return
      }
      guard text.utf8.count <= Limits.customPayloadBytesMax, let payload = try? JSONValue(parsing: text) else {
        return nil
      }
      self.payload = payload.sorted()
    }

    /// Reads an app's content; `nil` if it has none of this type.
    init?(_ content: Content) {
      guard let own = content.fields.flatMap({ try? JSONValue(parsing: $0) }), let kind = own["kind"]?.string else {
        return nil
      }
      self.kind = kind
      payload = own["payload"].flatMap { $0 == .null ? nil : $0.sorted() }
    }

    var fields: String {
      JSONValue.object([.init("kind", .string(kind))] + (payload.map { [.init("payload", $0)] } ?? [])).text
    }
  }
}
