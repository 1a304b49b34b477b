import AppProtocol
import Dialogs

/// Fetches what others publish, from the addresses of the configuration.
public protocol DocumentSource: Sendable {
  /// nil: it cannot be had.
  func document(at url: String, bytesMax: Int) async -> Document?
}

public struct Document: Sendable {
  public let bytes: [UInt8]
  /// Of the field `Cache-Control` (RFC 9111 5.2), and of `Age` (5.1).
  public let cacheControl: String?
  public let age: String?

  public init(_ bytes: [UInt8], cacheControl: String? = nil, age: String? = nil) {
    self.bytes = bytes
    self.cacheControl = cacheControl
    self.age = age
  }

  /// For how many seconds it may be used, within our own bounds.
  var freshSeconds: Int {
    let directives = (cacheControl ?? "").lowercased().split(separator: ",").map { $0.filter { !$0.isWhitespace } }
    if directives.contains("no-store") || directives.contains("no-cache") { return IdentityLimits.freshSecondsMin }
    guard let text = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst("max-age=".count),
      let seconds = Int(text)
    else { return IdentityLimits.freshSecondsDefault }
    let left = seconds.subtractingReportingOverflow(age.flatMap { Int($0) } ?? 0)
    return max(
      IdentityLimits.freshSecondsMin, min(IdentityLimits.freshSecondsMax, left.overflow ? 0 : left.partialValue))
  }
}

/// Keys that somebody publishes: fetched when they are needed, kept as long as they are good, fetched again when a token names
/// one that is not there, which is how keys are changed (OpenID Connect Core 1.0, 10.1.1).
actor RemoteKeys {
  /// Where they are.
  enum Place: Hashable, Sendable {
    /// A set of keys (RFC 7517 5).
    case keySet(String)
    /// An issuer who tells where (OpenID Connect Discovery 1.0, 4).
    case discovery(issuer: String)
  }

  private let place: Place
  private let documents: any DocumentSource
  private let clock: any Clock
  private var keys: [TokenKey] = []
  /// nil: never had.
  private var freshUntil: Timestamp?
  private var lastAttempt: Timestamp?
  /// One asks, the others wait for the same.
  private var running: Task<Void, Never>?

  init(_ place: Place, documents: any DocumentSource, clock: any Clock) {
    self.place = place
    self.documents = documents
    self.clock = clock
  }

  /// Those that may check this token; empty: whoever publishes them has none for it.
  ///
  /// - Throws: `.overloaded` where there are none at all.
  func keys(for token: SignedToken) async throws(Problem) -> [TokenKey] {
    if freshUntil.map({ $0 <= clock.now }) ?? true { await refresh(pause: IdentityLimits.retrySeconds) }
    var found = fitting(token)
    if found.isEmpty, isUsable {
      await refresh(pause: IdentityLimits.unknownKeySeconds)
      found = fitting(token)
    }
    guard isUsable else {
      throw Problem(
        .overloaded, "issuer-unreachable", "The keys of whoever made this token cannot be had. Try again shortly.",
        retryAfter: Int(IdentityLimits.retrySeconds))
    }
    return found
  }

  private var isUsable: Bool {
    guard let freshUntil else { return false }
    return clock.now < freshUntil + .seconds(IdentityLimits.staleSecondsMax)
  }

  private func fitting(_ token: SignedToken) -> [TokenKey] {
    let fitting = keys.filter { $0.algorithm == token.algorithm && (token.keyID == nil || $0.id == token.keyID) }
    return Array(fitting.prefix(IdentityLimits.keysTriedMax))
  }

  /// Nothing where it was tried less than so many seconds ago.
  private func refresh(pause: Int64) async {
    if let running { return await running.value }
    let now = clock.now
    if let lastAttempt, now < lastAttempt + .seconds(pause) { return }
    lastAttempt = now
    let task = Task { await fetch() }
    running = task
    await task.value
    running = nil
  }

  private func fetch() async {
    guard let address = await address(),
      let document = await documents.document(at: address, bytesMax: IdentityLimits.documentBytesMax),
      let found = TokenKey.set(document.bytes), !found.isEmpty
    else { return }
    keys = found
    freshUntil = clock.now + .seconds(document.freshSeconds)
  }

  private func address() async -> String? {
    switch place {
    case .keySet(let address): return address
    case .discovery(let issuer):
      let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
      let address = base + "/.well-known/openid-configuration"
      guard
        let document = await documents.document(at: address, bytesMax: IdentityLimits.documentBytesMax),
        let value = try? JSONValue(parsing: document.bytes),
        // 4.3: it speaks for exactly this issuer.
        value["issuer"]?.string == issuer, let keySet = value["jwks_uri"]?.string, Self.isSafe(keySet, beside: issuer)
      else { return nil }
      return keySet
    }
  }

  /// Keys come over TLS, unless their issuer itself does without (which the configuration allows on this machine only).
  private static func isSafe(_ url: String, beside issuer: String) -> Bool {
    url.hasPrefix("https://") || issuer.hasPrefix("http://") && url.hasPrefix("http://")
  }
}
