import Basics
import CCurl
import Glibc

/// One exchange with its libcurl state. The caller creates it; after its submission only the client's thread uses it,
/// except for `completion`, which is set before.
final class Transfer: @unchecked Sendable {
  private let request: WebRequest
  private let addresses: PublicAddresses?
  private let authorities: String?
  var completion: (@Sendable (Result<WebAnswer, WebFailure>) -> Void)?
  var isCancelled = false
  /// The handle while it runs.
  private(set) var easy: UnsafeMutableRawPointer?
  private var lines: UnsafeMutablePointer<curl_slist>?

  private var file: Int32 = -1
  private var sent = 0
  private var headers: [(name: String, value: String)] = []
  private var headerBytes = 0
  private var body: [UInt8] = []
  /// The reason why it was aborted here.
  private var failure: WebFailure?

  init(_ request: WebRequest, addresses: PublicAddresses?, authorities: String?) {
    self.request = request
    self.addresses = addresses
    self.authorities = authorities
  }

  // MARK: Beginning

  /// Prepares the exchange.
  ///
  /// - Returns: libcurl's handle, for its multi handle.
  func begin() throws(WebFailure) -> UnsafeMutableRawPointer {
    guard request.url.utf8.count <= WebLimits.urlBytesMax else {
      throw WebFailure(.malformed, "The URL is longer than \(WebLimits.urlBytesMax) bytes.")
    }
    guard request.headers.allSatisfy({ Self.isLine($0.name) && Self.isLine($0.value) }), Self.isLine(request.url) else {
      throw WebFailure(.malformed, "A header field or the URL has a line break.")
    }
    guard let easy = curl_easy_init() else { throw WebFailure(.overloaded, "There is no memory for a request.") }
    self.easy = easy
    set(CURLOPT_URL, request.url)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_NOSIGNAL, 1)
    parley_curl_set_quick_exit(easy)
    set(CURLOPT_TIMEOUT_MS, Self.milliseconds(request.timeout))
    set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(WebLimits.connectTimeout))
    set(CURLOPT_HTTP_VERSION, request.prefersHTTP2 ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1))
    // Waits for a connection that can be shared rather than opening another.
    if request.prefersHTTP2 { set(CURLOPT_PIPEWAIT, 1) }
    if let authorities { set(CURLOPT_CAINFO, authorities) }
    let me = Unmanaged.passUnretained(self).toOpaque()
    if addresses != nil {
      // A proxy would look up the name itself.
      set(CURLOPT_PROXY, "")
      _ = parley_curl_set_open(easy, CURLOPT_OPENSOCKETFUNCTION) { me, _, address in
        guard let me, let address else { return CURL_SOCKET_BAD }
        return Unmanaged<Transfer>.fromOpaque(me).takeUnretainedValue().open(address)
      }
      _ = parley_curl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, me)
    }
    _ = parley_curl_set_write(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, me in
      guard let me, let bytes else { return 0 }
      let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return Unmanaged<Transfer>.fromOpaque(me).takeUnretainedValue().receive(part) ? size * count : 0
    }
    _ = parley_curl_set_pointer(easy, CURLOPT_WRITEDATA, me)
    _ = parley_curl_set_write(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, me in
      guard let me, let bytes else { return 0 }
      let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return Unmanaged<Transfer>.fromOpaque(me).takeUnretainedValue().receive(header: line) ? size * count : 0
    }
    _ = parley_curl_set_pointer(easy, CURLOPT_HEADERDATA, me)
    do throws(WebFailure) {
      try setMethod(easy, me)
    } catch {
      finish()
      throw error
    }
    for header in request.headers { lines = curl_slist_append(lines, "\(header.name): \(header.value)") }
    // The body is sent without asking first. In a signed request libcurl would sign the omitted field.
    if request.signing == nil { lines = curl_slist_append(lines, "Expect:") }
    _ = parley_curl_set_list(easy, CURLOPT_HTTPHEADER, lines)
    if let signing = request.signing {
      set(CURLOPT_AWS_SIGV4, "aws:amz:\(signing.region):\(signing.service)")
      set(CURLOPT_USERPWD, "\(signing.accessKey):\(signing.secretKey)")
    }
    return easy
  }

  private func setMethod(_ easy: UnsafeMutableRawPointer, _ me: UnsafeMutableRawPointer) throws(WebFailure) {
    switch request.method {
    case .get: set(CURLOPT_HTTPGET, 1)
    case .head: set(CURLOPT_NOBODY, 1)
    case .post, .put, .delete: set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
    }
    let count: Int64
    switch request.body {
    case .none:
      guard request.method == .post || request.method == .put else { return }
      count = 0
    case .bytes(let bytes): count = Int64(bytes.count)
    case .file(let path, let size):
      file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { throw WebFailure(.malformed, "The file \(path) cannot be read.") }
      count = size
    }
    if case .file = request.body {
      set(CURLOPT_UPLOAD, 1)
      set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
      _ = parley_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(count))
      _ = parley_curl_set_read(easy, CURLOPT_READFUNCTION) { bytes, size, count, me in
        guard let me, let bytes else { return Int(CURL_READFUNC_ABORT) }
        let part = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        return Unmanaged<Transfer>.fromOpaque(me).takeUnretainedValue().give(part)
      }
      _ = parley_curl_set_pointer(easy, CURLOPT_READDATA, me)
    } else {
      _ = parley_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(count))
      // Copied, with the size that was just set.
      if case .bytes(let bytes) = request.body, !bytes.isEmpty {
        bytes.withUnsafeBytes { bytes in
          _ = parley_curl_set_pointer(
            easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }
      } else {
        set(CURLOPT_COPYPOSTFIELDS, "")
      }
    }
  }

  private func set(_ option: CURLoption, _ value: Int) { _ = parley_curl_set_long(easy, option, value) }
  private func set(_ option: CURLoption, _ value: String) { _ = parley_curl_set_string(easy, option, value) }

  private static func isLine(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }

  private static func milliseconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    return max(1, Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000))
  }

  // MARK: Under way

  private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    guard let plain = Self.address(address), addresses?.allows(plain) != false else {
      failure = WebFailure(.forbidden, "The URL leads to an address that is not public.")
      return CURL_SOCKET_BAD
    }
    return socket(
      address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
  }

  private static func address(_ address: UnsafeMutablePointer<curl_sockaddr>) -> IPAddress? {
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    let start = UnsafeRawPointer(address) + offset
    switch address.pointee.family {
    case AF_INET:
      var found = start.loadUnaligned(as: sockaddr_in.self).sin_addr
      return withUnsafeBytes(of: &found) { IPAddress(bytes: $0) }
    case AF_INET6:
      var found = start.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      return withUnsafeBytes(of: &found) { IPAddress(bytes: $0) }
    default: return nil
    }
  }

  private func give(_ part: UnsafeMutableRawBufferPointer) -> Int {
    guard case .file(_, let size) = request.body else { return Int(CURL_READFUNC_ABORT) }
    let wanted = min(part.count, Int(size) - sent)
    if wanted == 0 { return 0 }
    let count = pread(file, part.baseAddress, wanted, off_t(sent))
    guard count > 0 else { return Int(CURL_READFUNC_ABORT) }
    sent += count
    return count
  }

  private func receive(_ part: UnsafeRawBufferPointer) -> Bool {
    guard body.count + part.count <= request.answerBytesMax else {
      failure = WebFailure(.tooLarge, "The answer is longer than \(request.answerBytesMax) bytes.")
      return false
    }
    body.append(contentsOf: part)
    return true
  }

  private func receive(header line: UnsafeRawBufferPointer) -> Bool {
    headerBytes += line.count
    guard headerBytes <= WebLimits.headerBytesMax else {
      failure = WebFailure(.tooLarge, "The answer's header is longer than \(WebLimits.headerBytesMax) bytes.")
      return false
    }
    let text = String(decoding: line, as: UTF8.self)
    // A status line: the fields of an interim answer before it are dropped.
    if text.hasPrefix("HTTP/") {
      headers = []
    } else if let colon = text.firstIndex(of: ":") {
      headers.append((text[..<colon].lowercased(), Self.trimmed(text[text.index(after: colon)...])))
    }
    return true
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while let last = text.last, last.isWhitespace { text.removeLast() }
    while let first = text.first, first.isWhitespace { text.removeFirst() }
    return String(text)
  }

  // MARK: The end

  func result(_ code: CURLcode) -> Result<WebAnswer, WebFailure> {
    guard code == CURLE_OK else {
      if let failure { return .failure(failure) }
      let kind: WebFailure.Kind =
        switch code {
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT: .malformed
        case CURLE_PEER_FAILED_VERIFICATION: .untrusted
        default: .unreachable
        }
      return .failure(WebFailure(kind, String(cString: curl_easy_strerror(code))))
    }
    var status = 0
    _ = parley_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
    return .success(WebAnswer(status: status, headers: headers, body: body))
  }

  /// Frees all resources.
  func finish() {
    if let easy { curl_easy_cleanup(easy) }
    curl_slist_free_all(lines)
    if file >= 0 { close(file) }
    (easy, lines, file) = (nil, nil, -1)
  }
}
