public import Basics
import CryptoExtras
public import Dialogs
import JSON
public import Logging
public import WebClient

/// Firebase Cloud Messaging, its HTTP v1 API, as a service account.
///
/// Google, "REST Resource: projects.messages", "FCM Error Codes", "Non-collapsible and collapsible messages", "Using
/// OAuth 2.0 for Server to Server Applications", as read in November 2026; RFC 7523 2.1.
public struct FCM: PushSender {
  /// A service account, from Google's JSON file.
  public struct Account: Sendable {
    let project: String
    let email: String
    let keyID: String?
    let key: _RSA.Signing.PrivateKey
    /// The token endpoint.
    let tokenURL: String

    public init(json: [UInt8]) throws(PushKeyProblem) {
      guard let json = try? JSONValue(parsing: json) else { throw PushKeyProblem("it is no JSON") }
      func text(_ name: String) throws(PushKeyProblem) -> String {
        guard let text = json[name]?.string, !text.isEmpty else { throw PushKeyProblem("it has no \(name)") }
        return text
      }
      guard json["type"]?.string == "service_account" else { throw PushKeyProblem("it is of no service account") }
      project = try text("project_id")
      // It becomes part of a path.
      guard project.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-.:".contains($0)) }) else {
        throw PushKeyProblem("its project_id is none")
      }
      email = try text("client_email")
      keyID = json["private_key_id"]?.string
      tokenURL = try text("token_uri")
      guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: try text("private_key")) else {
        throw PushKeyProblem("its private_key is no RSA key in PEM")
      }
      self.key = key
    }
  }

  public static let standardURL = "https://fcm.googleapis.com"
  private static let scope = "https://www.googleapis.com/auth/firebase.messaging"

  private let account: Account
  private let url: String
  private let client: WebClient
  private let warnings: ProviderWarnings
  private let access: Access

  public init(account: Account, url: String = Self.standardURL, client: WebClient, clock: any Clock, logger: Logger) {
    self.account = account
    self.url = url
    self.client = client
    warnings = ProviderWarnings(logger)
    access = Access(account: account, client: client, clock: clock)
  }

  public func send(_ notice: PushNotice, _ words: PushTexts, to device: PushDevice) async -> PushOutcome {
    do throws(WebFailure) {
      guard let token = try await access.token() else {
        warnings.say("no access token for \(account.email)", .fcm)
        return .unavailable(seconds: nil)
      }
      let answer = try await client.send(
        WebRequest(
          .post, "\(url)/v1/projects/\(account.project)/messages:send",
          headers: [("authorization", "Bearer \(token)"), ("content-type", "application/json")],
          body: .bytes(Self.message(notice, words, to: device)), answerBytesMax: PushLimits.answerBytesMax,
          prefersHTTP2: true))
      if answer.status == 401 { await access.forget(token) }
      let (outcome, complaint) = Self.outcome(of: answer)
      if let complaint { warnings.say(complaint, .fcm) }
      return outcome
    } catch {
      warnings.say(error.description, .fcm)
      return .unavailable(seconds: nil)
    }
  }

  /// The account's access token; one request for it runs at a time.
  private actor Access {
    private let account: Account
    private let client: WebClient
    private let clock: any Clock
    private var current: (text: String, until: Int64)?
    private var asking: Task<Result<(text: String, until: Int64)?, WebFailure>, Never>?

    init(account: Account, client: WebClient, clock: any Clock) {
      (self.account, self.client, self.clock) = (account, client, clock)
    }

    /// Returns the token; `nil` if Google gives none.
    func token() async throws(WebFailure) -> String? {
      let now = clock.now.milliseconds / 1_000
      if let current, now < current.until - PushLimits.accessTokenMargin { return current.text }
      let task = asking ?? Task { [account, client] in await Self.ask(account, client, now) }
      asking = task
      let result = await task.value
      asking = nil
      current = try result.get()
      return current?.text
    }

    func forget(_ token: String) {
      if current?.text == token { current = nil }
    }

    private static func ask(
      _ account: Account, _ client: WebClient, _ now: Int64
    ) async -> Result<(text: String, until: Int64)?, WebFailure> {
      guard let assertion = FCM.assertion(account, now) else { return .success(nil) }
      // Only the colons need escaping.
      let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
      do throws(WebFailure) {
        let answer = try await client.send(
          WebRequest(
            .post, account.tokenURL, headers: [("content-type", "application/x-www-form-urlencoded")],
            body: .bytes(Array(form.utf8)), answerBytesMax: PushLimits.answerBytesMax))
        guard answer.status == 200, let json = try? JSONValue(parsing: answer.body),
          let token = json["access_token"]?.string, case .number(let text)? = json["expires_in"],
          let seconds = Int64(text)
        else { return .success(nil) }
        return .success((token, now + seconds))
      } catch { return .failure(error) }
    }
  }

  /// Returns the assertion of RFC 7523 3, with Google's scope.
  static func assertion(_ account: Account, _ now: Int64) -> String? {
    try? SignedToken.rs256(
      account.key, header: account.keyID.map { [("kid", .string($0))] } ?? [],
      claims: [
        ("iss", .string(account.email)), ("scope", .string(scope)), ("aud", .string(account.tokenURL)),
        ("iat", .number("\(now)")), ("exp", .number("\(now + 3_600)")),
      ])
  }

  static func message(_ notice: PushNotice, _ words: PushTexts, to device: PushDevice) -> [UInt8] {
    words.fitting(PushLimits.fcmBytesMax + device.token.utf8.count) { words in
      let isCall = notice.kind == .call || notice.kind == .callEnd
      var android: [JSONValue.Member] = [
        .init("priority", .string(notice.isShown || notice.kind == .callEnd ? "HIGH" : "NORMAL")),
        .init("ttl", .string("\(isCall ? PushLimits.callSeconds : PushLimits.messageSeconds)s")),
      ]
      // Calls and silent pushes are data alone: the app itself rings, or does nothing visible.
      if notice.isShown, !isCall {
        let tag = Base64URL.string(notice.collapse)
        android.insert(.init("collapse_key", .string(tag)), at: 0)
        android.append(.init("notification", .object(notification(notice, words, tag))))
      }
      // All values are texts.
      let data = notice.members(words).map { member -> JSONValue.Member in
        if case .string = member.value { return member }
        return .init(member.name, .string(member.value.text))
      }
      return JSONValue.object([
        .init(
          "message",
          .object([
            .init("token", .string(device.token)), .init("data", .object(data)), .init("android", .object(android)),
          ]))
      ]).bytes
    }
  }

  private static func notification(_ notice: PushNotice, _ words: PushTexts, _ tag: String) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    for (phrase, name) in [(words.title, "title"), (words.body, "body")] {
      switch phrase {
      case nil: break
      case .text(let text): members.append(.init(name, .string(text)))
      case .key(let key, let args):
        members.append(.init(name + "_loc_key", .string(key)))
        if !args.isEmpty { members.append(.init(name + "_loc_args", .array(args.map { .string($0) }))) }
      }
    }
    // A notification of the same dialog is replaced.
    members.append(.init("tag", .string(tag)))
    members.append(.init("notification_count", .number("\(min(notice.unread, 1_000_000))")))
    members.append(.init("default_sound", .bool(true)))
    return members
  }

  static func outcome(of answer: WebAnswer) -> (PushOutcome, complaint: String?) {
    if answer.isSuccess { return (.taken, nil) }
    let error = (try? JSONValue(parsing: answer.body))?["error"]
    // The registration token is invalid only if Google's own error says so, and no other field is named; otherwise it is
    // a field of this server's.
    let code = detail("google.firebase.fcm.v1.FcmError", of: error)?["errorCode"]?.string
    var isToken = true
    if case .array(let fields)? = detail("google.rpc.BadRequest", of: error)?["fieldViolations"] {
      isToken = fields.contains { $0["field"]?.string == "message.token" }
    }
    let reason = code ?? error?["status"]?.string ?? "status \(answer.status)"
    switch (answer.status, code) {
    case (404, "UNREGISTERED"?): return (.refused, nil)
    case (400, "INVALID_ARGUMENT"?) where isToken: return (.refused, nil)
    // The account of another project than the app's is the operator's mistake.
    case (400, _), (403, "SENDER_ID_MISMATCH"?): return (.failed, reason)
    case (429, _): return (.unavailable(seconds: answer.retryAfter ?? 60), reason)
    default: return (.unavailable(seconds: answer.retryAfter), reason)
    }
  }

  private static func detail(_ type: String, of error: JSONValue?) -> JSONValue? {
    guard case .array(let details)? = error?["details"] else { return nil }
    return details.first { $0["@type"]?.string == "type.googleapis.com/" + type }
  }
}
