/// The bounds of this target, each with its reason and the behaviour when it is reached.
package enum ACMELimits {
  /// The names of one certificate, as many as Let's Encrypt allows. A configuration with more is refused.
  package static let namesMax = 100
  /// The orders of one attempt: one for all names, and further ones without those that failed. The attempt then fails.
  static let ordersPerAttemptMax = 3
  /// The orders within 24 hours, also over restarts; far below the rates of public authorities. Later attempts wait.
  package static let ordersPerDayMax = 10
  /// The number of times that a request is repeated with another nonce. Authorities reject nonces after a restart of
  /// theirs; one that rejects so many in a row is told of as failing.
  static let nonceRetriesMax = 10
  /// The seconds between two questions whether the authority is done, whatever it asks for, and in all; then the
  /// attempt fails, and a later one finds what has been validated meanwhile.
  static let pollSeconds = 1...30
  static let pollSecondsMax = 300
  /// The characters of an error's text that are kept and shown.
  static let textMax = 1_000
  /// The seconds until an attempt after a failure, doubled with each: if the authority does not answer, and if it
  /// refuses. Let's Encrypt permits five failed validations of a name within an hour.
  static let unreachableSeconds = 5
  static let refusedSeconds = 600
  static let backoffSecondsMax = 86_400
  /// The seconds between two questions when to renew, whatever the authority asks for (RFC 9773 4.3.2); and if it asks for
  /// nothing, or after a failure that is not temporary (4.3.3).
  static let renewalCheckSeconds = 60...86_400
  static let renewalCheck = 21_600
  /// The number of times that the question is repeated soon after a temporary failure.
  static let renewalRetriesMax = 5
  /// The longest wait that an authority may ask for; a longer one counts as a mistake.
  static let retryAfterMax = 7 * 86_400
}
