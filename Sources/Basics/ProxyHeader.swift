/// The header with which a proxy begins a connection that it relays, as a value: HAProxy's specification "The PROXY protocol", versions
/// 1 and 2, of 2020-03-05 (`doc/proxy-protocol.txt` of HAProxy), whose sections are cited here.
public struct ProxyHeader: Hashable, Sendable {
  /// The client of a relayed connection.
  public struct Client: Hashable, Sendable {
    public let address: IPAddress
    public let port: Int

    public init(_ address: IPAddress, port: Int) {
      self.address = address
      self.port = port
    }
  }

  /// The reason for which a connection is refused. The raw value is the code in the log.
  public enum Fault: String, Error {
    /// The connection begins with something else (2: whether there is a header must not be guessed).
    case missing = "proxy-header-missing"
    case malformed = "proxy-header-malformed"
    case tooLong = "proxy-header-too-long"
    /// The header has not come in time.
    case late = "proxy-header-late"
  }

  /// The client; nil where the address of the connection itself counts: the connection is the proxy's own (LOCAL, such as a health
  /// check), or its client has no IP address or no TCP connection (UNSPEC, UNKNOWN, AF_UNIX, DGRAM).
  public let client: Client?
  /// The number of bytes, behind which the client's own begin.
  public let length: Int

  /// The header of a connection that a program opens for itself (2.2, LOCAL).
  public static let local = signature + [0x20, 0x00, 0x00, 0x00]

  private static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
  private static let word = Array("PROXY ".utf8)
  /// The most bytes of the line of version 1 with its end (2.1).
  private static let lineBytesMax = 107

  public init(client: Client?, length: Int) {
    self.client = client
    self.length = length
  }

  /// Reads the header at the beginning of a connection. Returns nil while more bytes are needed.
  ///
  /// - Parameters:
  ///   - bytes: All bytes that have come, or at least the first `bytesMax`.
  ///   - bytesMax: The most bytes of a header, at least those of version 1.
  public static func read(_ bytes: [UInt8], bytesMax: Int) throws(Fault) -> ProxyHeader? {
    if bytes.starts(with: signature.prefix(bytes.count)) { return try readBinary(bytes, bytesMax: bytesMax) }
    if bytes.starts(with: word.prefix(bytes.count)) { return try readLine(bytes) }
    throw .missing
  }

  /// Reads version 2 (2.2).
  private static func readBinary(_ bytes: [UInt8], bytesMax: Int) throws(Fault) -> ProxyHeader? {
    guard bytes.count >= 16 else { return nil }
    let (version, command) = (bytes[12] >> 4, bytes[12] & 0xf)
    let (family, transport) = (bytes[13] >> 4, bytes[13] & 0xf)
    guard version == 2, command <= 1 else { throw .malformed }
    // The family of LOCAL is ignored, as its addresses are.
    guard command == 0 || (family <= 3 && transport <= 2) else { throw .malformed }
    let length = 16 + (Int(bytes[14]) << 8 | Int(bytes[15]))
    guard length <= bytesMax else { throw .tooLong }
    guard bytes.count >= length else { return nil }
    guard command == 1, transport == 1, family == 1 || family == 2 else {
      return ProxyHeader(client: nil, length: length)
    }
    // The addresses and the ports of the client and of the proxy. Extensions behind them (TLV) are skipped, as the section allows.
    let size = family == 1 ? 4 : 16
    let port = 16 + 2 * size
    guard length >= port + 4, let address = IPAddress(bytes: bytes[16..<16 + size]) else { throw .malformed }
    return ProxyHeader(client: Client(address, port: Int(bytes[port]) << 8 | Int(bytes[port + 1])), length: length)
  }

  /// Reads version 1 (2.1).
  private static func readLine(_ bytes: [UInt8]) throws(Fault) -> ProxyHeader? {
    let line = bytes.prefix(lineBytesMax)
    guard let end = line.firstIndex(of: 0x0d), end + 1 < line.count else {
      if bytes.count >= lineBytesMax { throw .malformed }
      return nil
    }
    guard line[end + 1] == 0x0a else { throw .malformed }
    let fields = line[..<end].split(separator: 0x20, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    if fields[1] == "UNKNOWN" { return ProxyHeader(client: nil, length: end + 2) }
    guard fields.count == 6, fields[1] == "TCP4" || fields[1] == "TCP6", let client = IPAddress(fields[2]),
      let server = IPAddress(fields[3]), client.isIPv6 == (fields[1] == "TCP6"), server.isIPv6 == client.isIPv6,
      let port = Self.port(fields[4]), Self.port(fields[5]) != nil
    else { throw .malformed }
    return ProxyHeader(client: Client(client, port: port), length: end + 2)
  }

  /// Returns a port in decimal digits without leading zeros.
  private static func port(_ text: String) -> Int? {
    guard let number = UInt16(text), String(number) == text else { return nil }
    return Int(number)
  }
}
