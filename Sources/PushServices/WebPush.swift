public import Basics
import Crypto
public import Dialogs
import JSON
public import Logging
import Synchronization
public import WebClient

/// Browsers' push services and UnifiedPush's distributors: RFC 8030, encrypted by RFC 8291, authenticated by RFC 8292.
public struct WebPush: PushSender {
  /// The server's own key pair (RFC 8292 2), which browsers bind subscriptions to.
  public struct Key: Sendable {
    let key: P256.Signing.PrivateKey
    public init() { key = P256.Signing.PrivateKey() }
    /// Creates a key from `raw`; `nil` if it is invalid.
    public init?(raw: [UInt8]) {
      guard let key = try? P256.Signing.PrivateKey(rawRepresentation: raw) else { return nil }
      self.key = key
    }
    /// The 32 bytes of the private key.
    public var raw: [UInt8] { Array(key.rawRepresentation) }
    /// The public key as browsers need it (`applicationServerKey`): an uncompressed point in base64url.
    public var publicKey: String { Base64URL.string(Array(key.publicKey.x963Representation)) }
  }

  private let key: Key
  private let contact: String
  private let client: WebClient
  private let clock: any Clock
  private let warnings: ProviderWarnings
  private let tokens = Tokens()

  /// The tokens by origin.
  private final class Tokens: Sendable {
    let state = Mutex<[String: (text: String, until: Int64)]>([:])
  }

  ///
  /// - Parameters:
  ///   - contact: a `mailto:` or `https:` URI for the operators of push services (RFC 8292 2.1).
  ///   - client: a client for public addresses only, since users give the URLs.
  public init(key: Key, contact: String, client: WebClient, clock: any Clock, logger: Logger) {
    self.key = key
    self.contact = contact
    self.client = client
    self.clock = clock
    warnings = ProviderWarnings(logger)
  }

  public func send(_ notice: PushNotice, _ words: PushTexts, to device: PushDevice) async -> PushOutcome {
    guard let keys = device.keys, let origin = Self.origin(of: device.token),
      let token = token(for: origin, clock.now.milliseconds / 1_000),
      let body = try? Self.encrypted(Self.payload(notice, words), for: keys)
    else { return .refused }
    let isCall = notice.kind == .call || notice.kind == .callEnd
    var headers = [
      ("content-encoding", "aes128gcm"), ("content-type", "application/octet-stream"),
      ("ttl", "\(isCall ? PushLimits.callSeconds : PushLimits.messageSeconds)"),
      ("urgency", isCall ? "high" : notice.isShown ? "normal" : "low"),
      ("authorization", "vapid t=\(token), k=\(key.publicKey)"),
    ]
    // 5.4: at most 32 characters; a silent push replaces nothing.
    if notice.kind != .silent { headers.append(("topic", Base64URL.string(notice.collapse))) }
    do throws(WebFailure) {
      let answer = try await client.send(
        WebRequest(
          .post, device.token, headers: headers, body: .bytes(body), answerBytesMax: PushLimits.answerBytesMax))
      let outcome = Self.outcome(of: answer)
      switch outcome {
      case .failed, .unavailable: warnings.say("\(origin): status \(answer.status)", device.provider)
      case .taken, .refused: break
      }
      return outcome
    } catch {
      warnings.say("\(origin): \(error.description)", device.provider)
      // The URL leads to a place without a push service.
      return error.kind == .forbidden || error.kind == .malformed ? .refused : .failed
    }
  }

  static func payload(_ notice: PushNotice, _ words: PushTexts) -> [UInt8] {
    words.fitting(PushLimits.webPushBytesMax) { notice.json($0).bytes }
  }

  /// Returns the origin (RFC 6454 6.1) of an accepted endpoint; `nil` if there is none.
  static func origin(of url: String) -> String? {
    guard url.hasPrefix("https://") else { return nil }
    var authority = url.dropFirst(8).prefix { !"/?#".contains($0) }
    if authority.hasSuffix(":443") { authority = authority.dropLast(4) }
    return authority.isEmpty ? nil : "https://" + authority.lowercased()
  }

  private func token(for origin: String, _ now: Int64) -> String? {
    tokens.state.withLock { state in
      if let known = state[origin], now < known.until - 3_600 { return known.text }
      let until = now + PushLimits.vapidSeconds
      guard let text = try? Self.token(key, origin, until, contact) else { return nil }
      if state.count >= PushLimits.vapidOriginsMax { state = [:] }
      state[origin] = (text, until)
      return text
    }
  }

  static func token(_ key: Key, _ origin: String, _ until: Int64, _ contact: String) throws -> String {
    try SignedToken.es256(
      key.key, claims: [("aud", .string(origin)), ("exp", .number("\(until)")), ("sub", .string(contact))])
  }

  static func encrypted(_ text: [UInt8], for keys: PushDevice.Keys) throws -> [UInt8] {
    // RFC 8292 3.2: not the signing key; RFC 8291 3.1: a new one for each message.
    try encrypted(text, for: keys, by: P256.KeyAgreement.PrivateKey(), salt: ContentEncoding.salt())
  }

  /// Encrypts a message (RFC 8291 3).
  static func encrypted(
    _ text: [UInt8], for keys: PushDevice.Keys, by sender: P256.KeyAgreement.PrivateKey, salt: [UInt8]
  ) throws -> [UInt8] {
    let receiver = try P256.KeyAgreement.PublicKey(x963Representation: keys.agreement)
    let own = Array(sender.publicKey.x963Representation)
    let material = try sender.sharedSecretFromKeyAgreement(with: receiver)
      .hkdfDerivedSymmetricKey(
        using: SHA256.self, salt: keys.secret, sharedInfo: Array("WebPush: info\0".utf8) + keys.agreement + own,
        outputByteCount: 32)
    return try ContentEncoding.aes128gcm(text, material, salt: salt, keyID: own)
  }

  static func outcome(of answer: WebAnswer) -> PushOutcome {
    switch answer.status {
    case 200..<300: .taken
    // RFC 8030 7.3; services also answer so after a user has ended the subscription.
    case 404, 410: .refused
    case 429: .unavailable(seconds: answer.retryAfter)
    // It concerns one user's URL: a registration that keeps failing is removed in the end.
    default: .failed
    }
  }
}

/// The encoding of RFC 8188 with one record, the most a push message may have (RFC 8291 4).
enum ContentEncoding {
  static let recordBytes = 4_096

  static func salt() -> [UInt8] { SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) } }

  static func aes128gcm(
    _ text: [UInt8], _ material: SymmetricKey, salt: [UInt8], keyID: [UInt8]
  ) throws -> [UInt8] {
    func derived(_ info: String, _ count: Int) -> SymmetricKey {
      HKDF<SHA256>.deriveKey(
        inputKeyMaterial: material, salt: salt, info: Array(info.utf8), outputByteCount: count)
    }
    let key = derived("Content-Encoding: aes128gcm\0", 16)
    // The first record's number is zero, which changes no bit.
    let nonce = try derived("Content-Encoding: nonce\0", 12).withUnsafeBytes { try AES.GCM.Nonce(data: $0) }
    // 2: the delimiter of the last record, and no padding.
    let sealed = try AES.GCM.seal(text + [2], using: key, nonce: nonce)
    let size = (0..<4).map { UInt8(truncatingIfNeeded: recordBytes >> (8 * (3 - $0))) }
    return salt + size + [UInt8(keyID.count)] + keyID + sealed.ciphertext + sealed.tag
  }
}
