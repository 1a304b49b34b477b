import Testing

@testable import Addresses

/// The result of a parse: the normal form, or the error.
private func outcome(_ string: String) -> Result<String, JIDError> {
  do { return .success(try JID(string).description) } catch { return .failure(error) }
}

/// The examples of RFC 7622 3.5.
@Suite struct JIDExamples {
  /// Table 1, with the parts each consists of.
  @Test(
    arguments: [
      (1, "juliet@example.com", "juliet", "example.com", nil),
      (2, "juliet@example.com/foo", "juliet", "example.com", "foo"),
      (3, "juliet@example.com/foo bar", "juliet", "example.com", "foo bar"),
      (4, "juliet@example.com/foo@bar", "juliet", "example.com", "foo@bar"),
      (5, #"foo\20bar@example.com"#, #"foo\20bar"#, "example.com", nil),
      (6, "fussball@example.com", "fussball", "example.com", nil),
      (7, "fu\u{DF}ball@example.com", "fu\u{DF}ball", "example.com", nil),
      (8, "\u{3C0}@example.com", "\u{3C0}", "example.com", nil),
      (9, "\u{3A3}@example.com/foo", "\u{3C3}", "example.com", "foo"),
      (10, "\u{3C3}@example.com/foo", "\u{3C3}", "example.com", "foo"),
      (11, "\u{3C2}@example.com/foo", "\u{3C2}", "example.com", "foo"),
      (12, "king@example.com/\u{265A}", "king", "example.com", "\u{265A}"),
      (13, "example.com", nil, "example.com", nil),
      (14, "example.com/foobar", nil, "example.com", "foobar"),
      (15, "a.example.com/b@example.net", nil, "a.example.com", "b@example.net"),
    ] as [(Int, String, String?, String, String?)])
  func legal(number: Int, string: String, local: String?, domain: String, resource: String?) throws {
    let jid = try JID(string)
    #expect(jid.local == local)
    #expect(jid.domain == domain)
    #expect(jid.resource == resource)
    #expect(jid.isBare == (resource == nil))
    #expect(jid.isDomain == (local == nil && resource == nil))
    #expect(try JID(local: local, domain: domain, resource: resource) == jid)
  }

  /// Table 2.
  @Test(
    arguments: [
      (16, #""juliet"@example.com"#, .disallowed(.local, "\"")),
      (17, "foo bar@example.com", .disallowed(.local, " ")),
      (18, "juliet@example.com/ foo", .disallowed(.resource, " ")),
      (19, "@example.com/", .empty(.local)),
      (20, "henry\u{2163}@example.com", .disallowed(.local, "\u{2173}")),
      (21, "\u{265A}@example.com", .disallowed(.local, "\u{265A}")),
      (22, "juliet@", .empty(.domain)),
      (23, "/foobar", .empty(.domain)),
    ] as [(Int, String, JIDError)])
  func violations(number: Int, string: String, error: JIDError) {
    #expect(outcome(string) == .failure(error))
    #expect(JID(parsing: string) == nil)
  }

  /// The notes on examples 6, 7 and 9 to 11.
  @Test func equality() throws {
    #expect(try JID("fussball@example.com") != JID("fu\u{DF}ball@example.com"))
    #expect(try JID("\u{3A3}@example.com/foo") == JID("\u{3C3}@example.com/foo"))
    #expect(try JID("\u{3A3}@example.com/foo") != JID("\u{3C2}@example.com/foo"))
    #expect(try Set([JID("Juliet@Example.COM"), JID("juliet@example.com.")]).count == 1)
  }
}

@Suite struct JIDParsing {
  /// RFC 7622 3.2, 3.3.1, 3.4: each violation names its part.
  @Test(
    arguments: [
      ("", .empty(.domain)), ("@", .empty(.domain)), ("/", .empty(.domain)), (".", .empty(.domain)),
      ("example.com/", .empty(.resource)), ("@example.com", .empty(.local)), ("a@/b", .empty(.domain)),
      ("a@b@c", .disallowed(.domain, "@")), ("a&b@c", .disallowed(.local, "&")), ("a'b@c", .disallowed(.local, "'")),
      ("a:b@c", .disallowed(.local, ":")), ("a<b@c", .disallowed(.local, "<")), ("a>b@c", .disallowed(.local, ">")),
      ("a\tb@c", .disallowed(.local, "\t")), ("a@b c", .disallowed(.domain, " ")), ("a@b_c", .disallowed(.domain, "_")),
      ("a@b/c\u{0}", .disallowed(.resource, "\u{0}")), ("a@b/c\u{200E}", .disallowed(.resource, "\u{200E}")),
      ("a@b/c\u{E000}", .disallowed(.resource, "\u{E000}")), ("a@b/\u{A0}c", .disallowed(.resource, " ")),
      // The full-width forms of the separators are no separators (RFC 7622 3.1), and map to what is not allowed.
      ("a\u{FF20}b", .disallowed(.domain, "@")), ("a\u{FF0F}b@c", .disallowed(.local, "/")),
      ("a\u{FF20}b@c", .disallowed(.local, "@")),
    ] as [(String, JIDError)])
  func violations(string: String, error: JIDError) {
    #expect(outcome(string) == .failure(error))
  }

  @Test(arguments: [
    ("Juliet@Capulet.Example/Balcony", "juliet@capulet.example/Balcony"),
    ("romeo@localhost./Orchard", "romeo@localhost/Orchard"),
    ("a@b/c/d@e", "a@b/c/d@e"),
    ("a@b/e\u{301}", "a@b/\u{E9}"),
    ("E\u{301}@b", "\u{E9}@b"),
    ("\u{FF21}\u{FF22}@b", "ab@b"),
    ("a@b/x\u{3000}\u{A0}y", "a@b/x  y"),
    ("a@b/c ", "a@b/c "),
    ("\u{1112}\u{1161}\u{11AB}@b", "\u{D55C}@b"),
    ("!#$%()*+,-.;=?[]^_`{|}~@b", "!#$%()*+,-.;=?[]^_`{|}~@b"),
    ("127.0.0.1/x", "127.0.0.1/x"),
  ])
  func normalForm(string: String, normal: String) throws {
    let jid = try JID(string)
    #expect(Array(jid.description.utf8) == Array(normal.utf8))
    #expect(try JID(normal) == jid)
    #expect(try Array(normal.utf8).withUnsafeBytes { try JID(utf8: $0) } == jid)
  }

  /// Each part has at most 1023 octets, after normalisation (RFC 7622 3.1).
  @Test func lengths() throws {
    let long = String(repeating: "a", count: 1023)
    let longer = long + "a"
    let domain = Array(repeating: "a", count: 512).joined(separator: ".")
    let jid = try JID("\(long)@\(domain)/\(long)")
    #expect(jid.description.utf8.count == 3071)
    #expect(jid.local == long && jid.domain == domain && jid.resource == long)
    #expect(outcome("\(longer)@b") == .failure(.tooLong(.local)))
    #expect(outcome("a@b/\(longer)") == .failure(.tooLong(.resource)))
    #expect(outcome("a@\(domain)a.b") == .failure(.tooLong(.domain)))
    // 1023 full-width letters, three octets each, are as many octets once mapped.
    #expect(try JID(String(repeating: "\u{FF41}", count: 1023) + "@b").local == long)
    #expect(outcome(String(repeating: "\u{FF41}", count: 1365) + "@b") == .failure(.tooLong(.local)))
    #expect(outcome(String(repeating: "a", count: 1 << 20) + "@b") == .failure(.tooLong(.local)))
    #expect(throws: JIDError.tooLong(.resource)) {
      try [UInt8](repeating: 0xC3, count: 1 << 20).withUnsafeBytes { _ = try JID(utf8: $0) }
    }
  }

  @Test func notUTF8() {
    for bytes: [UInt8] in [[0xFF], [0x61, 0x40, 0xC3], [0x61, 0x2F, 0xED, 0xA0, 0x80], [0xC0, 0xAF]] {
      #expect(throws: JIDError.notUTF8) { try bytes.withUnsafeBytes { _ = try JID(utf8: $0) } }
      #expect(bytes.withUnsafeBytes { JID(parsing: $0) } == nil)
    }
  }

  /// The one-pass check and the full rules must agree about every string the former takes.
  @Test func plainAgreesWithTheFullRules() throws {
    var random = SplitMix(seed: 7)
    let alphabet = Array("ab9-./@ ~'X".utf8)
    var plain = 0
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 1...9, using: &random)).map { _ in alphabet.randomElement(using: &random)! }
      let string = String(decoding: bytes, as: UTF8.self)
      guard let offsets = bytes.withUnsafeBytes({ JIDOffsets(normal: $0) }) else { continue }
      plain += 1
      let jid = JID(normal: string, offsets)
      let rebuilt = try JID(local: jid.local, domain: jid.domain, resource: jid.resource)
      #expect(rebuilt.description == string)
      #expect(rebuilt.offsets == offsets)
    }
    #expect(plain > 1000)
  }

  @Test func bareAndFull() throws {
    let full = try FullJID("Romeo@localhost/orchard")
    #expect(full.bare.description == "romeo@localhost")
    #expect(full.local == "romeo" && full.domain == "localhost" && full.resource == "orchard")
    let bare = try BareJID(local: "romeo", domain: "localhost")
    #expect(full.bare == bare && full.jid.bare == bare && bare.jid.bare == bare)
    #expect(try bare.full("orchard") == full)
    #expect(try JID("romeo@localhost/orchard").full == full)
    #expect(bare.jid.full == nil && full.jid.full == full)
    #expect(full.isAt(bare) && bare.jid.isAt(bare))
    #expect(try !JID("romeo@localhost.example/x").isAt(bare) && !JID("romeo2@localhost/x").isAt(bare))
    #expect(full.hasDomain("localhost") && bare.hasDomain("localhost"))
    #expect(!bare.hasDomain("localhos") && !bare.hasDomain("romeo@localhost") && !full.hasDomain("localhost/orchard"))
    #expect(try JID("localhost").hasDomain("localhost") && !JID("localhost").isAt(bare))
    #expect(throws: JIDError.unexpected(.resource)) { try BareJID("romeo@localhost/orchard") }
    #expect(throws: JIDError.empty(.resource)) { try FullJID("romeo@localhost") }
    #expect(throws: JIDError.empty(.resource)) { try bare.full("") }
    #expect(BareJID(parsing: "a b@c") == nil && FullJID(parsing: "a@c") == nil)
  }

  @Test func errorsExplainThemselves() {
    #expect(JIDError.disallowed(.local, " ").description == "the localpart holds U+20, which is not allowed there")
    #expect(JIDError.tooLong(.domain).description == "the domainpart is longer than 1023 octets")
    #expect(JIDError.unexpected(.resource).description == "a resourcepart is not expected here")
  }
}

