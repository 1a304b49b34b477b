import Testing

@testable import Addresses

/// The profiles under test.
private enum Profile: CaseIterable {
  case usernameCaseMapped, opaqueString, resource, nickname, nicknameKey

  func enforce(_ string: String) throws(PrecisError) -> String {
    switch self {
    case .usernameCaseMapped: try Precis.usernameCaseMapped(string)
    case .opaqueString: try Precis.opaqueString(string)
    case .resource: try Precis.resource(string)
    case .nickname: try Precis.nickname(string)
    case .nicknameKey: try Precis.nicknameKey(string)
    }
  }
}

/// The output's octets, or the error.
private func outcome(_ profile: Profile, _ string: String) -> Result<[UInt8], PrecisError> {
  do { return .success(Array(try profile.enforce(string).utf8)) } catch { return .failure(error) }
}

private func expect(
  _ profile: Profile, _ string: String, _ output: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(outcome(profile, string) == .success(Array(output.utf8)), sourceLocation: sourceLocation)
}

private func expect(
  _ profile: Profile, _ string: String, _ error: PrecisError, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(outcome(profile, string) == .failure(error), sourceLocation: sourceLocation)
}

@Suite struct PrecisExamples {
  /// RFC 8265 3.6, tables 1 and 2.
  @Test func usernames() {
    expect(.usernameCaseMapped, "juliet@example.com", "juliet@example.com")
    expect(.usernameCaseMapped, "fussball", "fussball")
    expect(.usernameCaseMapped, "fu\u{DF}ball", "fu\u{DF}ball")
    expect(.usernameCaseMapped, "\u{3C0}", "\u{3C0}")
    expect(.usernameCaseMapped, "\u{3A3}", "\u{3C3}")
    expect(.usernameCaseMapped, "\u{3C3}", "\u{3C3}")
    expect(.usernameCaseMapped, "\u{3C2}", "\u{3C2}")
    expect(.usernameCaseMapped, "foo bar", .disallowed(" "))
    expect(.usernameCaseMapped, "", .empty)
    expect(.usernameCaseMapped, "henry\u{2163}", .disallowed("\u{2173}"))
    expect(.usernameCaseMapped, "\u{221E}", .disallowed("\u{221E}"))
  }

  /// RFC 8265 4.3, tables 3 and 4.
  @Test func passwords() {
    expect(.opaqueString, "correct horse battery staple", "correct horse battery staple")
    expect(.opaqueString, "Correct Horse Battery Staple", "Correct Horse Battery Staple")
    expect(.opaqueString, "\u{3C0}\u{DF}\u{E5}", "\u{3C0}\u{DF}\u{E5}")
    expect(.opaqueString, "Jack of \u{2666}s", "Jack of \u{2666}s")
    expect(.opaqueString, "foo\u{1680}bar", "foo bar")
    expect(.opaqueString, "", .empty)
    expect(.opaqueString, "my cat is a \u{9}by", .disallowed("\u{9}"))
  }

  /// RFC 8266 3, table 1.
  @Test func nicknames() {
    expect(.nicknameKey, "Foo", "foo")
    expect(.nicknameKey, "foo", "foo")
    expect(.nicknameKey, "Foo Bar", "foo bar")
    expect(.nicknameKey, "foo bar", "foo bar")
    expect(.nicknameKey, "\u{3A3}", "\u{3C3}")
    expect(.nicknameKey, "\u{3C3}", "\u{3C3}")
    expect(.nicknameKey, "\u{3C2}", "\u{3C2}")
    expect(.nicknameKey, "\u{3D4}", "\u{3CB}")
    expect(.nicknameKey, "\u{221E}", "\u{221E}")
    expect(.nicknameKey, "Richard \u{2163}", "richard iv")
  }

