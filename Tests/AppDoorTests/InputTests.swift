import JSON
import Testing

@testable import AppDoor

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
