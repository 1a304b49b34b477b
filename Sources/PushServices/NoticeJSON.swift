import Dialogs
import JSON

/// A notice as apps get it: the same names with every provider.
extension PushNotice {
  func members(_ words: PushTexts) -> [JSONValue.Member] {
    if let notification { return self.members(of: notification) }
    var members: [JSONValue.Member] = [
      .init("type", .string(type)), .init("userId", .string(user)), .init("dialogId", .string("\(dialog)")),
      .init("messageId", .string("\(message)")), .init("cursor", .string(cursor)),
    ]
    if let call {
      members.append(.init("callId", .string("\(message)")))
      members.append(.init("callKind", .string(call.word)))
    }
    if kind == .message || kind == .silent { members.append(.init("count", .number("\(count)"))) }
    if kind == .silent { members.append(.init("silent", .bool(true))) }
    members.append(.init("unreadCount", .number("\(unread)")))
    if words.namesSender {
      if let senderID { members.append(.init("senderId", .string(senderID))) }
      members.append(
        .init("senderName", .string(PushTexts.prefix(senderName, bytes: PushLimits.nameBytesMax))))
    }
    return members
  }

  private func members(of notification: AppNotification) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = [
      .init("type", .string(type)), .init("userId", .string(user)), .init("notificationId", .string(notification.id)),
      .init("unreadCount", .number("\(unread)")),
    ]
    if let data = notification.data.flatMap({ try? JSONValue(parsing: Array($0.utf8)) }) {
      members.append(.init("data", data))
    }
    return members
  }

  var type: String {
    switch kind {
    case .message, .silent: "message"
    case .call: "call"
    case .callEnd: "call.end"
    case .notification: "notification"
    }
  }

  /// The category, which selects the actions that a phone offers.
  var category: String {
    switch kind {
    case .call, .callEnd: "CALL"
    case .notification: "NOTIFICATION"
    case .message, .silent: "MESSAGE"
    }
  }

  /// Returns the notice and its words, for a browser or the operator's gateway.
  func json(_ words: PushTexts) -> JSONValue {
    var members = members(words)
    if let title = words.title { members.append(.init("title", title.json)) }
    if let body = words.body { members.append(.init("body", body.json)) }
    return .object(members)
  }
}

extension PushTexts.Phrase {
  var json: JSONValue {
    switch self {
    case .key(let key, let args):
      .object([.init("key", .string(key)), .init("args", .array(args.map { .string($0) }))])
    case .text(let text): .object([.init("text", .string(text))])
    }
  }
}

extension JSONValue {
  var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.value(self)
    return writer.bytes
  }
}