  /// RFC 8266 2.1 and 2.3: spaces, compatibility forms, case kept.
  @Test func nicknamesForDisplay() {
    expect(.nickname, "Foo", "Foo")
    expect(.nickname, "stpeter ", "stpeter")
    expect(.nickname, "  St \u{3000}\u{A0} Peter  ", "St Peter")
    expect(.nickname, "Richard \u{2163}", "Richard IV")
    expect(.nickname, "\u{FF21}\u{FF42}", "Ab")
    // U+00A8 becomes a space and a mark: only the second pass removes the space (RFC 8266 2.1, "repeatedly").
    expect(.nickname, "\u{A8}x", "\u{308}x")
    expect(.nickname, " \u{2003} ", .empty)
    expect(.nickname, "", .empty)
    expect(.nickname, "a\u{7}b", .disallowed("\u{7}"))
  }
}

@Suite struct PrecisRules {
  /// RFC 8265 3.3.1: width, case, NFC.
  @Test func mapping() {
    expect(.usernameCaseMapped, "\u{FF2A}uliet", "juliet")
    expect(.usernameCaseMapped, "\u{FF76}\u{FF9E}", "\u{30AC}")  // half-width KA and voiced mark, then composed
    expect(.usernameCaseMapped, "A\u{30A}", "\u{E5}")
    expect(.usernameCaseMapped, "\u{212B}", "\u{E5}")
    expect(.usernameCaseMapped, "\u{130}", "i\u{307}")
    expect(.usernameCaseMapped, "\u{10400}", "\u{10428}")
    expect(.usernameCaseMapped, "\u{1E9E}", "\u{DF}")
    expect(.usernameCaseMapped, "q\u{307}\u{323}", "q\u{323}\u{307}")
    expect(.opaqueString, "\u{FF21}", "\u{FF21}")
    expect(.opaqueString, "\u{2163}", "\u{2163}")
  }

  /// RFC 8264 9: one character of each category that is refused, and where.
  @Test func categories() {
    for scalar: Unicode.Scalar in [
      "\u{640}", "\u{7FA}", "\u{302E}", "\u{3035}", "\u{303B}",  // Exceptions
      "\u{378}", "\u{E0080}",  // Unassigned
      "\u{1100}", "\u{1160}", "\u{11A8}", "\u{A960}",  // OldHangulJamo
      "\u{61C}", "\u{17B4}", "\u{200E}", "\u{2066}", "\u{E0001}", "\u{FFFE}",  // PrecisIgnorableProperties
      "\u{7F}", "\u{85}", "\u{0}",  // Controls
      "\u{E000}", "\u{2028}", "\u{600}",  // in no category that allows
    ] {
      expect(.usernameCaseMapped, String(scalar), .disallowed(scalar))
      expect(.opaqueString, String(scalar), .disallowed(scalar))
      expect(.resource, String(scalar), .disallowed(scalar))
      expect(.nickname, String(scalar), .disallowed(scalar))
    }
    for scalar: Unicode.Scalar in ["\u{AD}", "\u{200B}", "\u{FE0F}", "\u{10FFFF}"] {
      expect(.usernameCaseMapped, String(scalar), .disallowed(scalar))
      expect(.opaqueString, String(scalar), .disallowed(scalar))
    }
    for scalar: Unicode.Scalar in [
      "\u{FB01}", "\u{2460}",  // HasCompat
      "\u{488}", "\u{2180}", "\u{BF0}",  // OtherLetterDigits
      "\u{20AC}", "\u{2190}", "\u{1F600}",  // Symbols
      "\u{2010}", "\u{AB}", "\u{BF}",  // Punctuation
    ] {
      expect(.usernameCaseMapped, String(scalar), .disallowed(scalar))
      expect(.opaqueString, String(scalar), String(scalar))
    }
    for scalar: Unicode.Scalar in [
      "\u{DF}", "\u{3C2}", "\u{6FD}", "\u{F0B}", "\u{3007}", "^", "+", "\u{4E00}", "\u{1F600}",
    ] {
      expect(.opaqueString, String(scalar), String(scalar))
    }
  }

