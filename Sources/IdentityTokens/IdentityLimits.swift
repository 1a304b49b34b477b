/// The bounds of tokens from others. Each states its number, its reason and what happens at it.
public enum IdentityLimits {
  /// The bytes of a token: those of providers have 1 to 2 KiB. A longer one is `too-large`.
  public static let tokenBytesMax = 16_384
  /// The seconds by which clocks may differ (RFC 7519 4.1.4: no more than a few minutes).
  public static let skewSeconds: Int64 = 60
  /// The seconds between `iat` and `exp` of a backend's token. Its nonce ends sooner; longer ones are a mistake, and
  /// refused.
  public static let backendLifetimeMax: Int64 = 3_600
  /// The same for an ID token: providers give an hour. One of more than a day is refused.
  public static let providerLifetimeMax: Int64 = 86_400
  /// The bytes of `prn`: as many as apps' external ids have (`Limits.externalIDBytesMax`). A longer one is refused.
  public static let principalBytesMax = 256
  /// The bytes of `sub` (OpenID Connect Core 1.0, 2: 255 ASCII characters). A longer one is refused.
  public static let subjectBytesMax = 255
  /// The bytes of a picture's URL. A longer one is ignored.
  public static let pictureURLBytesMax = 2_048
  /// The bytes of an authorization code: those of providers have some 100. A longer one is refused.
  public static let codeBytesMax = 2_048
  /// The bytes of a provider's answer to a code, and of its description of a user: some hundred. A longer one is
  /// ignored.
  public static let exchangeBytesMax = 65_536
  /// The audiences in one token. More are refused.
  public static let audiencesMax = 16

  /// The least bytes of a secret (RFC 7518 3.2: as many as the hash has). A shorter one is an error in the
  /// configuration.
  public static let secretBytesMin = 32
  /// The bits of an RSA key: fewer are broken (RFC 7518 3.3), more cost too much per login. Other keys are not used.
  public static let rsaBits = 2_048...8_192
  /// The secrets, and public keys, of one backend: an old and a new one for each of some environments. More are an
  /// error in the configuration.
  public static let backendKeysMax = 8
  /// The keys of a set that are read; the rest is ignored.
  public static let keySetMax = 64
  /// The keys that a token without `kid` is tried with; providers with several name them (OpenID Connect Core 1.0,
  /// 10.1).
  public static let keysTriedMax = 8
  /// The bytes of a set of keys, and of a discovery document. Longer ones count as unavailable.
  public static let documentBytesMax = 262_144

  // The seconds for which a set of keys is fresh: `Cache-Control` decides, within these bounds, or else the default.
  public static let freshSecondsMin = 60
  public static let freshSecondsDefault = 3_600
  public static let freshSecondsMax = 86_400
  /// The seconds for which stale keys are still used while no newer ones can be fetched.
  public static let staleSecondsMax: Int64 = 86_400
  /// The seconds between two attempts to fetch stale keys.
  public static let retrySeconds: Int64 = 5
  /// The seconds between two attempts to find a key that is not in the set: any client can name one.
  public static let unknownKeySeconds: Int64 = 30
}
