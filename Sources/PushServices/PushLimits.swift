/// What pushes are bounded by.
public enum PushLimits {
  /// Bytes of a text and of a name in a notice, before what does not fit is left out: a notification shows some four lines.
  static let textBytesMax = 1_500
  static let nameBytesMax = 100
  /// Bytes of a payload that Apple takes, and of one for calls; larger ones are made smaller here.
  static let apnsBytesMax = 4_096
  static let apnsCallBytesMax = 5_120
  /// Bytes of data and notification that Google takes, less what is around them.
  static let fcmBytesMax = 3_800
  /// Bytes that every push service of the web takes, encrypted (RFC 8030 7.2), and what is left of them (RFC 8291 4).
  static let webPushBytesMax = 3_993
  /// How long a provider keeps a message for a device that is off: four weeks, the longest that Google and browsers take; and
  /// a call, which rings no longer.
  static let messageSeconds = 2_419_200
  static let callSeconds = 60
  /// The age at which a token for Apple is made anew: not sooner than 20 minutes, and not later than an hour.
  static let providerTokenSeconds: Int64 = 2_400
  /// How long a token for a browser's push service counts; at most a day (RFC 8292 2). It is made anew an hour before.
  static let vapidSeconds: Int64 = 43_200
  /// Origins whose tokens are remembered. Users name them: at the bound all are made anew.
  static let vapidOriginsMax = 1_000
  /// How long before its end Google's token is asked for anew.
  static let accessTokenMargin: Int64 = 300
  /// When a provider that has broken down is asked again, if it does not say: Apple wants a quarter of an hour.
  static let brokenSeconds = 900
  /// Between two lines of the log that say the same of a provider: every user's push would be one.
  static let complaintInterval: Duration = .seconds(60)
  /// Bytes of an answer: a reason.
  static let answerBytesMax = 16_384
}
