import Addresses
import Testing

@Suite struct AsciiDomainTests {
  // RFC 3492 7.1 and RFC 5891's usual example.
  @Test(arguments: [
    ("bücher.example", "xn--bcher-kva.example"), ("localhost", "localhost"),
    ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"), ("3年B組金八先生".lowercased(), "xn--3b-ww4c5e180e575a65lsy2b"),
    ("pročprostěnemluvíčesky", "xn--proprostnemluvesky-uyb24dma41a"),
  ])
  func domainsInCertificates(domain: String, ascii: String) {
    #expect(AsciiDomain.of(domain) == ascii)
  }
}
