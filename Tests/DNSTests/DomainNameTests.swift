import Testing

@testable import DNS

@Suite struct DomainNameTests {
  /// RFC 1035 3.1, RFC 4343 3.
  @Test func labelsWithTheirLengths() {
    #expect(DomainName("Chat.Example.")?.bytes == [4] + Array("chat".utf8) + [7] + Array("example".utf8) + [0])
    #expect(DomainName("chat.example") == DomainName("CHAT.example."))
    #expect(DomainName.root.bytes == [0])
    #expect(DomainName.root.isRoot)
    #expect(
      DomainName("_xmpp-server._tcp.xn--bcher-kva.example")?.description == "_xmpp-server._tcp.xn--bcher-kva.example")
  }

  @Test(arguments: ["", ".", "..", "a..b", ".a", "bücher.example", "a b", "a/b", "[::1]", "a\\.b", "a\0b"])
  func noName(_ text: String) { #expect(DomainName(text) == nil) }

  /// RFC 1035 2.3.4.
  @Test func lengths() {
    let label = String(repeating: "a", count: 63)
    #expect(DomainName(label) != nil)
    #expect(DomainName(label + "a") == nil)
    let longest = [label, label, label, String(repeating: "a", count: 61)].joined(separator: ".")
    #expect(DomainName(longest)?.bytes.count == 255)
    #expect(DomainName(longest + "a") == nil)
    #expect(DomainName(longest)?.below("b") == nil)
  }

  @Test func namesBelow() {
    #expect(DomainName("example")?.below("_xmpp-server", "_tcp") == DomainName("_xmpp-server._tcp.example"))
    #expect(DomainName("example")?.below("") == nil)
  }

  /// RFC 1035 5.1: names come from strangers and are shown to the operator.
  @Test func otherBytesAreWrittenAsNumbers() {
    #expect(DomainName(labels: [Array("a.b\n".utf8), [0xff]])?.description == "a\\046b\\010.\\255")
    #expect(DomainName.root.description == ".")
  }
}
