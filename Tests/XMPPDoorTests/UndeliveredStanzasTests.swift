import Addresses
import Basics
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Stanzas that did not reach another server (RFC 6120 8.3)")
struct UndeliveredStanzasTests {
  private func written(
    _ condition: String, _ form: Form = .direct, delayed: Timestamp? = nil, from: String? = "orchard",
    to: String? = "balcony"
  ) throws -> Element {
    let undelivered = Undelivered(
      dialog: DialogID(1), target: Position(2), peer: try party(7, "juliet@capulet.example"), fromResource: from,
      toResource: to, stanzaID: "m1",
      failure: FederationFailure(.wait, condition, "Not there."))
    var writer = StreamFraming.writer()
    UndeliveredStanzas.write(
      undelivered, form, delayed: delayed, to: try bare("romeo@montague.example"),
      session: "romeo@montague.example/desk", into: &writer)
    return try stanza(String(buffer: writer.buffer))
  }

  @Test("8.3.1") func theAddressesAreSwappedAndTheIDIsTheMessages() throws {
    let error = try written("remote-server-timeout")
    #expect(error["type"] == "error")
    #expect(error["id"] == "m1")
    #expect(error["from"] == "juliet@capulet.example/balcony")
    #expect(error["to"] == "romeo@montague.example/orchard")
    let read = try #require(error.first(.error))
    #expect(read["type"] == "wait")
    #expect(read.children.map(\.local) == ["remote-server-timeout", "text"])
    // An app's message has no resource, nor need the addressee have one.
    let plain = try written("gone", from: nil, to: nil)
    #expect(plain["from"] == "juliet@capulet.example")
    #expect(plain["to"] == "romeo@montague.example")
  }

  @Test("8.3.3") func aConditionThatIsNotDefinedIsAnUndefinedOne() throws {
    let error = try #require(try written("bored").first(.error))
    #expect(error.children.map(\.local) == ["undefined-condition", "text"])
  }

  @Test("XEP-0280 6.1, XEP-0203 4") func copiesAndDelays() throws {
    let copy = try written("gone", .carbonReceived)
    #expect(copy["to"] == "romeo@montague.example/desk")
    #expect(copy.children.map(\.local) == ["received"])
    let late = try written("gone", delayed: Timestamp(milliseconds: 0))
    #expect(late.children.map(\.local) == ["error", "delay"])
  }

  @Test func everyConditionAndTypeComesBack() {
    for condition in StanzaError.Condition.allCases {
      for type in StanzaError.Kind.allCases {
        let error = StanzaError(condition, "why", type: type)
        #expect(StanzaError(FederationFailure(error)) == error)
      }
    }
    let long = FederationFailure(StanzaError(.gone, String(repeating: "ab", count: Limits.failureTextMax)))
    #expect(long.text.utf8.count == Limits.failureTextMax)
  }
}
