import Addresses
import Dialogs
import HTTPPort

/// Changes a text message of the caller's own. An unchanged text is answered with the current state, and no one is
/// told; a `clientId` keeps a late repeat from undoing a newer edit.
enum EditMessage: ServedOperation {
  typealias Input = EditMessageInput
  typealias Output = MessageBody
  static let name = "message.edit"
  static let method = Method.patch
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}"

  static func perform(_ input: EditMessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<MessageBody> {
    let change = try await MessageChange(input.messageId, in: input.dialogId, call)
    var content = try Self.content(input)
    let mentions = try await Self.mentions(input, change, call)
    var key: RepeatKey?
    if let id = input.clientId {
      try Checks.clientID(id)
      var digest = Digest64()
      digest.combine("edit")
      digest.combine(input.messageId)
      digest.combine(content.text)
      for mention in mentions { digest.combine("\(mention)") }
      key = RepeatKey(rule: .app, id: id, bodyHash: digest.finish())
    }
    if let message = change.message, message.content.kind != .text {
      // XMPP has the text of several files in its own stanza, and that of one file in the file's.
      let files = message.content.attachments
      guard message.content.kind.isFile, files.count == 1 || message.parts > 0 && !message.content.text.isEmpty else {
        throw Problem(
          .malformed, "message-unsuitable", "Only texts can be edited, and what is said with files.", field: "messageId"
        )
      }
      if files.count == 1 { content = Content(kind: message.content.kind, text: content.text, attachments: files) }
    }
    // The core checks the caller's permission.
    if key == nil, change.text == content.text, change.target.mentions.map({ MentionDraft($0) }) == mentions,
      change.target.author.id == change.caller.id
    {
      return .ok(try change.shown())
    }
    return .ok(try change.shown(try await change.post(.correction, content, mentions: mentions, key: key)))
  }

  private static func mentions(
    _ input: EditMessageInput, _ change: MessageChange, _ call: RequestContext
  ) async throws(Problem) -> [MentionDraft] {
    guard var mentions = input.mentions, !mentions.isEmpty else { return [] }
    if case .room(let room) = change.place {
      let (given, parley, caller) = (mentions, call.parley, change.caller)
      mentions = try await parley.read { try MemberReference.named(given, in: room, by: caller, parley, $0) }
    }
    return try Checks.mentions(mentions, domain: change.caller.address.domain)
  }

  private static func content(_ input: EditMessageInput) throws(Problem) -> Content {
    let body: ContentBody
    switch (input.text, input.content) {
    case (let text?, nil): body = ContentBody(type: ContentBody.Kind.text.rawValue, text: text)
    case (nil, let content?): body = content
    case (nil, nil), (.some, .some):
      throw Problem(.malformed, "input-malformed", "Give text or content.", field: "text")
    }
    guard body.type == ContentBody.Kind.text.rawValue else {
      throw Problem(.malformed, "content-type-unsuitable", "A text stays a text.", field: "content.type")
    }
    return try Checks.content(body, metadata: nil)
  }
}