/// Labels of any length were allowed once: what a server has stored remains readable.
@Suite struct StoredAddressTests {
  @Test(arguments: ["\(String(repeating: "a", count: 64))", "\(String(repeating: "\u{FC}", count: 64)).example"])
  func longLabelsAreRead(domain: String) throws {
    #expect(JID(parsing: "romeo@\(domain)/x") == nil && BareJID(parsing: domain) == nil)
    let jid = try #require(JID(stored: "romeo@\(domain)/x"))
    #expect(jid.description == "romeo@\(domain)/x" && jid.domain == domain)
    #expect(BareJID(stored: "romeo@\(domain)") == jid.bare && BareJID(stored: "romeo@\(domain)/x") == nil)
    #expect(JID(stored: "a b@\(domain)") == nil)
  }

  /// The rules would decode this label.
  @Test func theRulesAreNotEnforcedAgain() throws {
    let text = "romeo@xn--bcher-kva.example/x"
    let jid = try #require(JID(stored: text))
    #expect(jid.description == text && jid.local == "romeo" && jid.resource == "x")
    #expect(try JID(text) != jid)
  }

  @Test(
    arguments: [
      "example.com", "juliet@example.com", "a.example.com/b@example.net", "\u{3C0}@b\u{FC}cher.example/\u{265A} / @x",
      "fu\u{DF}ball@[::1%25Eth0]", "romeo@a--b.example/foo bar",
    ])
  func whatIsNormalIsReadAsItIs(text: String) throws {
    let jid = try JID(text)
    let stored = try #require(JID(stored: jid.description))
    #expect(stored == jid && stored.offsets == jid.offsets)
    let resource = jid.resource
    let joined = jid.bare.jid(normal: resource)
    #expect(joined == jid && joined.offsets == jid.offsets)
    #expect(jid.bare.jid(normal: "") == jid.bare.jid)
  }

