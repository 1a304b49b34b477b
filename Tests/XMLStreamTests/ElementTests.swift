import Testing

@testable import XMLStream

@Suite struct NameTests {
  @Test func hashOfAParsedNameIsThatOfTheName() throws {
    // Around the steps of the hash: 1 to 3, 4 to 7, 8 and more bytes.
    let names = [
      Name("a", ""), Name("ab", "u"), Name("abc", "ur"), Name("abcd", "urn:x"), Name("abcdefg", "urn:xm:"),
      Name("abcdefgh", "urn:xmpp"),
      Name("abcdefghi", "urn:xmpp:receipts"), Name("abcdefghijklmnopq", "http://jabber.org/protocol/disco#info"),
    ]
    for name in names {
      let element = try Element(xml: "<\(name.local) xmlns='\(name.namespace)'/>")
      #expect(element.nameHash == name.hash && element.is(name))
      #expect(Element(name).nameHash == name.hash)
      for other in names where other != name {
        #expect(!element.is(other) && other.hash != name.hash)
      }
    }
  }

  @Test func namesThatLookAlike() throws {
    let name = Name("ab", "c")
    for xml in ["<a xmlns='bc'/>", "<abc/>", "<ab/>", "<ab xmlns='C'/>", "<Ab xmlns='c'/>", "<c xmlns='ab'/>"] {
      #expect(try !Element(xml: xml).is(name))
    }
    #expect(name == Name("ab", "c") && name != Name("a", "bc"))
    #expect(name.description == "{c}ab")
  }
}

@Suite struct ElementTests {
  static let message = Name("message", "jabber:client")
  static let body = Name("body", "jabber:client")
  static let active = Name("active", "http://jabber.org/protocol/chatstates")

  @Test func queries() throws {
    let element = try Element(
      parsing: Array(
        "<message to='juliet@example.com' type='chat' id=''><body>Art thou &amp; Romeo?</body><active xmlns='http://jabber.org/protocol/chatstates'/><body>2</body></message>"
          .utf8))
    #expect(element.is(Self.message))
    #expect(element["to"] == "juliet@example.com" && element["id"] == "" && element["from"] == nil)
    #expect(
      element.has("type", equalTo: "chat") && !element.has("type", equalTo: "cha")
        && !element.has("typ", equalTo: "chat") && element.has("id", equalTo: ""))
    #expect(element.withAttribute("to") { $0.count } == 18)
    #expect(element.withAttribute("none") { $0.count } == nil)
    #expect(element.first(Self.body)?.text == "Art thou & Romeo?")
    #expect(element.first(Self.active)?.hasText == false)
    #expect(element.first(Self.message) == nil)
    #expect(element.children.map(\.local) == ["body", "active", "body"])
    #expect(!element.hasText && element.text == "")
    #expect(element.attributes.map(\.local) == ["to", "type", "id"])
  }

  @Test func textIsWhatIsDirectlyWithin() throws {
    let element = try Element(xml: "<a>1<b>x</b>2<c/>&lt;3</a>")
    #expect(element.text == "12<3")
    #expect(element.withText { $0.count } == 4)
    #expect(element.first(Name("b", ""))?.text == "x")
  }

  @Test func childKeepsTheBlockAlive() throws {
    func child() throws -> Element? { try Element(xml: "<a xmlns='u'><b>text</b></a>").first(Name("b", "u")) }
    #expect(try child()?.text == "text")
  }

  @Test func equalityIsStructural() throws {
    func same(_ a: String, _ b: String) throws -> Bool { try Element(xml: a) == Element(xml: b) }
    #expect(try same("<a b='1' c='2'/>", "<a c=\"2\" b='&#49;'></a>"))
    #expect(try same("<p:a xmlns:p='u' p:b='1'><p:c/></p:a>", "<a xmlns='u' xmlns:q='u' q:b='1'><c/></a>"))
    #expect(try same("<a>x<![CDATA[y]]></a>", "<a>xy</a>"))
    #expect(try !same("<a b='1'/>", "<a b='2'/>"))
    #expect(try !same("<a b='1'/>", "<a c='1'/>"))
    #expect(try !same("<a b='1'/>", "<a/>"))
    #expect(try !same("<a b='1'/>", "<a xmlns:p='u' p:b='1'/>"))
    #expect(try !same("<a xmlns='u'/>", "<a/>"))
    #expect(try !same("<a>x</a>", "<a>y</a>"))
    #expect(try !same("<a>x</a>", "<a/>"))
    #expect(try !same("<a>x<b/></a>", "<a><b/>x</a>"))
    #expect(try !same("<a><b/><c/></a>", "<a><c/><b/></a>"))
    #expect(try !same("<a><b/></a>", "<a><b/><b/></a>"))
    #expect(try !same("<a><b/></a>", "<a><b>x</b></a>"))
  }

  @Test func builtElementEqualsParsed() throws {
    let built = Element(
      Self.message, ["to": "a@b", "type": nil, "xml:lang": "en", "id": "1<2"], text: "t & u",
      [Element(Self.body, text: "Hi"), Element(Self.active, ["x": "'"], [Element(Self.body)])])
    let parsed = try Element(
      xml:
        "<message xmlns='jabber:client' xml:lang='en' id='1&lt;2' to='a@b'>t &amp; u<body>Hi</body><active xmlns='http://jabber.org/protocol/chatstates' x=\"'\"><body xmlns='jabber:client'/></active></message>"
    )
    #expect(built == parsed)
    #expect(built.language == "en" && built["xml:lang"] == nil && built["type"] == nil)
    #expect(built.byteCount == built.serialised().count)
    #expect(try Element(xml: built.description) == parsed)
  }

  @Test func buildingAroundParsedElements() throws {
    let parsed = try Element(xml: "<q xmlns='u' xmlns:p='v'><p:item p:n='1' n='2'>x<y/>z</p:item></q>")
    let item = try #require(parsed.first(Name("item", "v")))
    let outer = Element(Name("outer", "o"), text: "t", [item, parsed, item])
    #expect(outer.children.map { $0 } == [item, parsed, item])
    #expect(outer.children.map { $0.namespace } == ["v", "u", "v"])
    #expect(try Element(xml: outer.description) == outer)
    #expect(item.attribute("n", namespace: "v") == "1")
    #expect(Array(outer.children)[0].attribute("n", namespace: "v") == "1")
  }

  @Test func elementsAreSmall() {
    #expect(MemoryLayout<Element>.stride == 16)
    #expect(MemoryLayout<Node>.stride == 32)
  }

  @Test func elementsCrossTasks() async throws {
    let element = try Element(xml: "<a b='1'>text<c/></a>")
    let copies = await withTaskGroup(of: Element.self) { group in
      for _ in 0..<8 { group.addTask { element } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(copies.count == 8 && copies.allSatisfy { $0 == element })
  }
}
