import Dialogs
import HTTPPort

/// Reports another user's message to the operators, like a report of an XMPP client (XEP-0377), without blocking.
/// Repeating it changes nothing.
enum FlagMessage: ServedOperation {
  typealias Input = FlagMessageInput
  typealias Output = EmptyBody
  static let name = "message.flag"
  static let method = Method.post
  static let path = "/v1/dialogs/{dialogId}/messages/{messageId}/flags"

  static func perform(_ input: FlagMessageInput, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let request = try await PerUserMessageRequest(input.dialogId, call)
    guard ["spam", "abuse"].contains(input.reason) else {
      throw Problem(.malformed, "reason-unknown", "reason is \"spam\" or \"abuse\".", field: "reason")
    }
    let text = try Checks.line(input.text, field: "text") ?? ""
    guard text.unicodeScalars.count <= Limits.reportCharactersMax else {
      throw Problem(
        .tooLarge, "text-too-long", "text has at most \(Limits.reportCharactersMax) characters.", field: "text")
    }
    try await request.post(
      .flag(
        try Checks.message(input.messageId, field: "messageId"), reason: "urn:xmpp:reporting:\(input.reason)",
        text: text, consent: input.mayTellOrigin == true ? [.origin] : []))
    return .done
  }
}
