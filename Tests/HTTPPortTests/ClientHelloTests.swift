import NIOCore
import Testing

@testable import HTTPPort

/// The first message of TLS, as far as it is read to find an authority that verifies a name.
@Suite struct ClientHelloTests {
  /// Returns the record of a ClientHello with these extensions.
  private func record(_ extensions: [(type: Int, body: [UInt8])]) -> [UInt8] {
    func sized(_ bytes: [UInt8], _ width: Int) -> [UInt8] {
      (0..<width).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) } + bytes
    }
    let listed = extensions.flatMap { [UInt8($0.type >> 8), UInt8($0.type & 255)] + sized($0.body, 2) }
    let hello: [UInt8] =
      [3, 3] + [UInt8](repeating: 7, count: 32) + sized([UInt8](repeating: 1, count: 32), 1) + sized([0x13, 1], 2)
      + sized([0], 1) + sized(listed, 2)
    return [22, 3, 1] + sized([1] + sized(hello, 3), 2)
  }

  private let name: (Int, [UInt8]) = (0, [0, 12, 0, 0, 9] + Array("a.example".utf8))
  private let protocols: (Int, [UInt8]) = (16, [0, 20, 10] + Array("acme-tls/1".utf8) + [8] + Array("http/1.1".utf8))

  private func read(_ bytes: [UInt8]) -> ClientHello.Reading {
    ClientHello.read(ByteBuffer(bytes: bytes).readableBytesView)
  }

  @Test func nameAndProtocolsAreRead() {
    #expect(
      read(record([(43, [2, 3, 4]), name, protocols]))
        == .hello(ClientHello(serverName: "a.example", protocols: ["acme-tls/1", "http/1.1"])))
    #expect(read(record([])) == .hello(ClientHello()))
  }

  @Test func aPartWaitsForTheRest() {
    let whole = record([name, protocols])
    for count in 0..<whole.count { #expect(read(Array(whole[..<count])) == .incomplete) }
    // What follows the record is not this message's.
    #expect(read(whole + [22, 3, 1]) == read(whole))
  }

  @Test func whatIsNoTLSIsLeftToTLS() {
    #expect(read(Array("GET / HTTP/1.1\r\n".utf8)) == .unknown)
    #expect(read([22, 3, 1, 0xff, 0xff]) == .unknown)
  }

  @Test func changedBytesNeverCrash() {
    let whole = record([name, protocols])
    for index in whole.indices {
      for value in [0, 1, 127, 128, 255] as [UInt8] {
        var bytes = whole
        bytes[index] = value
        _ = read(bytes)
      }
    }
  }
}
