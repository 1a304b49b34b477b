extension Settings {
  /// The hook that sees messages before they are committed.
  public struct BeforeSend: Sendable, Hashable {
    public let url: String
    /// The secret that signs requests.
    public let secret: [UInt8]
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
    let url = text(.beforeSendURL)
    let secret = text(.beforeSendSecret)
    let seconds = number(.beforeSendSeconds, 1...ConfigurationLimits.beforeSendSecondsMax, "seconds")
    let passesUnanswered = passes(.beforeSendOnFailure)
    let passesEncrypted = passes(.beforeSendEncrypted)
    if url.isEmpty { return nil }
    let rest = url.hasPrefix("https://") ? url.dropFirst(8) : url.hasPrefix("http://") ? url.dropFirst(7) : ""
    if rest.isEmpty || rest.hasPrefix("/") || !url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) {
      mistake(.beforeSendURL, "a URL such as https://backend.example.org/before-send is expected")
    }
    let webhook = StandardWebhook(secret: secret)
    if webhook == nil {
      mistake(.beforeSendSecret, "whsec_ and 24 to 64 bytes in base 64 are expected")
    }
    return Settings.BeforeSend(
      url: url, secret: webhook?.key ?? [], timeout: .seconds(seconds), passesUnanswered: passesUnanswered,
      passesEncrypted: passesEncrypted)
  }

  private mutating func passes(_ key: Key) -> Bool {
    switch text(key).lowercased() {
    case "allow": return true
    case "refuse": return false
    default:
      mistake(key, "one of allow, refuse is expected")
      return false
    }
  }
}
