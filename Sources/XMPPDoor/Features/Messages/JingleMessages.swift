import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0353: call messages. The core knows the call, whichever protocol the caller and callee use; each of these
/// messages is kept as it came, and an app's acts are written here as such messages. The clients then negotiate by
/// themselves, or with an app (`JingleSessions`).
struct JingleMessages: Feature {
  static let xep = XEP(
    353, "0.8.0", "Jingle Message Initiation",
    note: """
      An app rings for a call of an XMPP client, and an XMPP client for a call of an app.
      """)

  private static let propose = Name("propose", NS.jingleMessage)
  private static let ringing = Name("ringing", NS.jingleMessage)
  private static let proceed = Name("proceed", NS.jingleMessage)
  private static let reject = Name("reject", NS.jingleMessage)
  private static let retract = Name("retract", NS.jingleMessage)
  private static let finish = Name("finish", NS.jingleMessage)
  private static let tieBreak = Name("tie-break", NS.jingleMessage)
  private static let migrated = Name("migrated", NS.jingleMessage)
  private static let description = Name("description", "urn:xmpp:jingle:apps:rtp:1")
  private static let reason = Name("reason", NS.jingle)

  func register(in table: inout FeatureTable) {
    let acts: [(Name, CallAct)] = [
      (Self.propose, .ring), (Self.ringing, .heard), (Self.proceed, .accept), (Self.reject, .reject),
      (Self.retract, .retract), (Self.finish, .finish),
    ]
    for (name, act) in acts {
      table.read(name) { element, draft in
        (draft.isKept, draft.isMomentary) = (true, true)
        guard let id = element["id"], !id.isEmpty else { return }
        var kind: Call.Kind?
        for child in element.children where child.is(Self.description) {
          if child.has("media", equalTo: "video") { kind = .video } else { kind = kind ?? .audio }
        }
        // Files are proposed too; that is no call.
        if act == .ring, kind == nil { return }
        draft.call = Draft.CallPart(name: id, act: act, kind: kind ?? .audio, reason: Self.reason(in: element))
      }
    }
    // Before 0.4 a client told the user's other clients so.
    table.read(Name("accept", NS.jingleMessage)) { _, draft in (draft.isKept, draft.isMomentary) = (true, true) }
  }

  /// Returns the reason (XEP-0166 7.4), as far as it makes a difference to users; `nil` if it is the usual one of the
  /// message.
  private static func reason(in element: Element) -> Call.Reason? {
    if element.first(tieBreak) != nil { return .crossed }
    if element.first(migrated) != nil { return .replaced }
    guard let said = element.first(reason) else { return nil }
    for condition in said.children where condition.namespace == "\(NS.jingle)" {
      if let reason = Self.reason(condition.local) { return reason }
    }
    return nil
  }

  /// Returns the reason that a condition of XEP-0166 7.4 means.
  static func reason(_ condition: String) -> Call.Reason? {
    switch condition {
    case "busy": .busy
    case "timeout": .timeout
    case "connectivity-error", "failed-application", "failed-transport", "general-error", "gone", "media-error",
      "security-error":
      .failed
    case "incompatible-parameters", "unsupported-applications", "unsupported-transports": .incompatible
    default: nil
    }
  }

  // MARK: Writing

  static func write(_ change: CallChange, into writer: inout ElementWriter) {
    let call = change.call
    let name =
      switch change.act {
      case .ring: propose
      case .heard: ringing
      case .accept: proceed
      case .reject: reject
      case .retract: retract
      case .finish: finish
      }
    writer.open(name)
    writer.attribute("id", call.name)
    switch change.act {
    case .ring:
      for media: StaticString in call.kind == .video ? ["audio", "video"] : ["audio"] {
        writer.element(description) { $0.attribute("media", media) }
      }
    case .heard, .accept: break
    case .reject, .retract, .finish:
      if let reason = call.reason { write(reason, change.successor, into: &writer) }
    }
    writer.close()
    Hints.writeStore(into: &writer)
  }

  /// Returns the condition of XEP-0166 7.4 for a reason.
  static func condition(_ why: Call.Reason) -> StaticString {
    switch why {
    case .rejected: "decline"
    case .cancelled: "cancel"
    case .busy: "busy"
    case .timeout: "timeout"
    case .hungUp: "success"
    case .failed: "connectivity-error"
    case .replaced, .crossed: "expired"
    case .incompatible: "unsupported-applications"
    }
  }

  private static func write(_ why: Call.Reason, _ successor: String?, into writer: inout ElementWriter) {
    writer.element(reason) { $0.element(Name(condition(why), NS.jingle)) }
    if why == .crossed { writer.element(tieBreak) }
    if why == .replaced, let successor { writer.element(migrated) { $0.attribute("to", successor) } }
  }
}

extension CallChange {
  /// The message for XMPP, whichever protocol the act came from; `nil` if there is none.
  var stanza: Message? {
    guard let message else { return nil }
    guard message.content.extras.isEmpty else { return message }
    var writer = StreamFraming.writer()
    JingleMessages.write(self, into: &writer)
    return Message(
      sequence: 0, content: Content(kind: .none, extras: Array(writer.buffer.readableBytesView)),
      envelope: message.envelope, traits: message.traits)
  }
}
