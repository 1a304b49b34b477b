import Dialogs

/// The bounds of pushes.
public enum PushLimits {
  /// The time between two publications for one user; later messages are combined.
  static let interval: Duration = .seconds(1)
  /// Users whose services are called at the same time; the others wait.
  static let usersAtOnceMax = 256
  /// The endpoints of web push and UnifiedPush in one publication for a user; the others follow in the next ones. Their servers may let
  /// each request run into its timeout, and the connections to all of them are `WebLimits.connectionsMax`.
  static let givenAtOnceMax = 4
  /// The time for which a new registration rests with a failed one at the same origin that it replaces: whoever registers again and
  /// again gets no more attempts, and whoever has mended their server need not wait for `retryMax`.
  static let inheritedRestMax: Duration = .seconds(60)
  /// The registrations of a user that were replaced, and with whose rests new ones rest: as many as a user may have. Of more the
  /// latest ones count.
  static let formerRestsMax = Limits.pushRegistrationsMax
  /// The wait before a failed publication is tried again, doubled each time up to the second.
  static let retry: Duration = .seconds(5)
  static let retryMax: Duration = .seconds(21_600)
  /// Items of a roster, with removed ones, among which a publication counts the requests that wait for an answer: the newest, as a roster
  /// has 10,000 items, which would take some 20 ms for each publication. Requests behind them are not in the number.
  static let requestLooksMax = 1_000
  /// Dialogs and calls in one publication to a device, the newest; the badge counts the others too.
  public static let noticesMax = 10
  /// The bytes of a text and of a name in a notice; the rest is cut off: a notification shows some four lines.
  static let textBytesMax = 1_500
  static let nameBytesMax = 100
  /// The bytes of a payload that Apple accepts, and of one for calls; larger ones are shortened here.
  static let apnsBytesMax = 4_096
  static let apnsCallBytesMax = 5_120
  /// The bytes of data and notification that Google accepts, less their envelope.
  static let fcmBytesMax = 3_800
  /// The bytes that every web push service accepts, encrypted (RFC 8030 7.2), less the encryption (RFC 8291 4).
  static let webPushBytesMax = 3_993
  /// The seconds for which a provider keeps a message for a device that is off: four weeks, the longest that Google and
  /// browsers accept; and a call, which rings no longer.
  static let messageSeconds = 2_419_200
  static let callSeconds = 60
  /// The age at which a token for Apple is renewed, in seconds: at least 20 minutes, at most an hour.
  static let providerTokenSeconds: Int64 = 2_400
  /// The seconds for which a token for a browser's push service is valid; at most a day (RFC 8292 2). It is renewed an
  /// hour before.
  static let vapidSeconds: Int64 = 43_200
  /// The origins whose tokens are cached. Users name them: at the bound the cache is emptied.
  static let vapidOriginsMax = 1_000
  /// The seconds before its end at which Google's token is renewed.
  static let accessTokenMargin: Int64 = 300
  /// The seconds after which a broken provider is tried again, if it does not say: Apple asks for a quarter of an hour.
  static let brokenSeconds = 900
  /// The time between two log lines with the same problem of a provider: otherwise every push would log one.
  static let warningInterval: Duration = .seconds(60)
  /// The lines with different problems in that time; further ones are counted in the next line. Users name the servers
  /// of web push, and so decide how many there are.
  static let warningsMax = 8
  /// The bytes of an answer: a reason.
  static let answerBytesMax = 16_384
}