  /// RFC 5892 Appendix A, rule by rule: allowed here, refused there. Identifiers are judged after mapping to lower
  /// case.
  @Test(
    arguments: [
      // A.1: after a virama, or where letters would join.
      ("\u{915}\u{94D}\u{200C}\u{937}", nil), ("\u{628}\u{200C}\u{627}", nil),
      ("\u{628}\u{64E}\u{200C}\u{64E}\u{627}", nil),
      ("a\u{200C}b", "\u{200C}"), ("\u{628}\u{200C}", "\u{200C}"), ("\u{200C}\u{627}", "\u{200C}"),
      ("\u{627}\u{200C}\u{628}", "\u{200C}"), ("\u{628}\u{200C}\u{627}\u{200C}\u{627}", "\u{200C}"),
      // A.2: after a virama.
      ("\u{915}\u{94D}\u{200D}\u{937}", nil), ("\u{628}\u{200D}\u{627}", "\u{200D}"), ("\u{200D}", "\u{200D}"),
      // A.3: between two l.
      ("l\u{B7}l", nil), ("L\u{B7}l", "\u{B7}"), ("l\u{B7}", "\u{B7}"), ("\u{B7}l", "\u{B7}"), ("a\u{B7}l", "\u{B7}"),
      // A.4: before Greek.
      ("\u{375}\u{3B1}", nil), ("\u{3B1}\u{375}", "\u{375}"), ("\u{375}a", "\u{375}"),
      // A.5 and A.6: after Hebrew.
      ("\u{5D0}\u{5F3}", nil), ("\u{5D0}\u{5F4}\u{5D1}", nil), ("\u{5F3}\u{5D0}", "\u{5F3}"), ("a\u{5F4}", "\u{5F4}"),
      // A.7: with Hiragana, Katakana or Han somewhere.
      ("\u{30FB}\u{3042}", nil), ("\u{30A2}\u{30FB}", nil), ("\u{4E00}a\u{30FB}", nil), ("a\u{30FB}b", "\u{30FB}"),
      // A.8 and A.9: not both kinds of digits.
      ("\u{627}\u{660}\u{661}", nil), ("\u{627}\u{6F0}", nil), ("\u{627}\u{660}\u{6F0}", "\u{660}"),
      ("\u{627}\u{6F0}\u{660}", "\u{6F0}"),
    ] as [(String, Unicode.Scalar?)])
  func contextRules(string: String, refused: Unicode.Scalar?) {
    for profile in [Profile.usernameCaseMapped, .opaqueString] {
      let isMapped = profile == .usernameCaseMapped && string.unicodeScalars.contains("L")
      switch outcome(profile, string) {
      case .success: #expect(refused == nil || isMapped)
      case .failure(let error): #expect(refused.map { .disallowed($0) } == error)
      }
    }
  }

  /// RFC 5893 2, condition by condition. An opaque string has no such rule (RFC 8265 4.2.2).
  @Test(arguments: [
    ("\u{5D0}\u{5D1}", true), ("\u{627}1", true), ("\u{5D0}-1", true), ("\u{5D0}\u{5B0}", true), ("abc1", true),
    ("1\u{5D0}", false), ("\u{5B0}\u{5D0}", false), ("-\u{5D0}", false),  // 1
    ("\u{5D0}a", false), ("\u{5D0}a\u{5D0}", false),  // 2
    ("\u{5D0}-", false), ("\u{5D0}.", false),  // 3
    ("\u{627}1\u{661}", false),  // 4
    ("a\u{5D0}", false), ("a\u{661}", false), ("a\u{5D0}b", false),  // 5
    ("a-", true), ("a!", true),  // 6 does not hold, but nothing right-to-left is there
  ])
  func bidi(string: String, isAllowed: Bool) {
    #expect(outcome(.usernameCaseMapped, string) == (isAllowed ? .success(Array(string.utf8)) : .failure(.bidi)))
    #expect(outcome(.opaqueString, string) == .success(Array(string.utf8)))
  }

