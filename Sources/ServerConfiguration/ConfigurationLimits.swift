/// The bounds of the configuration, each with its reason. A value beyond its bound is an error. The ranges of numbers
/// are in `Keys`.
enum ConfigurationLimits {
  /// The maximum length of a configuration file in bytes.
  static let fileBytesMax = 1_048_576
  /// The maximum number of served domains: each needs a certificate and memory.
  static let domainsMax = 1_000
  /// The maximum number of names in one certificate, as Let's Encrypt has it.
  static let certifiedNamesMax = 100
  /// The maximum number of components, each a program beside the server.
  static let componentsMax = 32
  /// The maximum number of backends and providers that authenticate users.
  static let identitySourcesMax = 100
  /// The maximum number of STUN and TURN servers: each slows down ICE gathering in browsers.
  static let turnServersMax = 20
  /// The maximum number of contact addresses per role, which every answer to disco#info contains.
  static let contactAddressesMax = 10
  /// `sun_path` has 108 bytes, the last of which ends the string (unix(7)).
  static let socketPathBytesMax = 107
  /// The maximum length in bytes of an object that is put in one request (5 GiB for S3); the bound of `uploads.bytes`
  /// with a bucket.
  static let bucketObjectBytesMax = 5_368_709_120
  /// The maximum length of `tracing.service_name` in bytes: each batch of spans has it.
  static let serviceNameBytesMax = 128
  /// The minimum of `retention.account_days`, besides 0: users go on holiday.
  static let idleAccountDaysMin = 30
}
