import Basics
import Dialogs
import JSON

/// Fetches documents that others publish, from the URLs of the configuration.
public protocol DocumentSource: Sendable {
  /// Returns a document; `nil` if it cannot be fetched.
  func document(at url: String, bytesMax: Int) async -> Document?
}

public struct Document: Sendable {
  public let bytes: [UInt8]
  /// The fields `Cache-Control` (RFC 9111 5.2) and `Age` (5.1).
  public let cacheControl: String?
  public let age: String?

  public init(_ bytes: [UInt8], cacheControl: String? = nil, age: String? = nil) {
    self.bytes = bytes
    self.cacheControl = cacheControl
    self.age = age
  }

  /// The seconds for which it may be used, within `IdentityLimits`.
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

/// The published keys of an issuer: fetched when they are needed, cached while they are fresh, and fetched again if a
/// token names one that is not there, which is how keys are changed (OpenID Connect Core 1.0, 10.1.1).
actor RemoteKeys {
  /// The place of the keys.
  enum Place: Hashable, Sendable {
    /// A set of keys (RFC 7517 5).
    case keySet(String)
    /// An issuer whose discovery document names it (OpenID Connect Discovery 1.0, 4).
    case discovery(issuer: String)
  }

  private let place: Place
  private let documents: any DocumentSource
  private let clock: any Clock
  private var keys: [TokenKey] = []
  /// The end of their freshness; `nil` if they were never fetched.
  private var freshUntil: Timestamp?
  private var lastAttempt: Timestamp?
  /// The running fetch, which all callers wait for.
  private var running: Task<Void, Never>?

  init(_ place: Place, documents: any DocumentSource, clock: any Clock) {
    self.place = place
    self.documents = documents
    self.clock = clock
  }

  /// Returns the keys that may verify this token; empty if the issuer publishes none for it.
  ///
  /// - Throws: `.overloaded` if there are no keys at all.
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

  /// Fetches the keys, unless the last attempt was less than this many seconds ago.
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

  /// Returns whether keys come over TLS, unless their issuer itself does not use it (which the configuration allows on
  /// this machine only).
  private static func isSafe(_ url: String, beside issuer: String) -> Bool {
    url.hasPrefix("https://") || issuer.hasPrefix("http://") && url.hasPrefix("http://")
  }
}
