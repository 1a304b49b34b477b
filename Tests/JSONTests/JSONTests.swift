import Basics
import Foundation
import JSON
import Testing

@Suite struct JSONTests {
  @Test(arguments: [
    "{}", "[]", #"{"a":1,"b":[true,false,null,"x"]}"#, "-0.5e+10", "0", #""""#, #"{"a":{"b":{"c":[1,2,3]}}}"#,
    #""é日本😀""#,
  ])
  func parsedTextIsWrittenUnchanged(text: String) throws {
    #expect(try JSONValue(parsing: text).text == text)
  }

  @Test func spaceAndEscapesAreRead() throws {
    let value = try JSONValue(parsing: " { \"a\" :\t\"\\u0041\\n\\\"\\/\\ud83d\\ude00\" ,\r\n \"b\" : [ ] } ")
    #expect(value["a"] == .string("A\n\"/😀"))
    #expect(value["b"] == .array([]))
  }

  /// RFC 8259, and what Parley asks beyond it.
  @Test(arguments: [
    "", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "{'a':1}", "[1 2]", "01", "1.", ".5", "+1", "1e", "-", "NaN", "tru",
    "nulll", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "\"\u{1}\"",
    "{} {}", "{\"a\":1,\"a\":2}", "\u{feff}{}", "{\"a\"}", "{\"a\":}", "]", "// x\n1",
  ])
  func textThatIsNoJSONIsRefused(text: String) {
    #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
  }

  @Test(arguments: [
    [0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xe2, 0x82],
  ])
  func badUTF8IsRefused(bytes: [UInt8]) {
    #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
  }

  @Test func nestingIsBounded() throws {
    func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    let deepest = try JSONValue(parsing: nested(JSONValue.depthMax + 1))
    #expect(deepest.text.utf8.count == 2 * (JSONValue.depthMax + 1))
    #expect(throws: JSONError.self) { try JSONValue(parsing: nested(JSONValue.depthMax + 2)) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: String(repeating: "[", count: 60_000)) }
  }

