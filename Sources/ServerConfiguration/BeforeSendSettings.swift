public import WebClient

extension Settings {
  /// The hook that sees messages before they are committed.
  public struct BeforeSend: Sendable, Hashable {
    public let url: String
    public let signer: WebhookSigner
    /// The maximum time that an author waits.
    public let timeout: Duration
    /// Whether a message passes if the hook does not answer.
    public let passesUnanswered: Bool
    /// Whether an encrypted message passes.
    public let passesEncrypted: Bool
  }
}

extension SettingsReader {
  /// Reads the hook; nil if none is configured.
  mutating func beforeSend() -> Settings.BeforeSend? {
    let url = read(keys.beforeSendURL)
    let secret = read(keys.beforeSendSecret)
    let timeout = read(keys.beforeSendSeconds)
    let passesUnanswered = read(keys.beforeSendOnFailure) == .allow
    let passesEncrypted = read(keys.beforeSendEncrypted) == .allow
    if url.isEmpty { return nil }
    if !Host.isWebURL(url) || url.hasPrefix("http:///") || url.hasPrefix("https:///") {
      reject(keys.beforeSendURL, "a URL such as https://backend.example.org/before-send is expected")
    }
    let signer = WebhookSigner(secret: secret)
    if signer == nil { rejectSecret(keys.beforeSendSecret, of: keys.beforeSendURL) }
    return Settings.BeforeSend(
      url: url, signer: signer ?? WebhookSigner(keys: []), timeout: timeout, passesUnanswered: passesUnanswered,
      passesEncrypted: passesEncrypted)
  }
}
