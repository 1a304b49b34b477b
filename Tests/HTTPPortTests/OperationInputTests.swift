import Dialogs
import JSON
import Testing

@testable import HTTPPort

@Suite struct OperationInputTests {
  private struct Renaming: Decodable, Sendable {
    struct Part: Decodable, Sendable {
      let text: String
    }
    let jid: String
    let name: String?
    let parts: [Part]?
  }

  private func refusal(_ json: String, _ parameters: [String: String] = ["jid": "romeo"]) throws -> Problem? {
    var input = OperationInput()
    input.json = try JSONValue(parsing: json)
    input.parameters = parameters
    do throws(Problem) {
      #expect(try input.decodeStrictly(Renaming.self).jid == "romeo")
      return nil
    } catch { return error }
  }

  @Test func whatTheBodyHasIsKnown() throws {
    #expect(try refusal("{}") == nil)
    #expect(try refusal(#"{"jid":"romeo"}"#, [:]) == nil)
    #expect(try refusal(#"{"name":"x","parts":[{"text":"y"}]}"#) == nil)
  }

  /// The path's member counts: one of the same name in the body would be ignored.
  @Test(arguments: [
    (#"{"jid":"juliet"}"#, "jid"), (#"{"name":"x","jid":"romeo"}"#, "jid"), (#"{"jid":null}"#, "jid"),
    (#"{"jid":{"a":[1]}}"#, "jid"), (#"{"other":null}"#, "other"), (#"{"Name":"x"}"#, "Name"),
    (#"{"parts":[{"text":"y"},{"text":"y","texts":1}]}"#, "parts[1].texts"), (#"{"":1}"#, ""),
    ("{\"na\\u0000me\":1}", "na\u{0}me"),
  ])
  func whatItDoesNotKnowIsRefused(json: String, field: String) throws {
    let problem = try #require(try refusal(json))
    #expect(problem.kind == .malformed && problem.code == "field-unknown" && problem.field == field)
  }

  @Test func ofALongNameTheBeginningIsNamed() throws {
    let name = String(repeating: "x", count: 100_000)
    let unknown = try #require(try refusal(#"{"\#(name)":1}"#))
    #expect(unknown.field?.count == 128 && unknown.text.count < 200)
    let twice = #expect(throws: JSONError.self) { try JSONValue(parsing: #"{"\#(name)":1,"\#(name)":2}"#) }
    let problem = Problem(try #require(twice))
    #expect(problem.code == "json-malformed" && problem.field?.count == 128 && problem.text.count < 200)
  }
}
