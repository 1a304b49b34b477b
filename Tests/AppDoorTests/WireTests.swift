import JSON
import Testing

@testable import AppDoor

@Suite struct WireTests {
  @Test func everyValueIsWritten() throws {
    let samples = try Samples.rest() + Samples.events()
    #expect(samples.count > 30)
    for sample in samples { #expect(sample.held.isSubset(of: sample.written.leaves), "\(sample.schema)") }
  }

  @Test func repliesToo() throws {
    for sample in [
      try Sample("ok", ReplyFrame<EmptyBody>(re: "1")), try Sample("data", ReplyFrame(re: "1", data: Samples.message)),
      try Sample("error", ReplyFrame<MarkerBody>(re: "1", error: Samples.problem)),
    ] {
      #expect(sample.held.isSubset(of: sample.written.leaves), "\(sample.schema)")
    }
  }

  @Test func absentMembersAreLeftOut() throws {
    let sample = try Sample("User", UserBody(id: "a", jid: "a@b"))
    #expect(sample.written.text == #"{"id":"a","jid":"a@b","metadata":{}}"#)
  }

  @Test func everyEventHasASample() throws {
    #expect(Set(try Samples.events().map(\.schema)) == Set(EventName.allCases.map(\.rawValue)))
  }

  @Test func contentKeepsTheMembersOfItsType() throws {
    let text = #"{"type":"location","text":"here","lat":-1.50,"lng":2,"name":"x"}"#
    let content = try InputDecoder.decode(ContentBody.self, from: JSONValue(parsing: text))
    #expect(content.fields.text == #"{"lat":-1.50,"lng":2,"name":"x"}"#)
    var writer = JSONWriter()
    content.write(to: &writer)
    #expect(writer.text == text)
  }
}
