/// The bounds of the configuration, each with its reason. A value beyond its bound is an error.
enum ConfigurationLimits {
  /// The maximum length of a configuration file in bytes.
  static let fileBytesMax = 1_048_576
  /// The maximum number of served domains: each needs a certificate and memory.
  static let domainsMax = 1_000
  /// The maximum number of threads for connections, more than the cores of any machine.
  static let threadsMax = 1_024
  /// The maximum time in which a lost XMPP session can be resumed: a day.
  static let resumeSecondsMax = 86_400
  /// The maximum number of components, each a program beside the server.
  static let componentsMax = 32
  /// The maximum validity of credentials for a TURN server: a week. Longer ones would be as good as passwords.
  static let turnSecondsMax = 604_800
  /// The maximum time that a call may ring: ten minutes.
  static let ringSecondsMax = 600
  /// The maximum number of backends and providers that authenticate users.
  static let vouchersMax = 100
  /// The maximum number of STUN and TURN servers: each slows down ICE gathering in browsers.
  static let turnServersMax = 20
  /// The maximum number of contact addresses per role, which every answer to disco#info contains.
  static let contactAddressesMax = 10
  /// The maximum time in which a session of a client that a push can wake can be resumed: a week, after which the
  /// archive serves it better.
  static let pushResumeSecondsMax = 604_800
  /// `sun_path` has 108 bytes, the last of which ends the string (unix(7)).
  static let socketPathBytesMax = 107
  /// The maximum number of guests, each a user in memory and a row.
  static let guestsMax = 100_000
  /// The maximum time that a guest without a session is kept: a day.
  static let guestSecondsMax = 86_400
  /// The maximum length of a file in bytes: a terabyte.
  static let uploadBytesMax = 1 << 40
  /// The maximum time that files are kept: a century; 0 means without limit.
  static let uploadDaysMax = 36_500
  /// The maximum time of a scan, for which an upload waits.
  static let scanSecondsMax = 600
  /// The maximum length in bytes of an object that is put in one request (5 GiB for S3); the bound of `uploads.bytes`
  /// with a bucket.
  static let bucketObjectBytesMax = 5_368_709_120
  /// The maximum time that authors wait for `before_send.url`; after longer waits users send messages twice.
  static let beforeSendSecondsMax = 5
}