  @Test func bidiConditionSix() {
    #expect(!Bidi.permits("a-".unicodeScalars))
    #expect(Bidi.permits("a-b\u{301}".unicodeScalars))
    #expect(!Bidi.permits("a\u{202E}b".unicodeScalars))
  }

  @Test func bounds() {
    expect(.opaqueString, String(repeating: "a", count: 4092), String(repeating: "a", count: 4092))
    expect(.opaqueString, String(repeating: "a", count: 4093), .tooLong)
    expect(.nickname, String(repeating: " ", count: 5000), .tooLong)
  }

  /// Every output is stable under its own profile, keeps within the bound and is the same for canonically equal inputs.
  @Test func idempotence() throws {
    var random = SplitMix(seed: 8264)
    var accepted: [Profile: Int] = [:]
    for _ in 0..<5_000 {
      let string = randomString(&random)
      for profile in Profile.allCases {
        guard let once = try? profile.enforce(string) else { continue }
        accepted[profile, default: 0] += 1
        #expect(outcome(profile, once) == .success(Array(once.utf8)))
        let decomposed = Precis.makeString(canonicallyDecomposed(string))
        #expect(outcome(profile, decomposed) == .success(Array(once.utf8)))
      }
      if let jid = JID(parsing: "\(string)@\(string)/\(string)") {
        #expect(try JID(jid.description) == jid)
        #expect(try JID(local: jid.local, domain: jid.domain, resource: jid.resource).description == jid.description)
      }
      if let domain = try? Domainpart.enforce(string) {
        #expect(try Domainpart.enforce(domain) == domain)
      }
    }
    #expect(Profile.allCases.allSatisfy { accepted[$0, default: 0] > 500 })
  }

  /// Random octets are parsed or refused, and what is parsed has a stable normal form.
  @Test func randomOctets() throws {
    var random = SplitMix(seed: 7622)
    let telling = Array("a@/.-[]:xn%25".utf8)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
        Bool.random(using: &random) ? UInt8.random(in: 0...255, using: &random) : telling.randomElement(using: &random)!
      }
      guard let jid = bytes.withUnsafeBytes({ JID(parsing: $0) }) else { continue }
      #expect(try JID(jid.description) == jid)
      #expect(jid.bare.jid.bare == jid.bare)
    }
  }

  /// Up to six scalars, mostly from blocks where mapping, marks, contexts or directions are at work.
  private func randomString(_ random: inout SplitMix) -> String {
    let blocks: [ClosedRange<UInt32>] = [
      0x20...0x7E, 0xA0...0x24F, 0x300...0x36F, 0x370...0x3FF, 0x400...0x52F, 0x590...0x6FF, 0x900...0x97F,
      0x1100...0x11FF,
      0x13A0...0x13FF, 0x1E00...0x1FFF, 0x2000...0x206F, 0x2100...0x218F, 0x3000...0x30FF, 0xAB70...0xABBF,
      0xAC00...0xD7A3,
      0xF900...0xFB4F, 0xFF00...0xFFEF, 0x10400...0x1044F, 0x1D400...0x1D7FF, 0x0...0x10FFFF,
    ]
    let favourite = blocks.randomElement(using: &random)!
    var scalars: [Unicode.Scalar] = []
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let block = Bool.random(using: &random) ? favourite : blocks.randomElement(using: &random)!
      if let scalar = Unicode.Scalar(UInt32.random(in: block, using: &random)) { scalars.append(scalar) }
    }
    return Precis.makeString(scalars)
  }
}

