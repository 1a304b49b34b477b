import Testing

@testable import Addresses

/// Escaped localparts are localparts like others: the server compares and routes them as they are (XEP-0106 5.1).
@Suite struct JIDEscapingTests {
  /// The escaped forms of XEP-0106 4.2, 6.1, 6.2, 6.5 and 6.7.
  @Test(arguments: [
    #"a\20b"#, #"\22"#, #"\26"#, #"\27"#, #"\2f"#, #"\3a"#, #"\3c"#, #"\3e"#, #"\40"#, #"\5c5c"#, #"space\20cadet"#,
    #"call\20me\20\22ishmael\22"#, #"c\3a\\net"#, #"c\3a\cool\20stuff"#, #"c\3a\5c5commas"#,
    #"here\27s_a_wild_\26_\2fcr%zy\2f_address"#, #"\5c3and\2is\5c5cool"#,
    #"somenick!user\22\26\27\2f\3a\3c\3e\5c3address"#,
  ])
  func escapedLocalpartsAreUnchanged(_ local: String) throws {
    #expect(try JID("\(local)@example.com").local == local)
  }
}
