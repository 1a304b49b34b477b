import Basics
public import Dialogs
import JSON
public import Logging
public import ServerMetrics
import Synchronization
public import WebClient

/// Sends messages to the backend before they are committed: `message.before_send`.
public final class BeforeSendClient: BeforeSendHook {
  private let url: String
  private let signer: WebhookSigner
  private let timeout: Duration
  private let client: WebClient
  private let metrics: Metrics
  private let watch: AnswerWatch
  /// Set before the first question; the core is created with this object.
  private let rendering = Mutex<(any HookRendering)?>(nil)

  /// Creates a client.
  ///
  /// - Parameter passesUnanswered: Whether messages are sent without an answer (`BeforeSendPolicy`), which the log says.
  public init(
    url: String, signer: WebhookSigner, timeout: Duration, passesUnanswered: Bool, client: WebClient, metrics: Metrics,
    logger: Logger
  ) {
    self.url = url
    self.signer = signer
    self.timeout = timeout
    self.client = client
    self.metrics = metrics
    watch = AnswerWatch(url: url, passes: passesUnanswered, logger: logger)
  }

  public func render(by rendering: some HookRendering) { self.rendering.withLock { $0 = rendering } }

  /// The reason why the last question was not answered, for the operator; `nil` if it was.
  public var failure: String? { watch.failure }

  public func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer {
    guard let rendering = rendering.withLock({ $0 }) else { return .none }
    let body = await rendering.question(question)
    do throws(Unanswered) {
      let answer = try await ask(body)
      watch.answered()
      metrics.beforeSend.add(answer.result)
      return answer
    } catch {
      note(error)
      return .none
    }
  }

  public func noteUnasked() {
    note(Unanswered(reason: "the backend answers too slowly: a question has waited too long", result: .unasked))
  }

  private func note(_ unanswered: Unanswered) {
    watch.failed(unanswered.reason, at: SystemClock.now)
    metrics.beforeSend.add(unanswered.result)
  }

  private func ask(_ body: [UInt8]) async throws(Unanswered) -> BeforeSendAnswer {
    let headers = signer.headers(id: "ask_\(PublicID.random())", now: SystemClock.now, body: body)
    let request = WebRequest(
      .post, url, headers: headers, body: .bytes(body), timeout: timeout,
      answerBytesMax: BackendLimits.beforeSendAnswerBytesMax)
    let answer: WebAnswer
    do throws(WebFailure) {
      answer = try await client.send(request)
    } catch {
      throw Unanswered(reason: error.description, result: error.kind == .tooLarge ? .malformed : .unanswered)
    }
    guard answer.isSuccess else { throw Unanswered(reason: "status \(answer.status)", result: .unanswered) }
    return try Self.read(answer.body)
  }

  /// The reason why a question has no usable answer. It has nothing of the question, the answer or the URL: the log has it, and a key of
  /// an app may read it.
  struct Unanswered: Error {
    let reason: String
    let result: BeforeSendResult

    init(reason: String, result: BeforeSendResult) {
      self.reason = reason
      self.result = result
    }

    fileprivate init(malformed reason: String) { self.init(reason: reason, result: .malformed) }
  }

  /// Parses the body of an answer; an empty body allows the message.
  static func read(_ body: [UInt8]) throws(Unanswered) -> BeforeSendAnswer {
    if body.isEmpty { return .allow }
    guard let value = try? JSONValue(parsing: body) else { throw Unanswered(malformed: "the answer is not JSON") }
    switch value["action"]?.string {
    case "allow": return .allow
    case "change":
      guard let text = value["text"]?.string, !text.isEmpty, Content.isText(text),
        text.unicodeScalars.count <= Limits.textCharactersMax
      else {
        throw Unanswered(
          malformed:
            "text of the change is no text of 1 to \(Limits.textCharactersMax) characters without control characters")
      }
      return .change(text: text)
    case "refuse":
      let code = value["code"]?.string ?? "message-refused"
      let isSlug =
        (1...BackendLimits.refusalCodeBytesMax).contains(code.utf8.count)
        && code.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d }
      guard isSlug else {
        throw Unanswered(
          malformed:
            "code of the refusal is not 1 to \(BackendLimits.refusalCodeBytesMax) of the characters a-z, 0-9 and -")
      }
      let text = value["text"]?.string ?? "This message is not allowed here."
      guard Content.isText(text) else { throw Unanswered(malformed: "text of the refusal has control characters") }
      return .refuse(code: code, text: String(text.unicodeScalars.prefix(BackendLimits.refusalCharactersMax)))
    default: throw Unanswered(malformed: "action is none of allow, change and refuse")
    }
  }
}

extension BeforeSendAnswer {
  fileprivate var result: BeforeSendResult {
    switch self {
    case .allow: .allow
    case .change: .change
    case .refuse: .refuse
    case .none: .unanswered
    }
  }
}