/// Independent of the code under test as far as the standard library reaches: each scalar that NFC took from a pair is
/// put back by searching a canonically equal pair, which `String` comparison recognises.
private func canonicallyDecomposed(_ string: String) -> [Unicode.Scalar] {
  string.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
    guard let index = UnicodeTables.compositions.firstIndex(where: { $0 & 0x1F_FFFF == UInt64(scalar.value) }) else {
      return [scalar]
    }
    let entry = UnicodeTables.compositions[index]
    let pair = [Unicode.Scalar(UInt32(entry >> 42)), Unicode.Scalar(UInt32(entry >> 21 & 0x1F_FFFF))].compactMap(\.self)
    return Precis.makeString(pair) == String(scalar) ? pair : [scalar]
  }
}

/// RFC 3454 B.1 where PRECIS disallows: in resourceparts and nicknames, not in user names and passwords.
@Suite struct InvisibleCharactersTests {
  /// UTS 51: what phones type, and what is left of it.
  @Test(
    arguments: [
      ("Bee \u{2764}\u{FE0F}", "Bee \u{2764}"),
      ("\u{1F469}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{1F469}\u{1F469}\u{1F467}"),
      ("\u{1F44D}\u{1F3FD}", "\u{1F44D}\u{1F3FD}"),  // a skin tone is visible
      ("1\u{FE0F}\u{20E3}", "1\u{20E3}"),
      ("\u{1F1E9}\u{1F1EA}", "\u{1F1E9}\u{1F1EA}"),  // regional indicators are
      ("\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "\u{1F3F4}"),
      ("\u{845B}\u{E0100}\u{57CE}", "\u{845B}\u{57CE}"),
      ("An\u{AD}na\u{200B}\u{FEFF}", "Anna"), ("a\u{200C}b", "ab"), ("a\u{200D}b", "ab"),
      // After a virama, and where letters would join, joiners are the script's.
      ("\u{915}\u{94D}\u{200D}\u{937}", "\u{915}\u{94D}\u{200D}\u{937}"),
      ("\u{915}\u{94D}\u{200D}\u{200D}\u{937}", "\u{915}\u{94D}\u{200D}\u{937}"),
      ("\u{915}\u{94D}\u{FE0F}\u{200D}\u{937}", "\u{915}\u{94D}\u{200D}\u{937}"),
      ("\u{628}\u{200C}\u{627}", "\u{628}\u{200C}\u{627}"), ("\u{628}\u{200C}\u{200D}\u{627}", "\u{628}\u{627}"),
    ]) func areRemoved(text: String, left: String)
  {
    for profile in [Profile.resource, .nickname] {
      expect(profile, text, left)
      expect(profile, left, left)
    }
    #expect(outcome(.nicknameKey, text) == outcome(.nicknameKey, left))
  }

  @Test func inAnAddress() throws {
    #expect(try JID("romeo@montague.example/Bee \u{2764}\u{FE0F}").resource == "Bee \u{2764}")
    #expect(throws: JIDError.self) { try JID("romeo\u{FE0F}@montague.example") }
  }

  @Test func nothingIsLeft() {
    for profile in [Profile.resource, .nickname, .nicknameKey] { expect(profile, "\u{FE0F}\u{200D}", .empty) }
    expect(.nickname, "\u{2800}", .empty)
  }

  @Test func changesOfDirectionAreRefused() {
    for scalar: Unicode.Scalar in ["\u{200E}", "\u{202E}", "\u{2066}"] {
      expect(.resource, "a\(scalar)b", .disallowed(scalar))
      expect(.nickname, "a\(scalar)b", .disallowed(scalar))
    }
  }

  /// Two nicknames that differ by nothing visible are one.
  @Test func areNotCompared() {
    for name in ["Anna\u{200D}", "An\u{200B}na", "anna\u{FE0F}", "Anna\u{2800}", "\u{2800} ANNA"] {
      expect(.nicknameKey, name, "anna")
    }
    expect(.nicknameKey, "\u{645}\u{6CC}\u{200C}\u{62E}", "\u{645}\u{6CC}\u{62E}")
    expect(.nicknameKey, "A\u{2800}B", "a b")
  }
}
