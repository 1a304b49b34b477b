import Testing

@testable import XMLStream

@Suite struct NamespaceTests {
  @Test(arguments: [
    "<a xmlns='u'/>", "<a xmlns=''/>", "<p:a xmlns:p='u'/>", "<a xmlns='u'><b xmlns=''/></a>",
    "<p:a xmlns:p='u'><p:b/></p:a>", "<a xml:lang='en'/>", "<xml:a/>",
    "<a xmlns:xml='http://www.w3.org/XML/1998/namespace' xml:lang='en'/>", "<a xmlns:p='u' p:b='1' b='2'/>",
    "<a xmlns='u' xmlns:p='u' b='1' p:b='2'/>",
    "<a xmlns:p='u'><b xmlns:p='v'/><p:c/></a>", "<é:ü xmlns:é='u'/>", "<p:a b='1' xmlns:p='u'/>",
    "<a xmlns:xmlfoo='u'/>", "<a xmln='u'/>", "<a Xmlns='u'/>", "<a xmlnsx='1'/>",
    "<p:a xmlns:p='u'></p:a>", "<a xmlns='a&amp;b'/>",
  ])
  func accepts(_ xml: String) {
    #expect(violation(xml) == nil)
  }

  /// Namespaces in XML 1.0: 2.2 and 3 (reserved), 4 (QName), 5, 6.3.
  @Test(arguments: [
    "<a xmlns:z=''/>", "<a:b:c xmlns:a='u'/>", "<:a/>", "<a:/>", "<:/>", "<a b:='1'/>", "<a :b='1'/>",
    "<a b:c:d='1' xmlns:b='u'/>", "<p:1 xmlns:p='u'/>", "<p:-a xmlns:p='u'/>",
    "<p:a xmlns:p='u'></q:a>", "<p:a xmlns:p='u' xmlns:q='u'></q:a>", "<p:a xmlns:p='u'></a>",
    "<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>", "<a xmlns:p='u' p:b='1' p:b='2'/>", "<a xmlns='u' xmlns='v'/>",
    "<a xmlns:p='u' xmlns:p='u'/>",
    "<a xmlns:xml='u'/>", "<a xmlns:xmlns='u'/>", "<a xmlns:xmlns='http://www.w3.org/2000/xmlns/'/>",
    "<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>",
    "<a xmlns='http://www.w3.org/XML/1998/namespace'/>", "<a xmlns:p='http://www.w3.org/2000/xmlns/'/>",
    "<a xmlns='http://www.w3.org/2000/xmlns/'/>", "<a xmlns:='u'/>",
    "<a xml:lang='1' xml:lang='2'/>", "<a xmlns:1='u'/>",
  ])
  func refuses(_ xml: String) {
    #expect(violation(xml)?.kind == "not-well-formed")
  }

  /// RFC 6120 4.9.3.2: an undeclared prefix.
  @Test(arguments: [
    "<p:a/>", "<a p:b='1'/>", "<a><p:b xmlns:q='u'/></a>", "<a xmlns:p='u'><b xmlns:q='v'/><q:c/></a>", "<xmlns:a/>",
    "<P:a xmlns:p='u'/>",
    "<a><b xmlns:p='u'></b><p:c/></a>",
  ])
  func refusesUnboundPrefix(_ xml: String) {
    #expect(violation(xml) == .badNamespacePrefix)
  }

  @Test func resolvesNames() throws {
    let element = try Element(
      xml: "<a xmlns='u' xmlns:p='v' x='1' p:x='2' xml:lang='en'><p:b/><c xmlns=''><d/></c><e/></a>")
    #expect(element.local == "a" && element.namespace == "u")
    #expect(element["x"] == "1")
    #expect(element.attribute("x", namespace: "v") == "2")
    #expect(element.attribute("x", namespace: "u") == nil)
    #expect(element["lang"] == nil)
    #expect(element.language == "en")
    #expect(element.children.map { "\($0.namespace)|\($0.local)" } == ["v|b", "|c", "u|e"])
    #expect(element.first(Name("c", ""))?.first(Name("d", "")) != nil)
  }

  @Test func restoresTheOuterScope() throws {
    let element = try Element(
      xml:
        "<a xmlns='1' xmlns:p='1p'><b xmlns='2' xmlns:p='2p'><c xmlns='3'/><p:d/><e xmlns='' xmlns:p='4p'><p:f/><g/></e><h/></b><p:i/><j/></a>"
    )
    func names(_ element: Element) -> [String] {
      ["\(element.namespace)|\(element.local)"] + element.children.flatMap(names)
    }
    #expect(names(element) == ["1|a", "2|b", "3|c", "2p|d", "|e", "4p|f", "|g", "2|h", "1p|i", "1|j"])
  }

