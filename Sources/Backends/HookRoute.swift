import Basics
public import Dialogs
public import WebClient

/// Sends requests to the backend, and returns its answer, or a failure after a timeout.
public protocol HookRoute: Sendable {
  func deliver(_ delivery: HookDelivery) async -> HookOutcome
}

/// A request to a hook.
public struct HookDelivery: Sendable {
  public let url: String
  /// Whether the URL may lead anywhere; otherwise only to public addresses.
  public let isTrusted: Bool
  public let headers: [(name: String, value: String)]
  public let body: [UInt8]

  init(_ event: HookEvent, to hook: Hook, now: Timestamp) {
    url = hook.url
    isTrusted = hook.isTrusted
    headers = WebhookSigner(keys: hook.secrets(at: now)).headers(id: event.id, now: now, body: event.body)
    body = event.body
  }
}

public enum HookOutcome: Hashable, Sendable {
  /// The answer was 2xx.
  case taken
  case refused(Hook.Progress.Refusal)
}

/// Sends requests to webhooks over HTTP.
public struct WebHookRoute: HookRoute {
  private let trusted: WebClient
  private let others: WebClient
  private let agent: String

  /// Creates a route.
  ///
  /// - Parameters:
  ///   - trusted: the client for the operator's URLs, which may lead anywhere.
  ///   - others: the client for other URLs, which reaches public addresses only.
  ///   - agent: the name and version of the server.
  public init(trusted: WebClient, others: WebClient, agent: String) {
    self.trusted = trusted
    self.others = others
    self.agent = agent
  }

  public func deliver(_ delivery: HookDelivery) async -> HookOutcome {
    let request = WebRequest(
      .post, delivery.url, headers: delivery.headers + [("user-agent", agent)], body: .bytes(delivery.body),
      timeout: BackendLimits.hookTimeout, answerBytesMax: BackendLimits.hookAnswerBytesMax)
    do throws(WebFailure) {
      let answer = try await (delivery.isTrusted ? trusted : others).send(request)
      if answer.isSuccess { return .taken }
      return .refused(
        Hook.Progress.Refusal(
          "The answer had status \(answer.status).", retryAfter: answer.retryAfter, isGone: answer.status == 410))
    } catch {
      return .refused(Hook.Progress.Refusal(error.description))
    }
  }
}
