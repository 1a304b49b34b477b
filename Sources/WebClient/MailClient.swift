import CCurl
import Dispatch
import Glibc
import Synchronization

/// A mail on its way to the operator's mail server.
public struct Mail: Sendable {
  /// The addresses alone, without names.
  public var from: String
  public var to: String
  /// Header and body, lines ended by CRLF (RFC 5322).
  public var message: [UInt8]

  public init(from: String, to: String, message: [UInt8]) {
    self.from = from
    self.to = to
    self.message = message
  }
}

/// Sends mail to one mail server over SMTP (libcurl), with a connection for each mail: they are few.
public final class MailClient: Sendable {
  public struct Server: Hashable, Sendable {
    /// `smtps://host:465` (TLS from the beginning, RFC 8314 3.3) or `smtp://host:587` (STARTTLS, RFC 3207).
    public var url: String
    public var user: String?
    public var password: String?
    /// Whether mail, and the password, may go to an `smtp` server that offers no STARTTLS.
    public var allowsPlaintext: Bool
    public init(url: String, user: String?, password: String?, allowsPlaintext: Bool) {
      self.url = url
      self.user = user
      self.password = password
      self.allowsPlaintext = allowsPlaintext
    }
  }

  private let server: Server
  private let authorities: String?
  /// The queues of a few threads, which wait for the other server.
  private let queues: [DispatchQueue]
  private let next = Atomic<Int>(0)

  public init(_ server: Server, authorities: String? = nil) {
    precondition(WebClient.isBegun, "libcurl does not start")
    self.server = server
    self.authorities = authorities
    queues = (0..<WebLimits.mailsAtOnce).map { DispatchQueue(label: "parley.mail.\($0)") }
  }

  /// Sends a mail. Returns when the server has accepted it.
  ///
  /// - Throws: `.refused` if the server refuses this mail permanently; otherwise it may be tried again.
  public func send(_ mail: Mail) async throws(WebFailure) {
    let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
    let queue = queues[Int(UInt(bitPattern: index) % UInt(queues.count))]
    let result: Result<Void, WebFailure> = await withCheckedContinuation { continuation in
      queue.async { [self] in
        continuation.resume(returning: Result { () throws(WebFailure) in try hand(mail) })
      }
    }
    try result.get()
  }

  /// Sends a mail, blocking the thread.
  private func hand(_ mail: Mail) throws(WebFailure) {
    guard [mail.from, mail.to, server.url].allSatisfy({ $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } }) else {
      throw WebFailure(.malformed, "An address of the mail is none.")
    }
    guard let easy = curl_easy_init() else { throw WebFailure(.overloaded, "There is no memory for a mail.") }
    defer { curl_easy_cleanup(easy) }
    func set(_ option: CURLoption, _ value: Int) { _ = parley_curl_set_long(easy, option, value) }
    func set(_ option: CURLoption, _ value: String) { _ = parley_curl_set_string(easy, option, value) }
    set(CURLOPT_URL, server.url)
    set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_TIMEOUT_MS, Int(WebLimits.mailTimeout.components.seconds) * 1_000)
    set(CURLOPT_CONNECTTIMEOUT_MS, Int(WebLimits.connectTimeout.components.seconds) * 1_000)
    // A proxy for the web has nothing to do with mail.
    set(CURLOPT_PROXY, "")
    // TLS that is offered must be valid, even where it is not required.
    set(CURLOPT_USE_SSL, Int(server.allowsPlaintext ? CURLUSESSL_TRY.rawValue : CURLUSESSL_ALL.rawValue))
    if let authorities { set(CURLOPT_CAINFO, authorities) }
    if let user = server.user { set(CURLOPT_USERNAME, user) }
    if let password = server.password { set(CURLOPT_PASSWORD, password) }
    set(CURLOPT_MAIL_FROM, "<\(mail.from)>")
    let recipients = curl_slist_append(nil, "<\(mail.to)>")
    defer { curl_slist_free_all(recipients) }
    _ = parley_curl_set_list(easy, CURLOPT_MAIL_RCPT, recipients)
    set(CURLOPT_UPLOAD, 1)
    let source = Source(mail.message)
    _ = parley_curl_set_read(easy, CURLOPT_READFUNCTION) { bytes, size, count, source in
      guard let source, let bytes else { return Int(CURL_READFUNC_ABORT) }
      return Unmanaged<Source>.fromOpaque(source).takeUnretainedValue()
        .give(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }
    _ = parley_curl_set_pointer(easy, CURLOPT_READDATA, Unmanaged.passUnretained(source).toOpaque())
    // The server's texts are not used.
    _ = parley_curl_set_write(easy, CURLOPT_WRITEFUNCTION) { _, size, count, _ in size * count }
    let code = withExtendedLifetime(source) { curl_easy_perform(easy) }
    guard code != CURLE_OK else { return }
    var status = 0
    _ = parley_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
    let said = status > 0 ? " (\(status))" : ""
    // RFC 5321 4.2.1: after 5yz a repetition is useless.
    throw WebFailure(
      (500..<600).contains(status) ? .refused : .unreachable, String(cString: curl_easy_strerror(code)) + said)
  }

  private final class Source {
    private let bytes: [UInt8]
    private var given = 0
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func give(_ part: UnsafeMutableRawBufferPointer) -> Int {
      let count = min(part.count, bytes.count - given)
      part.copyBytes(from: bytes[given..<given + count])
      given += count
      return count
    }
  }
}