  @Test func whatHasNoPartsOrTooLongOnesIsNone() {
    let long = String(repeating: "\u{FC}", count: AddressLimits.partBytes / 2 + 1)
    for text in [
      "", "@x", "/x", "romeo@", "romeo@/x", "romeo@x/", "a\u{7F}@x", "a b", "x/\u{1F}", "\(long)@x", long, "x/\(long)",
    ] {
      #expect(JID(stored: text) == nil, "\(text)")
    }
  }
}

@Suite struct DomainpartRules {
  @Test(
    arguments: [
      ("Example.COM", "example.com"),
      ("B\u{DC}CHER.example", "b\u{FC}cher.example"),
      ("bu\u{308}cher.example", "b\u{FC}cher.example"),
      // RFC 3492 7.1 writes labels as Punycode; here with their prefix (RFC 7622 3.2.1: A-labels become U-labels).
      ("xn--bcher-kva.example", "b\u{FC}cher.example"),
      ("XN--BCHER-KVA.example", "b\u{FC}cher.example"),
      // (B)
      ("xn--ihqwcrb4cv8a8dqg056pqjye", "\u{4ED6}\u{4EEC}\u{4E3A}\u{4EC0}\u{4E48}\u{4E0D}\u{8BF4}\u{4E2D}\u{6587}"),
      ("xn--4dbcagdahymbxekheh6e0a7fei0b", "למההםפשוטלאמדבריםעברית"),  // (F)
      ("fa\u{DF}.example", "fa\u{DF}.example"),
      ("\u{FF45}xample\u{FF0E}com", "example.com"),
      ("\u{4F8B}\u{3002}\u{6D4B}\u{8BD5}", "\u{4F8B}.\u{6D4B}\u{8BD5}"),
      ("l\u{B7}l.cat", nil),
      ("l\u{B7}la.cat", nil),
      ("\u{13A0}\u{13A1}.example", "\u{13A0}\u{13A1}.example"),
      ("[::1]", "[::1]"),
      ("[2001:DB8::A]", "[2001:db8::a]"),
      ("[1:2:3:4:5:6:7:8]", nil),
      ("[::ffff:192.0.2.1]", nil),
      ("[fe80::1%25Eth0]", "[fe80::1%25Eth0]"),
      ("192.0.2.1", nil),
      ("a--b.example", nil),
      (String(repeating: "a", count: 63) + "." + String(repeating: "b", count: 63), nil),
    ] as [(String, String?)])
  func accepted(string: String, normal: String?) throws {
    let domain = try Domainpart.enforce(string)
    #expect(domain == normal ?? string)
    #expect(try Domainpart.enforce(domain) == domain)
    #expect(try JID(string).domain == domain)
  }

