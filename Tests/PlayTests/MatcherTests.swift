import JSON
import ParleyTesting
import Testing
import XMLStream

@Suite struct MatcherTests {
  private func xml(_ pattern: String, _ actual: String, _ captures: Captures = Captures()) throws -> Captures? {
    Matcher.match(
      try Element(xml: pattern.replacing("<m ", with: "<m xmlns:play='urn:parley:play' ")), try Element(xml: actual),
      captures)
  }

  private func json(_ pattern: String, _ actual: String, _ captures: Captures = Captures()) throws -> Captures? {
    Matcher.match(try JSONValue(parsing: pattern), try JSONValue(parsing: actual), captures)
  }

  @Test(arguments: [
    ("<m/>", "<m a='1'><b/></m>"),
    ("<m a='1'/>", "<m b='2' a='1'/>"),
    ("<m a='{absent}'/>", "<m b='2'/>"),
    ("<m> hi </m>", "<m>hi</m>"),
    ("<m><b/><a/></m>", "<m><a/><c/><b/></m>"),
    ("<m><a>{any}</a></m>", "<m><a/></m>"),
    ("<m ><a play:absent='yes'/></m>", "<m><b/></m>"),
    ("<m play:exact='yes'><a/></m>", "<m><a/></m>"),
    ("<m xmlns='x'/>", "<p:m xmlns:p='x'/>"),
  ])
  func elementMatches(pattern: String, actual: String) throws {
    #expect(try xml(pattern, actual) != nil)
  }

  @Test(arguments: [
    ("<m/>", "<n/>"),
    ("<m xmlns='x'/>", "<m xmlns='y'/>"),
    ("<m a='1'/>", "<m a='2'/>"),
    ("<m a='1'/>", "<m/>"),
    ("<m a='{any}'/>", "<m/>"),
    ("<m a='{absent}'/>", "<m a=''/>"),
    ("<m>hi</m>", "<m>ho</m>"),
    ("<m><a/><a/></m>", "<m><a/></m>"),
    ("<m ><a play:absent='yes'/></m>", "<m><a/></m>"),
    ("<m play:exact='yes'><a/></m>", "<m><a/><b/></m>"),
  ])
  func elementDiffers(pattern: String, actual: String) throws {
    #expect(try xml(pattern, actual) == nil)
  }

  /// The first child that fits may leave the second without one: both orders must be tried.
  @Test func childrenArePlacedByTrial() throws {
    let found = try xml("<m><a>{x}</a><a n='1'/></m>", "<m><a n='1'>one</a><a>two</a></m>")
    #expect(found?["x"] == "two")
  }

  @Test func capturesBindOnce() throws {
    #expect(try xml("<m a='{x}' b='{x}'/>", "<m a='1' b='1'/>")?["x"] == "1")
    #expect(try xml("<m a='{x}' b='{x}'/>", "<m a='1' b='2'/>") == nil)
    #expect(try xml("<m a='{x}'/>", "<m a='1'/>", Captures(["x": "2"])) == nil)
  }

  @Test(arguments: [
    ("{a}@{b}/c", "x@y/c", ["a": "x", "b": "y"]),
    ("{a}-{b}", "1-2-3", ["a": "1", "b": "2-3"]),
    ("[{a}]", "[]", ["a": ""]),
    ("{any}/{r}", "romeo@localhost/orchard", ["r": "orchard"]),
    ("{not a name}", "{not a name}", [:]),
  ])
  func textIsTakenApart(pattern: String, text: String, expected: [String: String]) {
    var captures = Captures()
    let matches = captures.match(pattern, text)
    #expect(matches)
    #expect(captures == Captures(expected))
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"b":2,"a":1}"#),
    (#"{"a":"{absent}"}"#, #"{"b":2}"#),
    (#"{"a":{"b":"{any}"}}"#, #"{"a":{"b":[1,2]}}"#),
    (#"[1,{"a":2}]"#, #"[1,{"a":2,"b":3}]"#),
    (#"[1,"..."]"#, "[1,2,3]"),
    (#"["..."]"#, "[]"),
    (#"{"n":"{x}"}"#, #"{"n":12}"#),
  ])
  func valueMatches(pattern: String, actual: String) throws {
    #expect(try json(pattern, actual) != nil)
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"a":"1"}"#),
    (#"{"a":1}"#, "{}"),
    (#"{"a":"{absent}"}"#, #"{"a":null}"#),
    ("[1]", "[1,2]"),
    (#"[1,"..."]"#, "[]"),
    ("[1,2]", "[2,1]"),
    ("null", "false"),
  ])
  func valueDiffers(pattern: String, actual: String) throws {
    #expect(try json(pattern, actual) == nil)
  }

  @Test func fillingEscapes() throws {
    let captures = Captures(["x": "<\"&'>\\"])
    #expect(try captures.fill("a={x}", .xml) == "a=&lt;&quot;&amp;&apos;&gt;\\")
    #expect(try captures.fill(#""{x}""#, .json) == #""<\"&'>\\""#)
    #expect(try captures.fill("{x}", .none) == "<\"&'>\\")
    #expect(throws: UnknownCapture.self) { try captures.fill("{y}", .none) }
  }

  /// The value is that of `RegistrationProofTests`.
  @Test func aProofOfWorkIsComputed() throws {
    let id = "0000018bcfee8fc00123456789abcdefd8a1e61a58218816c424017ef28c0524"
    let captures = Captures(["text": "localhost" + id, "id": id, "target": "de"])
    let proof = "localhost\(id)258"
    #expect(try captures.fill("{proof.text.target}", .none) == proof)
    #expect(try captures.fill("{proof.localhost.id.target}", .none) == proof)
    #expect(throws: UnknownCapture.self) { try captures.fill("{proof.text.missing}", .none) }
  }
}