  @Test func stanzasInheritFromTheStream() throws {
    let opening =
      "<s:stream xmlns:s='http://etherx.jabber.org/streams' xmlns='jabber:server' xmlns:db='jabber:server:dialback' version='1.0'>"
    let seen = read(
      (opening
        + "<message db:x='1' xml:lang='de'/><db:result>k</db:result><s:error><s:a/><db:b/></s:error><iq xmlns='jabber:client' db:y='2'/>")
        .utf8)
    guard seen.count == 5, case .opened(let header) = seen[0], case .element(let message) = seen[1],
      case .element(let result) = seen[2],
      case .element(let error) = seen[3], case .element(let query) = seen[4]
    else {
      Issue.record("\(seen)")
      return
    }
    #expect(header.defaultNamespace == "jabber:server" && header.prefix == "s")
    #expect(header.declarations == ["s": "http://etherx.jabber.org/streams", "db": "jabber:server:dialback"])
    #expect(message.is(Name("message", "jabber:server")))
    #expect(message.attribute("x", namespace: "jabber:server:dialback") == "1")
    #expect(message.language == "de")
    #expect(result.is(Name("result", "jabber:server:dialback")))
    #expect(error.is(Name("error", "http://etherx.jabber.org/streams")))
    #expect(error.children.map(\.namespace) == ["http://etherx.jabber.org/streams", "jabber:server:dialback"])
    #expect(query.namespace == "jabber:client" && query.attribute("y", namespace: "jabber:server:dialback") == "2")
  }

  /// RFC 6120 4.8.2: prefix-free canonicalization.
  @Test func streamWithoutContentNamespace() throws {
    let seen = read(
      "<stream xmlns='http://etherx.jabber.org/streams'><message xmlns='jabber:client'><body/></message><error/></stream>"
        .utf8)
    guard seen.count == 4, case .opened(let header) = seen[0], case .element(let message) = seen[1],
      case .element(let error) = seen[2]
    else {
      Issue.record("\(seen)")
      return
    }
    #expect(header.prefix == "" && header.defaultNamespace == "http://etherx.jabber.org/streams")
    #expect(message.first(Name("body", "jabber:client")) != nil)
    #expect(error.namespace == "http://etherx.jabber.org/streams")
    #expect(seen[3] == .closed)
  }

  @Test func streamWithoutAnyNamespace() throws {
    let seen = read("<a><b c='1'/></a>".utf8)
    guard seen.count == 3, case .opened(let header) = seen[0], case .element(let element) = seen[1] else {
      Issue.record("\(seen)")
      return
    }
    #expect(header.namespace == "" && header.defaultNamespace == "" && header.local == "a")
    #expect(element.namespace == "" && element["c"] == "1")
    #expect(seen[2] == .closed)
  }

  @Test func stanzaMayShadowThePrefixesOfTheStream() throws {
    let found = try stanzas("<a xmlns:stream='mine'><stream:b/></a><stream:c/>")
    #expect(found.count == 2)
    #expect(found.first?.first(Name("b", "mine")) != nil)
    #expect(found.last?.namespace == "http://etherx.jabber.org/streams")
  }

  @Test func defaultNamespaceOfADocument() throws {
    let bytes = Array("<message><body xmlns=''/></message>".utf8)
    #expect(try Element(parsing: bytes).namespace == "jabber:client")
    #expect(try Element(parsing: bytes, defaultNamespace: "jabber:server").namespace == "jabber:server")
    #expect(try Element(parsing: bytes).first(Name("body", "")) != nil)
    #expect(try Element(xml: "<a/>").namespace == "")
  }

  /// RFC 6120 4.8.2: the content namespace is another one between servers; stanzas are the same elements.
  @Test(arguments: [1, 7, Int.max]) func readsAnotherContentNamespaceAsThatOfClients(step: Int) throws {
    let sent =
      "<stream:stream xmlns='jabber:server' xmlns:stream='http://etherx.jabber.org/streams' xmlns:s='jabber:server'>"
      + "<message><body>1</body></message><s:iq/>"
      + "<x xmlns='urn:x'><forwarded xmlns='urn:f'><message xmlns='jabber:server'><a xmlns=''/></message></forwarded>"
      + "<p:b xmlns:p='jabber:server' p:c='jabber:server'/></x><presence xmlns='jabber:serves'/>"
    var reader = ElementReader(limits: .authenticated, contentNamespace: "jabber:server")
    let seen = read(sent.utf8, step: step, by: &reader)
    guard seen.count == 5, case .opened(let header) = seen[0] else {
      Issue.record("\(seen)")
      return
    }
    #expect(header.defaultNamespace == "jabber:server" && header.declarations["s"] == "jabber:server")
    #expect(
      seen[1...] == [
        .element(try Element(xml: "<message xmlns='jabber:client'><body>1</body></message>")),
        .element(try Element(xml: "<iq xmlns='jabber:client'/>")),
        .element(
          try Element(
            xml: "<x xmlns='urn:x'><forwarded xmlns='urn:f'><message xmlns='jabber:client'><a xmlns=''/></message>"
              + "</forwarded><p:b xmlns:p='jabber:client' p:c='jabber:server'/></x>")),
        .element(try Element(xml: "<presence xmlns='jabber:serves'/>")),
      ])
  }

  @Test func aLongerContentNamespaceIsReadTheSameWay() throws {
    var reader = ElementReader(limits: .authenticated, contentNamespace: "jabber:component:accept")
    let seen = read(
      ("<stream xmlns='jabber:component:accept'><a><b xmlns='jabber:component:accept' c='1'>text</b></a>").utf8,
      by: &reader)
    #expect(
      seen.last == .element(try Element(xml: "<a xmlns='jabber:client'><b c='1'>text</b></a>")))
  }
}
