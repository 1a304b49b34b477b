import Dialogs
import NIOCore

/// Every bound of this target: its number, why, and what happens at it.
enum ServerLimits {
  /// Bytes of a PEM file: a chain of ten certificates has about 20 KiB. Larger is refused.
  static let certificateFileBytesMax = 1_048_576
  /// Bytes of the file that tokens are made with; ours has 32. Larger is refused.
  static let keyBytesMax = 4_096
  /// Bytes of a file with a key for pushes: a service account's has some 2,400. Larger is refused.
  static let pushKeyBytesMax = 65_536

  /// Bytes of a form on a page: the longest name and password fit percent-encoded. Above it: 413.
  static let formBytesMax = 8_192
  /// How long a command waits for a folder that another command holds, and for an answer to begin.
  static let lockWait: Duration = .seconds(10)
  static let lockPollInterval: Duration = .milliseconds(50)

  /// How often it is looked whose time is up.
  static let guestSweepInterval: Duration = .seconds(5)
  /// How often what is to be done for accounts, and has failed, is tried again.
  static let accountTaskInterval: Duration = .seconds(60)
  /// How often files whose time is over are removed. They are not given out from that time on.
  static let blobSweepInterval: Duration = .seconds(30)

  /// Letters (codes, links) that are under way, in memory; the next is dropped, and the log says so.
  static let lettersMax = 1_000
  /// Before each try to deliver a code. Some mail servers take nothing from strangers at first (greylisting); whoever waits
  /// longer for a code has asked for another.
  static let letterWaits: [Duration] = [.zero, .seconds(3), .seconds(15), .seconds(60)]
  /// Bytes of a mail's template. Larger is refused.
  static let mailTemplateBytesMax = 65_536

  /// How long a closed connection waits for the other end's `close_notify`; then it is gone. Enough for what was sent last to
  /// arrive; nobody has to wait for it (RFC 8446 6.1), and a server that stops waits for all of them.
  static let tlsCloseWait: TimeAmount = .seconds(1)
  /// How often the certificates' files are looked at.
  static let certificatePollInterval: Duration = .seconds(30)
  /// A self-signed certificate's days: as many as the strictest clients accept.
  static let selfSignedDays = 825
  /// Days before its end at which a start makes a new one.
  static let selfSignedRenewalDays = 30

  /// Bytes of a webhook's answer that are read; nothing in it is looked at. A longer one is a failure.
  static let hookAnswerBytesMax = 1_048_576
  /// Bytes of its answer: the longest text fits. A longer one is no answer.
  static let beforeSendAnswerBytesMax = 131_072
  /// Of a refusal: bytes of its code, and characters of its text, which is cut.
  static let refusalCodeBytesMax = 64
  static let refusalCharactersMax = 500

  /// How long a graceful stop may take before the sockets are closed anyway. Container engines kill after 10 s.
  static let stopWait: Duration = .seconds(8)
}
