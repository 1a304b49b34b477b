import AppProtocol
import Basics
import Foundation
import Testing

@Suite struct JSONTests {
  @Test(arguments: [
    "{}", "[]", #"{"a":1,"b":[true,false,null,"x"]}"#, "-0.5e+10", "0", #""""#, #"{"a":{"b":{"c":[1,2,3]}}}"#,
    #""é日本😀""#,
  ])
  func whatIsParsedComesBackAsItWas(text: String) throws {
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
  func whatIsNoJSONIsRefused(text: String) {
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

  @Test func manyMembersAreStillTold() throws {
    let members = (0..<1_000).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
    #expect(try JSONValue(parsing: "{\(members)}")["m999"] == .number("999"))
    #expect(throws: JSONError.self) { try JSONValue(parsing: "{\(members),\"m17\":0}") }
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

@Suite struct InputTests {
  private func decode<Input: Decodable>(
    _ type: Input.Type, _ text: String, _ parameters: [String: String] = [:]
  ) throws -> Input {
    try InputDecoder.decode(type, from: JSONValue(parsing: text), parameters: parameters)
  }

  @Test func pathAndBodyMakeOneInput() throws {
    let one = try decode(
      SendMessageInput.self, #"{"clientId":"c","content":{"type":"text","text":"hi"},"dialogId":"forged","more":1}"#,
      ["dialogId": "d"])
    let other = try decode(
      SendMessageInput.self, #"{"dialogId":"d","clientId":"c","content":{"text":"hi","type":"text"}}"#)
    #expect(one == other)
    #expect(one == SendMessageInput(dialogId: "d", clientId: "c", content: ContentBody(type: "text", text: "hi")))
  }

  @Test func parametersAreNumbersWhereNumbersAreWanted() throws {
    let input = try decode(SyncInput.self, "{}", ["cursor": "17", "limit": "20", "wait": "0"])
    #expect(input == SyncInput(cursor: "17", limit: 20, wait: 0))
  }

  @Test(arguments: [
    (#"{"clientId":"c","content":{"type":"text"}}"#, "dialogId", "is missing"),
    (#"{"dialogId":"d","clientId":1,"content":{"type":"text"}}"#, "clientId", "must be a string, not a number"),
    (#"{"dialogId":"d","clientId":"c","content":[]}"#, "content", "must be an object, not an array"),
    (#"{"dialogId":"d","clientId":"c","content":{"text":"x"}}"#, "content.type", "is missing"),
    (#"{"dialogId":"d","clientId":"c","content":{"type":"text","text":null}}"#, "", ""),
    (
      #"{"dialogId":"d","clientId":"c","content":{"type":"text","text":5}}"#, "content.text",
      "must be a string, not a number"
    ),
    (#"{"dialogId":"d","clientId":"c","content":{"type":"text"},"metadata":[1]}"#, "metadata", "must be an object"),
    (#"[]"#, "", "must be an object, not an array"),
  ])
  func theErrorNamesTheMember(text: String, path: String, reason: String) throws {
    guard !reason.isEmpty else {
      // null is absent.
      #expect(try decode(SendMessageInput.self, text).content?.text == "")
      return
    }
    #expect { try decode(SendMessageInput.self, text) } throws: { error in
      (error as? InputError)?.path == path && (error as? InputError)?.text == reason
    }
  }

  @Test func aTextIsNoNumberInABody() {
    #expect(throws: InputError.self) { try decode(SyncInput.self, #"{"limit":"20"}"#) }
    #expect(throws: InputError.self) { try decode(TypingInput.self, #"{"dialogId":"d","on":"true"}"#) }
    #expect(throws: InputError.self) { try decode(SyncInput.self, "{}", ["limit": "2x"]) }
    #expect(throws: InputError.self) { try decode(SyncInput.self, #"{"limit":1.5}"#) }
  }

  @Test func absentNullAndValueDiffer() throws {
    let input = try decode(UpdateMeInput.self, #"{"name":null,"metadata":{"a":[1,2.50]}}"#)
    #expect(input.name == .clear)
    #expect(input.status == .keep)
    #expect(input.metadata == .set(RawObject(trusted: #"{"a":[1,2.50]}"#)))
  }

  @Test func framesThatCannotBeAnsweredAreRefused() throws {
    let frame = try CommandFrame(JSONValue(parsing: #"{"id":"7","type":"ping"}"#))
    #expect(frame == CommandFrame(id: "7", type: "ping", data: .object([])))
    for text in [#"[]"#, #"{"type":"ping"}"#, #"{"id":7,"type":"ping"}"#, #"{"id":"","type":"ping"}"#, #"{"id":"1"}"#] {
      #expect(throws: InputError.self) { try CommandFrame(JSONValue(parsing: text)) }
    }
    let long = String(repeating: "x", count: CommandFrame.idBytesMax + 1)
    #expect(throws: InputError.self) { try CommandFrame(JSONValue(parsing: #"{"id":"\#(long)","type":"ping"}"#)) }
  }
}

@Suite struct WireTimeTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (1_784_021_400_123, "2026-07-14T09:30:00.123Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
    (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
  ])
  func known(milliseconds: Int64, text: String) {
    #expect(WireTime(milliseconds: milliseconds).text == text)
    #expect(WireTime(text)?.milliseconds == milliseconds)
  }

  @Test func everyDayOfFourCenturiesComesBack() {
    var day = WireTime("1890-01-01T00:00:00.000Z")?.milliseconds ?? 0
    var wrong = 0
    for _ in 0..<146_097 {
      let time = WireTime(milliseconds: day + 43_201_007)
      if WireTime(time.text) != time { wrong += 1 }
      day += 86_400_000
    }
    #expect(wrong == 0)
  }

  @Test(arguments: [
    "2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-01T00:00:00Z",
    "2026-01-01 00:00:00.000Z", "2026-01-01T00:00:60.000Z", "", "2026-01-01T00:00:00.000+", "+026-01-01T00:00:00.000Z",
  ])
  func whatIsNoTimeIsRefused(text: String) { #expect(WireTime(text) == nil) }
}
