import Dialogs
import NIOCore

/// The bounds of this target, each with its reason and the behaviour when it is reached.
enum ServerLimits {
  /// The maximum length of a PEM file in bytes: a chain of ten certificates has about 20 KiB. A larger file is refused.
  static let certificateFileBytesMax = 1_048_576
  /// The maximum length of a file with a token key in bytes; ours have 32. A larger file is refused.
  static let keyBytesMax = 4_096
  /// The maximum length of a file with a key for pushes in bytes: a service account's has some 2,400. A larger file is
  /// refused.
  static let pushKeyBytesMax = 65_536

  /// The maximum length of a form in bytes: the longest name and password fit percent-encoded. A longer one is answered
  /// with 413.
  static let formBytesMax = 8_192
  /// The time that a command waits for a folder that another command holds, and for the beginning of an answer.
  static let lockWait: Duration = .seconds(10)
  static let lockPollInterval: Duration = .milliseconds(50)

  /// The interval of the removal of expired guests.
  static let guestSweepInterval: Duration = .seconds(5)
  /// The interval of retries of failed account tasks.
  static let accountTaskInterval: Duration = .seconds(60)
  /// The interval of the removal of expired files. They cannot be read from their expiry on.
  static let blobSweepInterval: Duration = .seconds(30)

  /// The maximum number of codes and links that are being delivered, in memory; further ones are dropped and logged.
  static let outgoingCodesMax = 1_000
  /// The waits before each attempt to deliver a code. Some mail servers defer unknown senders at first (greylisting);
  /// after more time a user has requested another code.
  static let outgoingCodeWaits: [Duration] = [.zero, .seconds(3), .seconds(15), .seconds(60)]
  /// The maximum length of a mail template in bytes. A larger file is refused.
  static let mailTemplateBytesMax = 65_536

  /// The time that a closed connection waits for the peer's `close_notify`. It is enough for the last bytes to arrive;
  /// the wait is not required (RFC 8446 6.1), and a stopping server waits for all connections.
  static let tlsCloseWait: TimeAmount = .seconds(1)
  /// The interval at which the certificate files are checked.
  static let certificatePollInterval: Duration = .seconds(30)
  /// The validity of a self-signed certificate in days: the maximum that the strictest clients accept.
  static let selfSignedDays = 825
  /// The remaining days at which a start creates a new certificate.
  static let selfSignedRenewalDays = 30

  /// The time for a graceful stop, after which the sockets are closed. Container engines kill after 10 s.
  static let stopWait: Duration = .seconds(8)
}
