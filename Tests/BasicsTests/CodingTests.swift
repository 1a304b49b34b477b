import Basics
import Foundation
import Testing

@Suite struct Base64Tests {
  /// RFC 4648 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func vectors(plain: String, encoded: String) {
    #expect(Base64.string(Array(plain.utf8)) == encoded)
    #expect(Base64.decode(Array(encoded.utf8)) == Array(plain.utf8))
  }

  @Test func everyByteSurvives() {
    let all = Array(UInt8.min...UInt8.max)
    for length in 0...all.count {
      #expect(Base64.decode(Base64.encode(all.prefix(length))) == Array(all.prefix(length)))
    }
  }

  /// RFC 4648 3.2, 3.3, 3.5; RFC 6120 6.3.5.
  @Test(arguments: [
    "Z", "Zg", "Zg=", "Zg= =", "Zm9v\n", "Zm9v Zm9v", "=", "====", "Z===", "Zg==Zg==", "Zm9=v", "Zh==", "Zm9=", "Zm-v",
    "Zm_v", "Zm9é",
  ])
  func refused(text: String) {
    #expect(Base64.decode(Array(text.utf8)) == nil)
  }

  @Test func bitsThatAreLeftMayBeTolerated() {
    #expect(Base64.decode("Zh==".utf8, canonical: false) == Array("f".utf8))
    #expect(Base64.decode("Z===".utf8, canonical: false) == nil)
  }

  /// RFC 4648 5: one text for the same bytes, and Foundation's where it is other letters and padding.
  @Test func base64URLHasOneForm() {
    #expect(Base64URL.decode("".utf8) == [])
    #expect(Base64URL.decode("-_8".utf8) == [0xfb, 0xff])
    #expect(Base64URL.decode("AA".utf8) == [0])
    for wrong in ["A", "AB", "AAB", "AA==", "A A", "+/8", "AAAAA", "AA\n"] {
      #expect(Base64URL.decode(wrong.utf8) == nil, "\(wrong)")
    }
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 73 + 5) }
      let text = Base64URL.string(bytes)
      #expect(Base64URL.decode(text.utf8) == bytes)
      let padding = String(repeating: "=", count: -text.count & 3)
      let standard = text.replacing("-", with: "+").replacing("_", with: "/") + padding
      #expect(Data(base64Encoded: standard) == Data(bytes))
    }
  }

  /// RFC 4648 10, without the padding.
  @Test(arguments: [
    ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
    ("foobar", "MZXW6YTBOI"),
  ])
  func base32(plain: String, encoded: String) {
    #expect(Base32.string(plain.utf8) == encoded)
    #expect(Base32.decode(encoded.utf8) == Array(plain.utf8))
  }

  @Test(arguments: ["A", "my", "MZ", "M1", "MY======", "MYA"])
  func wrongBase32(text: String) { #expect(Base32.decode(text.utf8) == nil) }
}

@Suite struct HexTests {
  @Test func digitsAreInLowerCase() {
    #expect(Hex.string([0, 0x0f, 0xa5, 0xff]) == "000fa5ff")
    #expect("09afAF".utf8.map { Hex.value(ofDigit: $0) } == [0, 9, 10, 15, 10, 15])
    #expect("/:@G`g".utf8.allSatisfy { Hex.value(ofDigit: $0) == nil })
  }

  /// RFC 9562 4.1, 4.2.
  @Test func uuidsSayTheirVersion() {
    #expect(Hex.uuid([UInt8](repeating: 0xff, count: 16), version: 4) == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    #expect(Hex.uuid([UInt8](repeating: 0, count: 16), version: 8) == "00000000-0000-8000-8000-000000000000")
  }
}

@Suite struct PercentEncodingTests {
  @Test(arguments: [
    ("romeo", "romeo"), ("r%C3%B6meo", "römeo"), ("a%2Fb", "a/b"), ("100%", nil), ("%zz", nil), ("%ff", nil), ("", ""),
    ("%E2%82", nil), ("a%4", nil),
  ])
  func decoding(text: String, expected: String?) { #expect(PercentEncoding.decode(text) == expected) }

  /// RFC 3986 2.1, 2.3.
  @Test func everythingElseIsEncoded() {
    #expect(PercentEncoding.encode("aZ09-._~ /ö") == "aZ09-._~%20%2F%C3%B6")
    #expect(PercentEncoding.encode("a@b/c", keeping: "@") == "a@b%2Fc")
  }
}

@Suite struct BytesTests {
  @Test func bytesAreComparedWhole() {
    let bytes: [UInt8] = [1, 2, 3]
    #expect(bytes.isEqualInConstantTime(to: [1, 2, 3]) && [UInt8]().isEqualInConstantTime(to: []))
    #expect(!bytes.isEqualInConstantTime(to: [1, 2, 4]) && !bytes.isEqualInConstantTime(to: [1, 2]))
  }

  @Test func randomBytesAreAsManyAsAsked() {
    #expect([UInt8].random(count: 32).count == 32)
    #expect([UInt8].random(count: 32) != [UInt8].random(count: 32))
  }
}
