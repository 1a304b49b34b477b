import Addresses
import Basics
import Dialogs
import HTTPPort
import JSON
import NIOCore
import Testing

@testable import AppDoor

@Suite struct AddressTests {
  @Test func userIDsBecomeAddresses() throws {
    #expect(try Checks.address("Romeo", domain: "localhost").description == "romeo@localhost")
    #expect(try Checks.address("romeo@example.net", domain: "localhost").description == "romeo@example.net")
    for bad in ["", "a b", "a/b", "@", "a@", "romeo@localhost/r", String(repeating: "x", count: 2_000)] {
      #expect(throws: Problem.self) { try Checks.address(bad, domain: "localhost") }
    }
  }
}

@Suite struct ContentTests {
  private func content(_ text: String, metadata: String? = nil) throws -> Content {
    try Checks.content(
      InputDecoder.decode(ContentBody.self, from: JSONValue(parsing: text)),
      metadata: metadata.map { RawObject(trusted: $0) })
  }

  @Test func sentContentIsKept() throws {
    let text = try content(#"{"type":"text","text":"hi","unknown":1}"#)
    #expect(text == Content(kind: .text, text: "hi"))
    let place = try content(#"{"type":"location","lat":51.50,"lng":-0.1}"#)
    #expect(place == Content(kind: .location, text: "geo:51.50,-0.1", fields: #"{"lat":51.50,"lng":-0.1}"#))
    let poll = try content(
      #"{"type":"custom","kind":"poll","payload":{"q":[1]},"text":"A poll"}"#, metadata: #"{"m":1}"#)
    let stored = try #require(poll.fields)
    #expect(stored == #"{"kind":"poll","payload":{"q":[1]},"metadata":{"m":1}}"#)
    let (fields, metadata) = StoredFields.split(RawObject(trusted: stored))
    #expect(fields.text == #"{"kind":"poll","payload":{"q":[1]}}"#)
    #expect(metadata?.text == #"{"m":1}"#)
  }

  @Test(arguments: [
    (#"{"type":"text"}"#, "text-missing"), (#"{"type":"text","text":""}"#, "text-missing"),
    (#"{"type":"text","text":" \u00a0\n"}"#, "text-missing"), (#"{"type":"text","text":"\u200b"}"#, "text-missing"),
    (#"{"type":"text","text":"\u3164 \u2800\ufe0f"}"#, "text-missing"),
    (#"{"type":"telepathy","text":"x"}"#, "content-type-unknown"),
    (#"{"type":"image","text":"x"}"#, "attachments-missing"),
    (#"{"type":"system","text":"x"}"#, "content-type-reserved"),
    (#"{"type":"text","text":"a\u0000b"}"#, "character-not-allowed"),
    (#"{"type":"text","text":"a\uffffb"}"#, "character-not-allowed"),
    (#"{"type":"custom","text":"x"}"#, "content-kind-missing"),
    (#"{"type":"location","lat":91,"lng":0}"#, "coordinate-malformed"),
    (#"{"type":"location","lat":"1","lng":0}"#, "coordinate-malformed"),
    (#"{"type":"location","lat":1,"lng":1e999}"#, "coordinate-malformed"),
    (#"{"type":"text","text":"x","metadata":{}}"#, "metadata-misplaced"),
  ])
  func unsendableContentIsRefused(text: String, code: String) {
    #expect { try content(text) } throws: { ($0 as? Problem)?.code == code }
  }

  /// Beside them, what shows nothing by itself is sent as it is.
  @Test(arguments: [" x ", "\u{2764}\u{FE0F}", "\u{200F}.", "\u{915}\u{94D}\u{200D}"])
  func invisibleCharactersAreSentWithVisibleOnes(text: String) throws {
    let json = JSONValue.object([.init("type", .string("text")), .init("text", .string(text))])
    #expect(try content(json.text).text == text)
  }

  @Test func textIsCountedInCharacters() throws {
    let most = String(repeating: "é", count: Limits.textCharactersMax)
    #expect(try content(#"{"type":"text","text":"\#(most)"}"#).text == most)
    #expect { try content(#"{"type":"text","text":"\#(most)x"}"#) } throws: {
      ($0 as? Problem)?.code == "text-too-long"
    }
  }
}

@Suite struct ContactStateTests {
  /// The nine states of RFC 6121 A.1, as `docs/app-protocol.md` has them.
  @Test(arguments: [
    (Subscription.none, ContactBody.State.none), (.nonePendingOut, .pendingOut), (.nonePendingIn, .pendingIn),
    (.nonePendingOutIn, .pendingIn), (.to, .following), (.toPendingIn, .pendingIn), (.from, .followedBy),
    (.fromPendingOut, .pendingOut), (.both, .mutual),
  ])
  func nineStates(subscription: Subscription, state: ContactBody.State) {
    #expect(subscription.wireState == state)
  }
}