  @Test func valuesAreBounded() throws {
    // The array is a value, too.
    let three = Array("[0,{\"a\":1}]".utf8)
    #expect(try JSONValue(parsing: three, valuesMax: 4) == JSONValue(parsing: three))
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: three, valuesMax: 3) }
    #expect(error?.reason == "The JSON has more than 3 values")
  }

  @Test func manyMembersAreStillTold() throws {
    let members = (0..<1_000).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
    #expect(try JSONValue(parsing: "{\(members)}")["m999"] == .number("999"))
    #expect(throws: JSONError.self) { try JSONValue(parsing: "{\(members),\"m17\":0}") }
  }

  @Test func theErrorNamesWhatIsThereTwice() {
    for (text, member) in [
      (#"{"a":1,"b":[{"c":1,"c":2}]}"#, "c"), (#"{"a\u0062":1,"ab":2}"#, "ab"),
      (#"{"\u202e":1,"\u202e":2}"#, "\u{202e}"),
    ] {
      let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
      #expect(error?.member == member)
      #expect(error?.reason.contains("\u{202e}") == false)
    }
    let other = #expect(throws: JSONError.self) { try JSONValue(parsing: "{") }
    #expect(other != nil && other?.member == nil)
  }

  @Test func theErrorSaysWhere() {
    #expect { try JSONValue(parsing: "{\"a\":x}") } throws: { ($0 as? JSONError)?.offset == 5 }
  }

  @Test func everyByteIsEscapedRight() throws {
    let text = String(String.UnicodeScalarView((0..<0x300).compactMap { Unicode.Scalar(UInt32($0)) }))
    var writer = JSONWriter()
    writer.string(text)
    #expect(try JSONValue(parsing: writer.bytes) == .string(text))
  }

  /// Every truncation and every single-byte change ends in a value or an error.
  @Test func damageNeverTraps() {
    let text = Array(
      #"{"id":"1","type":"message.send","data":{"content":{"text":"\u00e9\ud83d\ude00","n":[-1.5e3,true,null]}}}"#.utf8)
    var accepted = 0
    for index in text.indices {
      if (try? JSONValue(parsing: Array(text[..<index]))) != nil { accepted += 1 }
      for change: UInt8 in [0x00, 0x22, 0x5c, 0x7b, 0x80, 0xff] {
        var damaged = text
        damaged[index] = change
        if let value = try? JSONValue(parsing: damaged) {
          accepted += 1
          #expect((try? JSONValue(parsing: value.text)) == value)
        }
      }
    }
    #expect(accepted > 0 && accepted < text.count * 6)
  }
}

@Suite struct JSONEncodingTests {
  private struct Inner: Codable, Hashable {
    var flag: Bool
    var ratio: Double
    var nothing: Int?
  }
  private struct Outer: Codable, Hashable {
    var name: String
    var count: UInt64
    var inner: [Inner]
    var map: [String: Int8]
    var any: JSONValue
    var raw: RawObject
  }

  private static let sample = Outer(
    name: "a\"b", count: .max, inner: [Inner(flag: true, ratio: -0.5), Inner(flag: false, ratio: 45, nothing: 1)],
    map: ["x": -1], any: .array([.null, .number("1.50")]), raw: RawObject(trusted: #"{"k":[1]}"#))

  /// A member is unknown if the type does not look it up, wherever it is; what is kept as it is has only known ones.
  @Test(arguments: [
    (#"{"name":"a","count":1,"inner":[],"map":{"x":1},"any":{"y":1},"raw":{"z":1}}"#, nil as String?),
    (#"{"name":"a","extra":1,"count":1,"inner":[],"map":{},"any":1,"raw":{}}"#, "extra"),
    (
      #"{"name":"a","count":1,"inner":[{"flag":true,"ratio":1},{"flag":true,"ratio":1,"b":2}],"map":{},"any":1,"#
        + #""raw":{}}"#, "inner[1].b"
    ),
  ])
  func unknownMembersAreFound(text: String, unknown: String?) throws {
    #expect(try InputDecoder.decodeNotingUnknown(Outer.self, from: JSONValue(parsing: text)).unknown == unknown)
  }

  private struct Nothing: Decodable {}

  @Test func aTypeWithoutMembersKnowsNone() throws {
    #expect(try InputDecoder.decodeNotingUnknown(Nothing.self, from: JSONValue(parsing: "{}")).unknown == nil)
    #expect(try InputDecoder.decodeNotingUnknown(Nothing.self, from: JSONValue(parsing: #"{"a":1}"#)).unknown == "a")
  }

  @Test func valuesAreEncodedAndComeBack() throws {
    let value = try JSONValue(encoding: Self.sample)
    #expect(
      value.sorted().text
        == #"{"any":[null,1.50],"count":18446744073709551615,"inner":[{"flag":true,"ratio":-0.5},"#
        + #"{"flag":false,"nothing":1,"ratio":45}],"map":{"x":-1},"name":"a\"b","raw":{"k":[1]}}"#)
    #expect(try InputDecoder.decode(Outer.self, from: JSONValue(parsing: value.text)) == Self.sample)
    #expect(try JSONValue(encoding: [Inner]()).text == "[]")
    #expect(throws: EncodingError.self) { try JSONValue(encoding: Inner(flag: true, ratio: .infinity)) }
  }

  @Test func textForPeopleHasLines() throws {
    let value = try JSONValue(parsing: #"{"a":[1,{"b":null}],"c":{},"d":[]}"#)
    #expect(
      value.prettyText == """
        {
          "a" : [
            1,
            {
              "b" : null
            }
          ],
          "c" : {},
          "d" : []
        }
        """)
    #expect(try JSONValue(parsing: value.prettyText) == value)
  }
}
