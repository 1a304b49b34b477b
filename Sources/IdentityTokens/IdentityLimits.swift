/// Every bound of tokens of others: its number, why, and what happens at it.
public enum IdentityLimits {
  /// Bytes of a token: those of providers have 1 to 2 KiB. A longer one is `too-large`.
  public static let tokenBytesMax = 16_384
  /// Seconds by which clocks may differ (RFC 7519 4.1.4: no more than a few minutes).
  public static let skewSeconds: Int64 = 60
  /// Seconds between `iat` and `exp` of a backend's token. Its nonce ends sooner; longer ones are a mistake, and refused.
  public static let backendLifetimeMax: Int64 = 3_600
  /// The same of an ID token: providers give an hour. One of more than a day is refused.
  public static let providerLifetimeMax: Int64 = 86_400
  /// Bytes of `prn`: as many as what apps call users elsewhere (`Limits.externalIDBytesMax`). Longer is refused.
  public static let principalBytesMax = 256
  /// Bytes of `sub` (OpenID Connect Core 1.0, 2: 255 ASCII characters). Longer is refused.
  public static let subjectBytesMax = 255
  /// Bytes of a picture's address. A longer one counts as none.
  public static let pictureURLBytesMax = 2_048
  /// Bytes of an authorization code: those of providers have some 100. A longer one is refused.
  public static let codeBytesMax = 2_048
  /// Bytes of a provider's answer to a code, and of what it says of a user: some hundred. A longer one counts as none.
  public static let exchangeBytesMax = 65_536
  /// Audiences in one token. More are refused.
  public static let audiencesMax = 16

  /// Bytes of a secret (RFC 7518 3.2: as many as the hash has). A shorter one is a mistake in the configuration.
  public static let secretBytesMin = 32
  /// Bits of an RSA key: fewer are broken (RFC 7518 3.3), more cost too much per login. Such keys are not used.
  public static let rsaBits = 2_048...8_192
  /// Secrets, and public keys, of one backend: one that goes and one that comes, for each of some environments. More are a
  /// mistake in the configuration.
  public static let backendKeysMax = 8
  /// Keys of a set that are looked at; the rest is not.
  public static let keySetMax = 64
  /// Keys that a token without `kid` is tried with; providers with several name them (OpenID Connect Core 1.0, 10.1).
  public static let keysTriedMax = 8
  /// Bytes of a set of keys, and of a discovery document. Longer ones cannot be had.
  public static let documentBytesMax = 262_144

  // How long a set of keys is good. `Cache-Control` decides, between these; without one the one in the middle.
  public static let freshSecondsMin = 60
  public static let freshSecondsDefault = 3_600
  public static let freshSecondsMax = 86_400
  /// Seconds that keys are used on behind that time while no newer ones can be had.
  public static let staleSecondsMax: Int64 = 86_400
  /// Seconds between two attempts to fetch keys that are old.
  public static let retrySeconds: Int64 = 5
  /// Seconds between two attempts to find a key that is not in the set: anybody can name one.
  public static let unknownKeySeconds: Int64 = 30
}
