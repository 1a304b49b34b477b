public struct AccountRecord: Sendable, Equatable, Codable {
  public var jid: String
  public var password: String?
  public var scram: [SCRAMRecord]
  public var isDisabled: Bool

  public init(jid: String, password: String? = nil, scram: [SCRAMRecord] = [], isDisabled: Bool = false) {
    self.isDisabled = isDisabled
    self.jid = jid
    self.password = password
    self.scram = scram
  }
}

/// The keys of a password for one mechanism (RFC 5802 3); bytes are in base 64.
public struct SCRAMRecord: Sendable, Equatable, Codable {
  /// The mechanism, such as `SCRAM-SHA-1`.
  public var mechanism: String
  public var iterations: Int
  public var salt: String
  public var storedKey: String
  public var serverKey: String

  public init(mechanism: String, iterations: Int, salt: String, storedKey: String, serverKey: String) {
    self.mechanism = mechanism
    self.iterations = iterations
    self.salt = salt
    self.storedKey = storedKey
    self.serverKey = serverKey
  }
}
