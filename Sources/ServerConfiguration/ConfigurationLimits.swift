/// Every bound of the configuration: its number, why, and what happens at it.
enum ConfigurationLimits {
  /// Bytes of a configuration file. A larger one is no configuration file; it is refused.
  static let fileBytesMax = 1_048_576
  /// Served domains: each costs a certificate and its place in memory. More are a mistake in the configuration.
  static let domainsMax = 1_000
  /// Threads for connections. More than any machine has cores; above it the value is a mistake.
  static let threadsMax = 1_024
  /// How long a lost XMPP session may be resumed: a day; above it sessions would outlive what they wait for.
  static let resumeSecondsMax = 86_400
  /// Components: each is a program that somebody runs beside the server. More are a mistake in the configuration.
  static let componentsMax = 32
  /// How long credentials for a TURN server may count: a week. Longer ones could as well be passwords; above it the value
  /// is a mistake.
  static let turnSecondsMax = 604_800
  /// How long a call may ring: ten minutes. Above it the value is a mistake.
  static let ringSecondsMax = 600
  /// Backends, and providers, that vouch for users. More are a mistake in the configuration.
  static let vouchersMax = 100
  /// STUN and TURN servers: browsers gather more slowly with each. More are a mistake in the configuration.
  static let turnServersMax = 20
  /// Contact addresses of one role. They stand in every answer to disco#info; more are a mistake in the configuration.
  static let contactAddressesMax = 10
  /// The same of a client that a push can wake: a week, after which the archive serves it better.
  static let pushResumeSecondsMax = 604_800
  /// `sun_path` has 108 bytes, the last of which ends the string (unix(7)).
  static let socketPathBytesMax = 107
  /// Guests that may be configured: each is a user in memory and a row; above it the value is a mistake.
  static let guestsMax = 100_000
  /// Seconds that a guest without a session may be kept: a day.
  static let guestSecondsMax = 86_400
  /// Bytes of one file that may be configured: a terabyte; above it the value is a mistake.
  static let uploadBytesMax = 1 << 40
  /// Days that files may be kept: a century; for longer there is 0.
  static let uploadDaysMax = 36_500
  /// How long a scanner may be given: an upload waits for it.
  static let scanSecondsMax = 600
  /// Bytes of one object of a bucket that are put by one request (5 GiB for S3); a larger `uploads.bytes` is a mistake.
  static let bucketObjectBytesMax = 5_368_709_120
  /// Seconds that authors may be made to wait for `before_send.url`: longer, and people say it twice.
  static let beforeSendSecondsMax = 5
}
