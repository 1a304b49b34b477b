import Testing

@testable import Basics

/// The headers of HAProxy's specification "The PROXY protocol", whose sections are cited.
@Suite struct ProxyHeaderTests {
  private static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
  private static let stream = Array("<?xml version='1.0'?>".utf8)
  /// 192.0.2.1, port 0xabcd, and 198.51.100.2, port 5222.
  private static let four: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 2, 0xab, 0xcd, 0x14, 0x66]
  /// 2001:db8::1, port 443, and 2001:db8::2, port 5223.
  private static let six: [UInt8] =
    [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    + [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2] + [0x01, 0xbb, 0x14, 0x67]

  private static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
    signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 0xff)] + rest
  }

  private func read(_ bytes: [UInt8]) throws(ProxyHeader.Fault) -> ProxyHeader? {
    try ProxyHeader.read(bytes, bytesMax: 300)
  }

  private func client(_ address: String, _ port: Int) throws -> ProxyHeader.Client {
    ProxyHeader.Client(try #require(IPAddress(address)), port: port)
  }

  /// Each header is the same however it is cut, and ends where the client's bytes begin.
  private func expect(_ header: [UInt8], _ client: ProxyHeader.Client?) throws {
    let whole = ProxyHeader(client: client, length: header.count)
    #expect(try read(header) == whole)
    #expect(try read(header + Self.stream) == whole)
    for count in 0..<header.count { #expect(try read(Array(header.prefix(count))) == nil) }
  }

  @Test func binaryHeadersNameTheClient() throws {
    try expect(Self.binary(0x21, 0x11, Self.four), try client("192.0.2.1", 0xabcd))
    try expect(Self.binary(0x21, 0x21, Self.six), try client("2001:db8::1", 443))
  }

  /// 2.2: extensions stand behind the addresses, here NOOP, UNIQUE_ID and one of a type that nobody knows.
  @Test func extensionsAreSkipped() throws {
    let extensions: [UInt8] = [0x04, 0, 0, 0x05, 0, 3, 1, 2, 3, 0xee, 0, 1, 0]
    try expect(Self.binary(0x21, 0x11, Self.four + extensions), try client("192.0.2.1", 0xabcd))
    try expect(Self.binary(0x21, 0x21, Self.six + [UInt8](repeating: 0, count: 248)), try client("2001:db8::1", 443))
  }

  /// 2.2: LOCAL with any family, UNSPEC, AF_UNIX, and datagrams.
  @Test func theConnectionIsTheProxysOwnWhereNoClientIsNamed() throws {
    try expect(ProxyHeader.local, nil)
    try expect(Self.binary(0x20, 0x11, Self.four), nil)
    try expect(Self.binary(0x20, 0xff, [1, 2, 3]), nil)
    try expect(Self.binary(0x21, 0x00, []), nil)
    try expect(Self.binary(0x21, 0x01, Self.four), nil)
    try expect(Self.binary(0x21, 0x10, Self.four), nil)
    try expect(Self.binary(0x21, 0x31, [UInt8](repeating: 0x2f, count: 216)), nil)
    try expect(Self.binary(0x21, 0x12, Self.four), nil)
    try expect(Self.binary(0x21, 0x22, Self.six), nil)
  }

  @Test func linesNameTheClient() throws {
    try expect(Array("PROXY TCP4 192.0.2.1 198.51.100.2 65535 5222\r\n".utf8), try client("192.0.2.1", 65_535))
    try expect(Array("PROXY TCP6 2001:db8::1 2001:DB8::2 1 5223\r\n".utf8), try client("2001:db8::1", 1))
    let long = String(repeating: "ffff:", count: 7) + "ffff"
    let longest = "PROXY TCP6 \(long) \(long) 65535 65535\r\n"
    try expect(Array(longest.utf8), try client(long, 65_535))
    try expect(Array("PROXY UNKNOWN\r\n".utf8), nil)
    let unknown = "PROXY UNKNOWN \(long) \(long) 65535 65535\r\n"
    #expect(unknown.utf8.count == 107)
    try expect(Array(unknown.utf8), nil)
  }

  @Test(arguments: [
    "<", "<?xml version='1.0'?>", "\u{16}\u{3}\u{1}", "PROX<", "proxy TCP4 192.0.2.1 198.51.100.2 1 2\r\n", "\r\n\r\n<",
    "\n",
  ])
  func whatBeginsWithSomethingElseHasNoHeader(text: String) {
    #expect(throws: ProxyHeader.Fault.missing) { _ = try read(Array(text.utf8)) }
  }

  @Test(arguments: [
    // Another version, a command and a family that do not exist, and addresses that are too short.
    binary(0x11, 0x11, four), binary(0x31, 0x11, four), binary(0x22, 0x11, four), binary(0x21, 0x41, four),
    binary(0x21, 0x13, four), binary(0x21, 0x11, Array(four.dropLast())), binary(0x21, 0x21, four),
    binary(0x21, 0x11, []),
  ])
  func binaryHeadersThatAreMalformed(bytes: [UInt8]) {
    #expect(throws: ProxyHeader.Fault.malformed) { _ = try read(bytes) }
  }

  @Test(arguments: [
    "PROXY TCP4 192.0.2.1 198.51.100.2 1\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 1 2 3\r\n",
    "PROXY TCP4 192.0.2.1 198.51.100.2 1 2 \r\n", "PROXY  TCP4 192.0.2.1 198.51.100.2 1 2\r\n",
    "PROXY TCP4 192.0.2.1  198.51.100.2 1 2\r\n", "PROXY TCP5 192.0.2.1 198.51.100.2 1 2\r\n", "PROXY \r\n",
    "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n", "PROXY TCP6 192.0.2.1 198.51.100.2 1 2\r\n",
    "PROXY TCP4 192.0.2.1 2001:db8::2 1 2\r\n", "PROXY TCP4 192.0.2.256 198.51.100.2 1 2\r\n",
    "PROXY TCP4 192.0.2.01 198.51.100.2 1 2\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 01 2\r\n",
    "PROXY TCP4 192.0.2.1 198.51.100.2 1 65536\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 +1 2\r\n",
    "PROXY TCP4 192.0.2.1 198.51.100.2 1 -2\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 1 2\n\r\n", "PROXY UNKNOWN\rX",
    "PROXY UNKNOWN " + String(repeating: "x", count: 100),
  ])
  func linesThatAreMalformed(text: String) {
    #expect(throws: ProxyHeader.Fault.malformed) { _ = try read(Array(text.utf8)) }
  }

  /// The length alone decides, before the header has come.
  @Test func aHeaderHasABoundedLength() throws {
    let most = [UInt8](repeating: 0, count: 300 - 16)
    try expect(Self.binary(0x21, 0x11, Self.four + most.dropFirst(12)), try client("192.0.2.1", 0xabcd))
    let beyond = Self.binary(0x21, 0x11, most + [0])
    #expect(throws: ProxyHeader.Fault.tooLong) { _ = try read(Array(beyond.prefix(16))) }
    #expect(throws: ProxyHeader.Fault.tooLong) { _ = try read(Array(Self.binary(0x20, 0, most + [0]).prefix(16))) }
  }
}
