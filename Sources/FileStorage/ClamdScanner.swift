import Basics
import Dialogs
import Glibc

/// A scanner that uses clamd of ClamAV over its socket, with `zINSTREAM`: chunks, each with its length in four octets
/// in network order, and an empty chunk at the end; the answer ends with a NUL (clamd(8)).
struct ClamdScanner: BlobScanner {
  let address: ClamdAddress
  let time: Duration

  func scan(_ path: String) throws(ScanFailure) -> ScanVerdict {
    let end = ContinuousClock.now + time
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw ScanFailure("the file cannot be read: \(Files.reason(errno))") }
    defer { close(file) }
    let connection = try connect(until: end)
    defer { close(connection) }
    var isSent = try send(Array("zINSTREAM\0".utf8), over: connection, until: end)
    var place: Int64 = 0
    while isSent {
      let piece: [UInt8]
      do throws(BlobFailure) {
        piece = try Spool.read(file, at: place, count: StorageLimits.scanPieceBytes)
      } catch { throw ScanFailure("the file cannot be read: \(error)") }
      place += Int64(piece.count)
      let length = withUnsafeBytes(of: UInt32(piece.count).bigEndian) { Array($0) }
      // clamd closes the connection early after a finding; its answer can still be read.
      isSent = try send(length + piece, over: connection, until: end)
      if piece.isEmpty { break }
    }
    return try Self.verdict(try answer(over: connection, until: end))
  }

  static func verdict(_ answer: String) throws(ScanFailure) -> ScanVerdict {
    let text = answer.hasPrefix("stream: ") ? answer.dropFirst("stream: ".count) : Substring(answer)
    if text == "OK" { return .clean }
    if text.hasSuffix(" FOUND") { return .refused(Line.safe(String(text.dropLast(" FOUND".count)))) }
    throw ScanFailure("clamd answers: \(Line.safe(String(text)))")
  }

  // MARK: The socket

  private func connect(until end: ContinuousClock.Instant) throws(ScanFailure) -> Int32 {
    switch address {
    case .unix(let path):
      var place = sockaddr_un()
      place.sun_family = sa_family_t(AF_UNIX)
      let isCopied = withUnsafeMutableBytes(of: &place.sun_path) { room in
        guard path.utf8.count < room.count else { return false }
        room.copyBytes(from: path.utf8)
        return true
      }
      guard isCopied else { throw ScanFailure("the path of clamd's socket is too long") }
      let connection = try open(AF_UNIX, until: end)
      let code = withUnsafePointer(to: &place) { place in
        place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(connection, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      guard code == 0 else { throw Self.failed(connection, "clamd cannot be reached") }
      return connection
    case .tcp(let host, let port):
      var hints = addrinfo()
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      var list: UnsafeMutablePointer<addrinfo>?
      guard getaddrinfo(host, "\(port)", &hints, &list) == 0, let first = list else {
        throw ScanFailure("clamd's host \(host) is not known")
      }
      defer { freeaddrinfo(first) }
      var next: UnsafeMutablePointer<addrinfo>? = first
      var failure = ScanFailure("clamd cannot be reached")
      while let found = next {
        next = found.pointee.ai_next
        let connection = try open(found.pointee.ai_family, until: end)
        if Glibc.connect(connection, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 { return connection }
        failure = Self.failed(connection, "clamd cannot be reached")
      }
      throw failure
    }
  }

  private static func failed(_ connection: Int32, _ what: String) -> ScanFailure {
    let code = errno
    close(connection)
    return ScanFailure("\(what): \(Files.reason(code))")
  }

  private func open(_ family: Int32, until end: ContinuousClock.Instant) throws(ScanFailure) -> Int32 {
    let connection = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard connection >= 0 else { throw ScanFailure("there is no socket: \(Files.reason(errno))") }
    do throws(ScanFailure) { try limit(connection, until: end) } catch {
      close(connection)
      throw error
    }
    return connection
  }

  /// Sets the socket's timeouts to the remaining time.
  private func limit(_ connection: Int32, until end: ContinuousClock.Instant) throws(ScanFailure) {
    let left = (end - ContinuousClock.now).components
    guard left.seconds >= 0, left.attoseconds > 0 || left.seconds > 0 else {
      throw ScanFailure("clamd has no answer within \(time.components.seconds) s")
    }
    var wait = timeval(tv_sec: Int(left.seconds), tv_usec: Int(max(1_000, left.attoseconds / 1_000_000_000_000)))
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(connection, SOL_SOCKET, option, &wait, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  /// Sends bytes; false if the other end has closed the connection.
  private func send(
    _ bytes: [UInt8], over connection: Int32, until end: ContinuousClock.Instant
  ) throws(ScanFailure) -> Bool {
    var done = 0
    while done < bytes.count {
      try limit(connection, until: end)
      let count = bytes.withUnsafeBytes { bytes in
        Glibc.send(connection, bytes.baseAddress?.advanced(by: done), bytes.count - done, Int32(MSG_NOSIGNAL))
      }
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        return false
      }
      done += count
    }
    return true
  }

  private func answer(over connection: Int32, until end: ContinuousClock.Instant) throws(ScanFailure) -> String {
    var answer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1_024)
    while answer.count < StorageLimits.scanAnswerBytesMax {
      try limit(connection, until: end)
      let count = recv(connection, &piece, piece.count, 0)
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        throw ScanFailure("clamd hangs up: \(Files.reason(errno))")
      }
      if count == 0 { break }
      answer += piece[..<count]
      if answer.last == 0 { break }
    }
    return String(decoding: answer.prefix { $0 != 0 && $0 != 10 }, as: UTF8.self)
  }
}

/// A scanner that runs a program with the file as its standard input, with the conventions of clamdscan(1): status 0
/// means a clean file, 1 a file to refuse, whose finding may be on the output's first line; any other status is a
/// failure.
struct CommandScanner: BlobScanner {
  let arguments: [String]
  let time: Duration

  func scan(_ path: String) throws(ScanFailure) -> ScanVerdict {
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else { throw ScanFailure("the file cannot be read: \(Files.reason(errno))") }
    defer { close(file) }
    let program = ChildProgram(arguments: arguments, environment: ["PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"])
    switch program.run(input: file, outputMax: StorageLimits.scanAnswerBytesMax, time: time) {
    case .ended(status: 0, _): return .clean
    case .ended(status: 1, let output):
      return .refused(Line.safe(String(decoding: output.prefix { $0 != 10 }, as: UTF8.self)))
    case .ended(let status, _): throw ScanFailure("\(arguments[0]) ends with \(status)")
    case .killed: throw ScanFailure("\(arguments[0]) was killed, or took longer than \(time.components.seconds) s")
    case .failed(let code): throw ScanFailure("\(arguments[0]) cannot be run: \(Files.reason(code))")
    }
  }
}
