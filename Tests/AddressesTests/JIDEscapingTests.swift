import Testing

@testable import Addresses

@Suite struct JIDEscapingVectors {
  /// The transformation tables of XEP-0106 4.2 and 4.3. The space is between letters: it may not be outermost.
  @Test(arguments: [
    ("a b", #"a\20b"#), ("\"", #"\22"#), ("&", #"\26"#), ("'", #"\27"#), ("/", #"\2f"#), (":", #"\3a"#), ("<", #"\3c"#),
    (">", #"\3e"#), ("@", #"\40"#), (#"\5c"#, #"\5c5c"#),
  ])
  func transformations(foreign: String, escaped: String) {
    #expect(JIDEscaping.escape(foreign) == escaped)
    #expect(JIDEscaping.unescape(escaped) == foreign)
  }

  /// The table of native JIDs (XEP-0106 6.1), then the examples for email, IMPS and IRC (6.2, 6.5, 6.7).
  @Test(arguments: [
    ("space cadet", #"space\20cadet"#),
    (#"call me "ishmael""#, #"call\20me\20\22ishmael\22"#),
    ("at&t guy", #"at\26t\20guy"#),
    ("d'artagnan", #"d\27artagnan"#),
    ("/.fanboy", #"\2f.fanboy"#),
    ("::foo::", #"\3a\3afoo\3a\3a"#),
    ("<foo>", #"\3cfoo\3e"#),
    ("user@host", #"user\40host"#),
    (#"c:\net"#, #"c\3a\net"#),
    (#"c:\\net"#, #"c\3a\\net"#),
    (#"c:\cool stuff"#, #"c\3a\cool\20stuff"#),
    (#"c:\5commas"#, #"c\3a\5c5commas"#),
    ("here's_a_wild_&_/cr%zy/_address", #"here\27s_a_wild_\26_\2fcr%zy\2f_address"#),
    (#"\3and\2is\5cool"#, #"\5c3and\2is\5c5cool"#),
    (#"somenick!user"&'/:<>\3address"#, #"somenick!user\22\26\27\2f\3a\3c\3e\5c3address"#),
    // XEP-0106 5.3: neither direction touches partial sequences or those of other characters.
    (#"\2plus\2is\4"#, #"\2plus\2is\4"#), (#"foo\bar"#, #"foo\bar"#), (#"foob\41r"#, #"foob\41r"#),
  ])
  func addresses(foreign: String, escaped: String) throws {
    #expect(JIDEscaping.escape(foreign) == escaped)
    #expect(JIDEscaping.unescape(escaped) == foreign)
    #expect(try JID("\(escaped)@example.com").local == escaped)
  }

  /// XEP-0106 5.1: "\20" neither begins nor ends a localpart.
  @Test func outerSpaces() {
    #expect(JIDEscaping.escape(" a b ") == #" a\20b "#)
    #expect(throws: JIDError.disallowed(.local, " ")) {
      try BareJID(local: JIDEscaping.escape(" a"), domain: "example.com")
    }
    #expect(JIDEscaping.unescape(#"\20a\20b\20"#) == #"\20a b\20"#)
  }

  /// Case is significant in the table, but a localpart is mapped to lower case after escaping.
  @Test func capitals() throws {
    #expect(JIDEscaping.unescape(#"\3A\5C"#) == #"\3A\5C"#)
    let local = try Precis.usernameCaseMapped(JIDEscaping.escape(#"c\3Adrive"#))
    #expect(local == #"c\5c3adrive"#)
    #expect(JIDEscaping.unescape(local) == #"c\3adrive"#)
  }

  /// Escaping is reversible for every identifier.
  @Test func roundTrip() {
    var random = SplitMix(seed: 106)
    let alphabet = Array(#"\\\2057cfa3e4@ &'"/:<>bCé"#)
    for _ in 0..<20_000 {
      let foreign = String(
        (0..<Int.random(in: 0...8, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
      #expect(JIDEscaping.unescape(JIDEscaping.escape(foreign)) == foreign)
    }
  }
}
