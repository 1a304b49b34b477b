import NIOCore
import Testing

@testable import XMLStream

@Suite struct ElementWriterTests {
  private func written(
    _ defaultNamespace: StaticString = "jabber:client", streamPrefix: Bool = false,
    _ body: (inout ElementWriter) -> Void
  ) -> String {
    var writer = ElementWriter(defaultNamespace: defaultNamespace, isStreamPrefixDeclared: streamPrefix)
    body(&writer)
    return String(buffer: writer.buffer)
  }

  @Test func writesElements() {
    let xml = written { writer in
      writer.open(Name("iq", "jabber:client"))
      writer.attribute("type", "result")
      writer.attribute("id", Optional("7"))
      writer.attribute("to", nil)
      writer.open(Name("query", "http://jabber.org/protocol/disco#info"))
      writer.attribute("count", 42)
      writer.open("identity")
      writer.attribute("name", Array("Röm".utf8))
      writer.close()
      writer.open(Name("iq", "jabber:client"))
      writer.open("inner")
      writer.close()
      writer.close()
      writer.text("a<b")
      writer.text(Array(">c".utf8))
      writer.close()
      writer.close()
    }
    #expect(
      xml
        == "<iq type='result' id='7'><query xmlns='http://jabber.org/protocol/disco#info' count='42'><identity name='Röm'/><iq xmlns='jabber:client'><inner/></iq>a&lt;b&gt;c</query></iq>"
    )
  }

  @Test func writesWithClosures() {
    let xml = written { writer in
      writer.element(Name("a", "u"), ["x": "1", "y": nil]) { writer in
        writer.element(Name("b", "u"))
        writer.element(Name("c", ""))
      }
    }
    #expect(xml == "<a xmlns='u' x='1'><b/><c xmlns=''/></a>")
  }

  @Test func writesRawBytesAsTheyAre() {
    let xml = written { writer in
      writer.raw("<?xml version='1.0'?>")
      writer.open("a")
      writer.raw("<x/>")
      writer.raw(Array("<y/>".utf8))
      writer.raw(ByteBuffer(string: "<z/>"))
      writer.raw(ByteBuffer(string: "&amp;").readableBytesView)
      writer.close()
    }
    #expect(xml == "<?xml version='1.0'?><a><x/><y/><z/>&amp;</a>")
  }

  @Test func streamPrefix() throws {
    let features = try Element(
      xml:
        "<features xmlns='http://etherx.jabber.org/streams'><bind xmlns='urn:b'/><message xmlns='jabber:client'/></features>"
    )
    #expect(
      written(streamPrefix: true) { $0.element(features) }
        == "<stream:features><bind xmlns='urn:b'/><message/></stream:features>")
    #expect(written { $0.element(features) } == features.description)
    let xml = written(streamPrefix: true) { writer in
      writer.open(Name("error", "http://etherx.jabber.org/streams"))
      writer.open("x")
      writer.close()
      writer.open(Name("conflict", "urn:ietf:params:xml:ns:xmpp-streams"))
      writer.close()
      writer.close()
    }
    #expect(xml == "<stream:error><stream:x/><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
  }

  @Test func elementIsNamespaceMinimal() throws {
    let element = try Element(
      xml: "<p:message xmlns:p='jabber:client' xmlns:q='u'><q:x><q:y/><z/></q:x><p:body>t</p:body></p:message>")
    #expect(
      String(decoding: element.serialised(), as: UTF8.self)
        == "<message><x xmlns='u'><y/><z xmlns=''/></x><body>t</body></message>")
    #expect(
      String(decoding: element.serialised(defaultNamespace: "u"), as: UTF8.self)
        == "<message xmlns='jabber:client'><x xmlns='u'><y/><z xmlns=''/></x><body>t</body></message>")
    #expect(
      element.description == "<message xmlns='jabber:client'><x xmlns='u'><y/><z xmlns=''/></x><body>t</body></message>"
    )
  }

  @Test func prefixedAttributesKeepADeclaredPrefix() throws {
    let xml = "<a xmlns:p='u&amp;' xmlns:q='v' p:x='1' q:x='2' p:y='3' z='4' xml:lang='en'><b p:x='5'/></a>"
    let element = try Element(xml: xml)
    #expect(
      element.description
        == "<a xmlns:p='u&amp;' p:x='1' xmlns:q='v' q:x='2' p:y='3' z='4' xml:lang='en'><b xmlns:p='u&amp;' p:x='5'/></a>"
    )
    #expect(try Element(xml: element.description) == element)
  }

  /// A child leaves its parent with every namespace it needs, also those of
  /// the stream's header (RFC 6120 4.8.5).
  @Test func childrenAreNamespaceComplete() throws {
    let opening = "<s:stream xmlns:s='http://etherx.jabber.org/streams' xmlns='jabber:client' xmlns:e='urn:ext'>"
    let seen = read((opening + "<message><e:x e:k='1'><body/><e:y/></e:x>t&lt;<body>b</body><thread/></message>").utf8)
    guard case .element(let message) = seen.last else {
      Issue.record("\(seen)")
      return
    }
    let content = "<x xmlns='urn:ext' xmlns:e='urn:ext' e:k='1'><body xmlns='jabber:client'/><y/></x>"
    #expect(written { $0.children(of: message) } == content + "t&lt;<body>b</body><thread/>")
    #expect(written { $0.children(of: message) { $0.is(ElementTests.body) } } == content + "t&lt;<thread/>")
    let wrapped = written { writer in
      writer.open(Name("forwarded", "urn:xmpp:forward:0"))
      writer.children(of: message)
      writer.close()
    }
    #expect(
      wrapped
        == "<forwarded xmlns='urn:xmpp:forward:0'>\(content)t&lt;<body xmlns='jabber:client'>b</body><thread xmlns='jabber:client'/></forwarded>"
    )
    #expect(
      written { writer in
        writer.open("m")
        writer.children(of: Element(ElementTests.body))
        writer.close()
      } == "<m/>")
  }

  /// Found by the fuzzer: the namespace of `xml` cannot be a default.
  @Test func elementsOfTheXMLNamespaceKeepTheirPrefix() throws {
    let element = try Element(xml: "<a xmlns='u'><xml:b id='1'><c/></xml:b><xml:d/></a>")
    #expect(element.description == "<a xmlns='u'><xml:b id='1'><c/></xml:b><xml:d/></a>")
    #expect(try Element(xml: element.description) == element)
    #expect(
      written { $0.element(Name("x", "http://www.w3.org/XML/1998/namespace")) { $0.text("t") } } == "<xml:x>t</xml:x>")
  }

  // MARK: Escaping

  @Test func escapesSoThatAParserGetsItBack() throws {
    let nasty = "<>&'\"\t\n\r\r\n]]> é€😀\u{FFFD}\u{7F}\u{85}\u{2028}" + String(repeating: "<&'", count: 2_000)
    let element = Element(Name("a", ""), ["b": nasty], text: nasty)
    let parsed = try Element(xml: element.description)
    #expect(parsed["b"] == nasty)
    #expect(parsed.text == nasty)
  }

  @Test func escapesAtEveryOffset() throws {
    // Around the 1024 bytes escaped at a time and the 8 looked at at a time.
    for length in Array(0..<20) + Array(1_010..<1_040) {
      for special in ["<", "é", "😀", "\u{FFFF}"] {
        let text = String(repeating: "x", count: length) + special + "yz"
        let expected = special == "\u{FFFF}" ? text.replacing("\u{FFFF}", with: "\u{FFFD}") : text
        #expect(try Element(xml: Element(Name("a", ""), text: text).description).text == expected)
      }
    }
  }

  /// XML 1.0 2.2: what may not appear, even as a reference.
  @Test func replacesWhatXMLForbids() throws {
    let element = Element(Name("a", ""), ["b": "\u{0}1\u{8}\u{FFFE}"], text: "\u{1B}2\u{FFFF}")
    let parsed = try Element(xml: element.description)
    #expect(parsed["b"] == "\u{FFFD}1\u{FFFD}\u{FFFD}")
    #expect(parsed.text == "\u{FFFD}2\u{FFFD}")
  }

  @Test func repairsBytesThatAreNotUTF8() throws {
    for bytes: [UInt8] in [[0xFF], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0x61, 0x80, 0x62]] {
      let xml = written { writer in
        writer.open("a")
        writer.attribute("b", bytes)
        writer.text(bytes)
        writer.close()
      }
      let parsed = try Element(xml: xml)
      #expect(parsed.text.contains("\u{FFFD}") && parsed["b"] == parsed.text)
    }
  }

  @Test func writesBehindWhatABufferHolds() {
    var buffer = ByteBuffer(string: "before")
    Element(ElementTests.body, text: "x").write(into: &buffer)
    Element(ElementTests.body).write(into: &buffer, defaultNamespace: "")
    #expect(String(buffer: buffer) == "before<body>x</body><body xmlns='jabber:client'/>")
  }
}
