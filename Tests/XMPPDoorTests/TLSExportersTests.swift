import NIOCore
import Testing

@testable import XMPPDoor

/// The secrets that the key log provides for channel binding. Tests/Clients/scram.py proves that they are those that
/// OpenSSL exports of the same connection.
@Suite struct TLSExportersTests {
  /// RFC 8448 3, `exp master`; what it exports by this label is of an HKDF written in Python.
  private static let secret = "fe22f881176eda18eb8f44529e6792c50c9a3f89452f68d8ae311b4309d3cf50"
  private static let binding = "e3b0946bf2f4668144f22872e0afd51dc9608638c6f9b2584b98c6cd3a4affad"
  private static let random = String(repeating: "0a", count: 32)
  private static var value: ClientRandom.Value? { ClientRandom.Value([UInt8](repeating: 10, count: 32)) }

  private static func hexadecimal(_ bytes: [UInt8]?) -> String? {
    bytes.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
  }

  private static func log(_ line: String, to exporters: TLSExporters) { exporters.log(ByteBuffer(string: line)) }

  /// SHA-384 by the length of the secret; no suite of TLS 1.3 has another.
  @Test(
    arguments: [
      (48, "611c8f80782a86df99c005b09cafa11d5c3ef90ffcfbaa44cd1eda33d03ccdee"), (64, nil),
    ] as [(UInt8, String?)])
  func theHashOfTheSuite(length: UInt8, expected: String?) throws {
    let exporters = TLSExporters()
    let value = try #require(Self.value)
    exporters.announce(value)
    let secret = Self.hexadecimal(Array(0..<length)) ?? ""
    Self.log("EXPORTER_SECRET \(Self.random) \(secret)\n", to: exporters)
    #expect(Self.hexadecimal(exporters.take(value)) == expected)
  }

  @Test func oneConnection() throws {
    let exporters = TLSExporters()
    let value = try #require(Self.value)
    exporters.announce(value)
    Self.log("SERVER_HANDSHAKE_TRAFFIC_SECRET \(Self.random) \(Self.secret)\n", to: exporters)
    Self.log("EXPORTER_SECRET \(Self.random) \(Self.secret)\n", to: exporters)
    #expect(Self.hexadecimal(exporters.take(value)) == Self.binding)
    // The value is returned once.
    #expect(exporters.take(value) == nil)
  }

  /// TLS 1.2, an interrupted handshake, lines of unknown connections, and malformed lines.
  @Test(arguments: [
    "", "CLIENT_RANDOM \(random) \(secret)\n", "EXPORTER_SECRET \(String(repeating: "0b", count: 32)) \(secret)\n",
    "EXPORTER_SECRET \(random)\n", "EXPORTER_SECRET \(random) xx\n", "EXPORTER_SECRET \(random) \(secret) 00\n",
    "EXPORTER_SECRET 00 \(secret)\n", "EXPORTER_SECRET \(random) abc\n",
  ])
  func nothingToBindTo(line: String) throws {
    let exporters = TLSExporters()
    let value = try #require(Self.value)
    exporters.announce(value)
    if !line.isEmpty { Self.log(line, to: exporters) }
    #expect(exporters.take(value) == nil)
    // Nothing was kept for the next connection.
    exporters.announce(value)
    #expect(exporters.take(value) == nil)
  }

  @Test func nothingIsKeptOfWhoIsNotAnnounced() throws {
    let exporters = TLSExporters()
    Self.log("EXPORTER_SECRET \(Self.random) \(Self.secret)\n", to: exporters)
    #expect(exporters.take(try #require(Self.value)) == nil)
  }

  /// An attacker repeats the ClientHello of another client: neither gets the other's binding, and later connections get
  /// theirs.
  @Test(arguments: [false, true]) func twoOfOneRandom(isLate: Bool) throws {
    let exporters = TLSExporters()
    let value = try #require(Self.value)
    exporters.announce(value)
    if isLate { Self.log("EXPORTER_SECRET \(Self.random) \(Self.secret)\n", to: exporters) }
    exporters.announce(value)
    if !isLate { Self.log("EXPORTER_SECRET \(Self.random) \(Self.secret)\n", to: exporters) }
    #expect(exporters.take(value) == nil)
    Self.log("EXPORTER_SECRET \(Self.random) \(Self.secret)\n", to: exporters)
    #expect(exporters.take(value) == nil)
    exporters.announce(value)
    Self.log("EXPORTER_SECRET \(Self.random) \(Self.secret)\n", to: exporters)
    #expect(Self.hexadecimal(exporters.take(value)) == Self.binding)
  }

  // MARK: The ClientHello

  private static let hello: [UInt8] =
    [22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3] + [UInt8](repeating: 10, count: 32) + [0, 0]

  /// Returns the exported value when these bytes arrive in these pieces.
  private static func binding(of pieces: [[UInt8]]) throws -> String? {
    let exporters = TLSExporters()
    let random = ClientRandom(exporters)
    for piece in pieces { random.look(ByteBuffer(bytes: piece).readableBytesView) }
    log("EXPORTER_SECRET \(Self.random) \(Self.secret)\n", to: exporters)
    return hexadecimal(random.takeBinding())
  }

  @Test func theRandomIsRead() throws {
    #expect(try Self.binding(of: [Self.hello]) == Self.binding)
    #expect(try Self.binding(of: Self.hello.map { [$0] }) == Self.binding)
    #expect(try Self.binding(of: [Array(Self.hello.prefix(20)), Array(Self.hello.dropFirst(20))]) == Self.binding)
  }

  @Test func bytesThatAreNoHello() throws {
    #expect(try Self.binding(of: [Array(Self.hello.prefix(42))]) == nil)
    for (index, byte) in [(0, UInt8(23)), (5, 2)] {
      var bytes = Self.hello
      bytes[index] = byte
      #expect(try Self.binding(of: [bytes]) == nil)
    }
    var short = Self.hello
    (short[3], short[4]) = (0, 37)
    #expect(try Self.binding(of: [short]) == nil)
  }
}
