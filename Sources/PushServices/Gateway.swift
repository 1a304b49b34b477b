public import Basics
public import Dialogs
import JSON
public import Logging
public import WebClient

/// The operator's own push gateway: a request signed as in Standard Webhooks 1.0.0.
public struct Gateway: PushSender {
  private let url: String
  private let signer: WebhookSigner
  private let client: WebClient
  private let clock: any Clock
  private let warnings: ProviderWarnings

  public init(url: String, signer: WebhookSigner, client: WebClient, clock: any Clock, logger: Logger) {
    self.url = url
    self.signer = signer
    self.client = client
    self.clock = clock
    warnings = ProviderWarnings(logger)
  }

  public func send(_ notice: PushNotice, _ words: PushTexts, to device: PushDevice) async -> PushOutcome {
    let body = Self.body(notice, words, for: device)
    do throws(WebFailure) {
      let answer = try await client.send(
        WebRequest(
          .post, url,
          headers: signer.headers(id: "push_" + notice.id(for: device), now: clock.now, body: body),
          body: .bytes(body), answerBytesMax: PushLimits.answerBytesMax))
      let outcome = Self.outcome(of: answer)
      if case .unavailable = outcome { warnings.say("status \(answer.status)", .webhook) }
      return outcome
    } catch {
      warnings.say(error.description, .webhook)
      return .unavailable(seconds: nil)
    }
  }

  static func body(_ notice: PushNotice, _ words: PushTexts, for device: PushDevice) -> [UInt8] {
    var about: [JSONValue.Member] = [
      .init("id", .string(device.id)), .init("token", .string(device.token)),
      .init("kind", .string(device.kind.rawValue)),
      .init("environment", .string(device.environment.rawValue)),
    ]
    for (name, text) in [("appId", device.appID), ("platform", device.platform), ("locale", device.locale)] {
      if let text { about.append(.init(name, .string(text))) }
    }
    about.append(.init("collapseKey", .string(Base64URL.string(notice.collapse))))
    return JSONValue.object([
      .init("type", .string("push")),
      .init("data", .object([.init("device", .object(about)), .init("notice", notice.json(words))])),
    ]).bytes
  }

  static func outcome(of answer: WebAnswer) -> PushOutcome {
    switch answer.status {
    case 200..<300: .taken
    // The gateway reports that the device is gone. Another address than the gateway's answers with 404.
    case 410: .refused
    default: .unavailable(seconds: answer.retryAfter)
    }
  }
}