  @Test(
    arguments: [
      ("a..b", .malformed(.domain)), (".a", .malformed(.domain)), ("a..", .malformed(.domain)),
      ("-a.b", .malformed(.domain)), ("a-.b", .malformed(.domain)), ("a.-", .malformed(.domain)),
      ("\u{FC}bc--x", nil), ("\u{FC}a--x", .malformed(.domain)),
      ("xn--", .malformed(.domain)), ("xn--a", .disallowed(.domain, "\u{80}")), ("xn--abc-", .malformed(.domain)),
      ("xn--BCHER-\u{FC}", .malformed(.domain)), ("xn--99999999", .malformed(.domain)),
      ("xn--bcher-kvb\(String(repeating: "a", count: 60))", .malformed(.domain)),
      // RFC 1034 3.1: a label has at most 63 octets, in its encoded form.
      (String(repeating: "a", count: 64), .malformed(.domain)),
      ("b.\(String(repeating: "a", count: 64)).c", .malformed(.domain)),
      ("\(String(repeating: "a", count: 32))\u{FC}\(String(repeating: "a", count: 32))", .malformed(.domain)),
      (String(repeating: "\u{5D0}", count: 64), .malformed(.domain)),
      // An A-label must encode what needs no mapping: here "B\u{DC}cher".
      ("xn--bcher-ipa", .malformed(.domain)),
      ("a\u{2215}b", .disallowed(.domain, "\u{2215}")), ("\u{265A}.example", .disallowed(.domain, "\u{265A}")),
      ("a!b", .disallowed(.domain, "!")), ("\u{301}a", .disallowed(.domain, "\u{301}")),
      ("a\u{B7}b", .disallowed(.domain, "\u{B7}")), ("a\u{200D}b", .disallowed(.domain, "\u{200D}")),
      ("\u{20D0}a", .disallowed(.domain, "\u{20D0}")),
      // One right-to-left label makes every label subject to the rule (RFC 5893 1.4).
      ("\u{5D0}.0a", .bidi(.domain)), ("\u{5D0}a.example", .bidi(.domain)),
      ("[::1", .malformed(.domain)), ("[]", .malformed(.domain)), ("[1:2]", .malformed(.domain)),
      ("[1:2:3:4:5:6:7:8:9]", .malformed(.domain)), ("[1::2::3]", .malformed(.domain)),
      ("[:1::2]", .malformed(.domain)),
      ("[1:2:3:4:5:6:7:]", .malformed(.domain)), ("[12345::]", .malformed(.domain)),
      ("[::1.2.3.256]", .malformed(.domain)),
      ("[::1.2.3.4.5]", .malformed(.domain)), ("[::01.2.3.4]", .malformed(.domain)),
      ("[::1%251%2]", .malformed(.domain)),
      ("[::1%eth0]", .malformed(.domain)), ("[v1.a]", .malformed(.domain)), ("[::g]", .malformed(.domain)),
      ("::1", .disallowed(.domain, ":")),
    ] as [(String, JIDError?)])
  func refused(string: String, error: JIDError?) {
    let found: JIDError?
    do {
      _ = try Domainpart.enforce(string)
      found = nil
    } catch { found = error }
    #expect(found == error)
  }
}

/// A small generator with a fixed seed: what fails once fails again.
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
