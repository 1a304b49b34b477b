import Basics
public import Dialogs
import JSON
import Synchronization
public import WebClient

/// Sends messages to the backend before they are committed: `message.before_send`.
public final class BeforeSendClient: BeforeSendHook {
  private let url: String
  private let signer: WebhookSigner
  private let timeout: Duration
  private let client: WebClient
  /// Set before the first question; the core is created with this object.
  private let rendering = Mutex<(any HookRendering)?>(nil)

  public init(url: String, signer: WebhookSigner, timeout: Duration, client: WebClient) {
    self.url = url
    self.signer = signer
    self.timeout = timeout
    self.client = client
  }

  public func render(by rendering: some HookRendering) { self.rendering.withLock { $0 = rendering } }

  public func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer {
    guard let rendering = rendering.withLock({ $0 }) else { return .none }
    let body = await rendering.question(question)
    let headers = signer.headers(id: "ask_\(PublicID.random())", now: SystemClock.now, body: body)
    let request = WebRequest(
      .post, url, headers: headers, body: .bytes(body), timeout: timeout,
      answerBytesMax: BackendLimits.beforeSendAnswerBytesMax)
    guard let answer = try? await client.send(request), answer.isSuccess else { return .none }
    return Self.read(answer.body)
  }

  /// Parses the body of an answer; an empty body allows the message.
  static func read(_ body: [UInt8]) -> BeforeSendAnswer {
    if body.isEmpty { return .allow }
    guard let value = try? JSONValue(parsing: body) else { return .none }
    switch value["action"]?.string {
    case "allow": return .allow
    case "change":
      guard let text = value["text"]?.string, !text.isEmpty, Content.isText(text),
        text.unicodeScalars.count <= Limits.textCharactersMax
      else { return .none }
      return .change(text: text)
    case "refuse":
      let code = value["code"]?.string ?? "message-refused"
      let isSlug =
        (1...BackendLimits.refusalCodeBytesMax).contains(code.utf8.count)
        && code.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d }
      let text = value["text"]?.string ?? "This message is not allowed here."
      guard isSlug, Content.isText(text) else { return .none }
      return .refuse(code: code, text: String(text.unicodeScalars.prefix(BackendLimits.refusalCharactersMax)))
    default: return .none
    }
  }
}
