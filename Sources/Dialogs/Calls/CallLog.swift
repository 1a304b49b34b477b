/// The message about an ended call in its dialog.
enum CallLog {
  /// Returns the message's content; `nil` if the other call stands for this one.
  static func content(of call: Call, id: PublicID) -> Content? {
    guard let reason = call.reason, reason != .crossed else { return nil }
    var fields = "{\"callId\":\"\(id)\",\"kind\":\"\(call.kind.word)\",\"reason\":\"\(reason.word)\""
    fields += ",\"missed\":\(call.isMissed)"
    if let duration = call.duration { fields += ",\"durationSeconds\":\(duration.components.seconds)" }
    return Content(kind: .call, text: text(of: call, reason), fields: fields + "}")
  }

  /// Returns the text for clients that do not know the type.
  private static func text(of call: Call, _ reason: Call.Reason) -> String {
    let name = call.kind == .video ? "video call" : "audio call"
    if call.isMissed { return "Missed \(name)" }
    let title = call.kind == .video ? "Video call" : "Audio call"
    if let seconds = call.duration?.components.seconds {
      let rest = seconds % 60
      return "\(title), \(seconds / 60):\(rest < 10 ? "0" : "")\(rest)"
    }
    return reason == .rejected ? "\(title), declined" : title
  }

  /// Returns the traits: a missed call counts as unread, and if an app called, XMPP clients get the text, as those
  /// without XEP-0353 have seen nothing of it. Other results they know, or do not need.
  static func traits(of call: Call) -> Message.Traits {
    var traits: Message.Traits = [.fromApp]
    if call.isMissed {
      traits.insert(.counts)
      if call.caller.isApp { traits.formUnion([.archived, .replayed]) }
    }
    return traits
  }
}

extension Message {
  /// Whether XMPP clients are not sent the message.
  public var isUnspoken: Bool {
    reference?.isUnspoken == true || content.kind == .call && !traits.contains(.archived)
  }
}

// The words of the app protocol: fields in the log are sent unchanged.
extension Call.Kind {
  public var word: String {
    switch self {
    case .audio: "audio"
    case .video: "video"
    }
  }
}

extension Call.Reason {
  public var word: String {
    switch self {
    case .rejected: "rejected"
    case .cancelled: "cancelled"
    case .busy: "busy"
    case .timeout: "timeout"
    case .hungUp: "ended"
    case .failed: "failed"
    case .replaced: "replaced"
    case .crossed: "crossed"
    case .incompatible: "incompatible"
    }
  }
}

extension Call.State {
  public var word: String {
    switch self {
    case .ringing: "ringing"
    case .accepted: "accepted"
    case .ended: "ended"
    }
  }
}
