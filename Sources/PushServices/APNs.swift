public import Basics
import Crypto
public import Dialogs
import JSON
public import Logging
import Synchronization
public import WebClient

/// Apple Push Notification service, authenticated by a token.
///
/// Apple, "Sending notification requests to APNs", "Establishing a token-based connection to APNs", "Handling
/// notification responses from APNs", "Generating a remote notification", as read in November 2026.
public struct APNs: PushSender {
  /// A key of Apple's developer account (`.p8`).
  public struct Key: Sendable {
    let key: P256.Signing.PrivateKey
    /// The key's id: ten letters and digits.
    let id: String
    let team: String

    /// Creates a key. `pem` is the file from Apple.
    public init(pem: String, id: String, team: String) throws(PushKeyProblem) {
      guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
        throw PushKeyProblem("it holds no private key of the curve P-256 in PEM")
      }
      for (text, name) in [(id, "push.apns.key_id"), (team, "push.apns.team_id")]
      where text.utf8.count != 10 || !text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) {
        throw PushKeyProblem("\(name) is to have ten letters and digits")
      }
      (self.key, self.id, self.team) = (key, id, team)
    }
  }

  /// The URLs of Apple's servers.
  public static let production = "https://api.push.apple.com"
  public static let sandbox = "https://api.sandbox.push.apple.com"

  private let key: Key
  private let urls: [PushDevice.Environment: String]
  private let client: WebClient
  private let clock: any Clock
  private let warnings: ProviderWarnings
  private let token = Token()

  /// The token of this key, which all requests share.
  private final class Token: Sendable {
    let state = Mutex<(text: String, made: Int64)?>(nil)
  }

  public init(
    key: Key, production: String = Self.production, sandbox: String = Self.sandbox, client: WebClient, clock: any Clock,
    logger: Logger
  ) {
    self.key = key
    urls = [.production: production, .sandbox: sandbox]
    self.client = client
    self.clock = clock
    warnings = ProviderWarnings(logger)
  }

  public func send(_ notice: PushNotice, _ words: PushTexts, to device: PushDevice) async -> PushOutcome {
    let now = clock.now.milliseconds / 1_000
    guard let topic = device.appID, let url = urls[device.environment], let token = bearer(now) else { return .failed }
    let request = WebRequest(
      .post, "\(url)/3/device/\(device.token)",
      headers: [("authorization", "bearer \(token)"), ("content-type", "application/json")]
        + Self.headers(notice, device, topic, now),
      body: .bytes(Self.payload(notice, words, for: device)), answerBytesMax: PushLimits.answerBytesMax,
      prefersHTTP2: true)
    do throws(WebFailure) {
      let answer = try await client.send(request)
      let (outcome, complaint) = Self.outcome(of: answer, for: device)
      if let complaint { warnings.say(complaint, .apns) }
      if complaint == "ExpiredProviderToken" { self.token.state.withLock { $0 = nil } }
      return outcome
    } catch {
      warnings.say(error.description, .apns)
      return .unavailable(seconds: nil)
    }
  }

  /// Returns the token, which is used for up to an hour: Apple accepts neither older ones, nor a new one more than once
  /// in 20 minutes.
  private func bearer(_ now: Int64) -> String? {
    token.state.withLock { state in
      if let state, now - state.made < PushLimits.providerTokenSeconds, now >= state.made { return state.text }
      guard
        let text = try? SignedToken.es256(
          key.key, header: [("kid", .string(key.id))],
          claims: [("iss", .string(key.team)), ("iat", .number("\(now)"))])
      else { return nil }
      state = (text, now)
      return text
    }
  }

  static func headers(
    _ notice: PushNotice, _ device: PushDevice, _ topic: String, _ now: Int64
  ) -> [(name: String, value: String)] {
    let isVoIP = device.kind == .voip
    let isCall = notice.kind == .call || notice.kind == .callEnd
    let isShown = notice.isShown
    let end = now + Int64(isCall ? PushLimits.callSeconds : PushLimits.messageSeconds)
    return [
      ("apns-id", notice.id(for: device)), ("apns-topic", isVoIP ? topic + ".voip" : topic),
      ("apns-push-type", isVoIP ? "voip" : isShown ? "alert" : "background"),
      // High priority is an error if nothing is shown.
      ("apns-priority", isVoIP || isShown ? "10" : "5"), ("apns-expiration", "\(end)"),
    ]
      // A silent push must not replace a shown one.
      + (isShown && !isVoIP ? [("apns-collapse-id", Base64URL.string(notice.collapse))] : [])
  }

  static func payload(_ notice: PushNotice, _ words: PushTexts, for device: PushDevice) -> [UInt8] {
    let isVoIP = device.kind == .voip
    return words.fitting(isVoIP ? PushLimits.apnsCallBytesMax : PushLimits.apnsBytesMax) { words in
      var aps: [JSONValue.Member] = []
      if !isVoIP {
        if let alert = alert(words) {
          aps = [
            .init("alert", alert), .init("badge", .number("\(notice.unread)")), .init("sound", .string("default")),
            .init("thread-id", .string(notice.notification == nil ? "\(notice.dialog)" : notice.type)),
            .init("category", .string(notice.category)),
            // The app may fetch the message and show that instead.
            .init("mutable-content", .number("1")),
          ]
        } else {
          aps = [.init("content-available", .number("1"))]
        }
      }
      return JSONValue.object([.init("aps", .object(aps))] + notice.members(words)).bytes
    }
  }

  private static func alert(_ words: PushTexts) -> JSONValue? {
    guard let body = words.body else { return nil }
    var alert: [JSONValue.Member] = []
    func add(_ phrase: PushTexts.Phrase, _ text: String, _ key: String, _ args: String) {
      switch phrase {
      case .text(let said): alert.append(.init(text, .string(said)))
      case .key(let name, let values):
        alert.append(.init(key, .string(name)))
        if !values.isEmpty { alert.append(.init(args, .array(values.map { .string($0) }))) }
      }
    }
    if let title = words.title { add(title, "title", "title-loc-key", "title-loc-args") }
    add(body, "body", "loc-key", "loc-args")
    return .object(alert)
  }

  /// Returns the outcome, and the reason if it is for the operator.
  static func outcome(of answer: WebAnswer, for device: PushDevice) -> (PushOutcome, complaint: String?) {
    if answer.status == 200 { return (.taken, nil) }
    let body = try? JSONValue(parsing: answer.body)
    let reason = body?["reason"]?.string ?? "status \(answer.status)"
    switch (answer.status, reason) {
    case (410, _):
      // The time since when the token has been invalid, in milliseconds. A device that registered later has it anew.
      if case .number(let text)? = body?["timestamp"], let time = Int64(text), time < device.registeredAt.milliseconds {
        return (.failed, nil)
      }
      return (.refused, nil)
    case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"), (400, "MissingDeviceToken"): return (.refused, nil)
    // A wrong path says nothing about the device.
    case (400, _), (404, _), (405, _), (413, _): return (.failed, reason)
    case (429, "TooManyRequests"): return (.unavailable(seconds: answer.retryAfter), nil)
    case (500..., _): return (.unavailable(seconds: answer.retryAfter ?? PushLimits.brokenSeconds), reason)
    // The key, the app's name, or too many tokens: the server's fault.
    default: return (.unavailable(seconds: answer.retryAfter), reason)
    }
  }
}
