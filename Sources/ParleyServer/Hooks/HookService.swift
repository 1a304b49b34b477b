import Administration
import AppDoor
import Basics
import Dialogs
import JSON
import ServerConfiguration
import ServiceLifecycle
import Synchronization
import WebClient

/// Delivers events to webhooks.
struct HookService: Service {
  let runner: HookRunner

  func run() async throws {
    await cancelWhenGracefulShutdown { await runner.run() }
  }
}

/// Sends requests to webhooks: to any address for the operator's, to public addresses for others.
struct WebHookRoute: HookRoute {
  let outgoing: Outgoing

  func deliver(_ delivery: HookDelivery) async -> HookOutcome {
    let client = delivery.isTrusted ? outgoing.named : outgoing.given
    let request = WebRequest(
      .post, delivery.url, headers: delivery.headers + [("user-agent", "Parley/\(Version.number)")],
      body: .bytes(delivery.body), timeout: Limits.hookTimeout, answerBytesMax: ServerLimits.hookAnswerBytesMax)
    do throws(WebFailure) {
      let answer = try await client.send(request)
      if answer.isSuccess { return .taken }
      return .refused(
        Hook.Progress.Refusal(
          "The answer had status \(answer.status).", retryAfter: answer.retryAfter, isGone: answer.status == 410))
    } catch {
      return .refused(Hook.Progress.Refusal(error.description))
    }
  }
}

/// Sends messages to the backend before they are committed: `message.before_send`.
final class BeforeSendGate: BeforeSendHook {
  private let settings: Settings.BeforeSend
  private let web: WebClient
  /// Set before the first question; the core is created with this object.
  private let events = Mutex<HookEvents?>(nil)

  init(_ settings: Settings.BeforeSend, _ web: WebClient) {
    self.settings = settings
    self.web = web
  }

  var policy: BeforeSendPolicy {
    BeforeSendPolicy(passesUnanswered: settings.passesUnanswered, passesEncrypted: settings.passesEncrypted)
  }

  func serve(_ parley: Parley) { events.withLock { $0 = HookEvents(parley: parley) } }

  func answer(_ question: BeforeSendQuestion) async -> BeforeSendAnswer {
    guard let events = events.withLock({ $0 }) else { return .none }
    let body = events.question(question)
    let headers = StandardWebhooks.headers(
      id: "ask_\(PublicID.random())", now: SystemClock.now,
      body: body, secrets: [settings.secret])
    let request = WebRequest(
      .post, settings.url, headers: headers, body: .bytes(body), timeout: settings.timeout,
      answerBytesMax: ServerLimits.beforeSendAnswerBytesMax)
    guard let answer = try? await web.send(request), answer.isSuccess else { return .none }
    return Self.read(answer.body)
  }

  /// Parses the body of an answer; an empty body allows the message.
  static func read(_ body: [UInt8]) -> BeforeSendAnswer {
    if body.isEmpty { return .allow }
    guard let value = try? JSONValue(parsing: body) else { return .none }
    switch value["action"]?.string {
    case "allow": return .allow
    case "change":
      guard let text = value["text"]?.string, !text.isEmpty, AdminContext.isText(text),
        text.unicodeScalars.count <= Limits.textCharactersMax
      else { return .none }
      return .change(text: text)
    case "refuse":
      let code = value["code"]?.string ?? "message-refused"
      let isSlug =
        (1...ServerLimits.refusalCodeBytesMax).contains(code.utf8.count)
        && code.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d }
      let text = value["text"]?.string ?? "This message is not allowed here."
      guard isSlug, AdminContext.isText(text) else { return .none }
      return .refuse(code: code, text: String(text.unicodeScalars.prefix(ServerLimits.refusalCharactersMax)))
    default: return .none
    }
  }
}
