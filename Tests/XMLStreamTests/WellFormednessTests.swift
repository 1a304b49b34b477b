import Testing

@testable import XMLStream

@Suite struct WellFormednessTests {
  @Test(arguments: [
    // XML 1.0 2.3 names, 3.1 tags
    "<a/>", "<a />", "<a\n\t\r/>", "<a></a>", "<a></a >", "<a></a\r\n>", "<_a.b-c1/>", "<a b='1' c=\"2\"/>",
    "<a b = '1'/>", "<a b\n=\t'1'/>",
    "<é/>", "<a·/>", "<日本/>", "<\u{10000}/>", "<a é='1'/>", "<a b='\"' c=\"'\"/>", "<a b=''/>",
    // 2.4 character data, 2.2 characters
    "<a>]]&gt;</a>", "<a>] ]></a>", "<a>]</a>", "<a>]]</a>", "<a>></a>", "<a>\u{7F}\u{80}\u{9F}</a>",
    "<a>\u{FFFD}\u{E000}\u{D7FF}\u{10FFFF}\u{1FFFE}</a>",
    "<a>\t\n\r</a>", "<a b='\t\n\r>'/>", "<a b=']]>'/>",
    // 2.7 CDATA
    "<a><![CDATA[]]></a>", "<a><![CDATA[<b>&amp;]]></a>", "<a><![CDATA[]]]]></a>", "<a><![CDATA[]]]></a>",
    "<a>x<![CDATA[]>]]]>y</a>", "<a><![CDATA[\r\n\r]]></a>",
    "<a>]]<![CDATA[>]]></a>",
    // 4.1 references, 4.6 predefined entities
    "<a>&lt;&gt;&amp;&quot;&apos;</a>", "<a b='&lt;&gt;&amp;&quot;&apos;'/>",
    "<a>&#9;&#10;&#13;&#32;&#x10FFFF;&#1114111;</a>", "<a>&#x00000000000000041;</a>", "<a>&#xaF;&#xAf;</a>",
    // 2.8 prolog
    "<?xml version='1.0'?><a/>", "<?xml version=\"1.0\" encoding='UTF-8'?>\n<a/>",
    "<?xml version='1.0' encoding='utf-8' standalone='yes' ?><a/>",
    "<?xml version = '1.0' standalone='no'?> <a/>", " \n<a/>", "<a/> \n", "\u{FEFF}<a/>",
    "\u{FEFF}<?xml version='1.0'?><a/>",
  ])
  func accepts(_ xml: String) {
    #expect(violation(xml) == nil)
  }

  @Test(arguments: [
    // Tags
    "<a>", "<a", "<a b", "<a b=", "<a b='", "<", "", " ", "a", "<a/>b", "<a/><b/>", "</a>", "<a></b>", "<a></ab>",
    "<ab></a>", "<a></a", "<a><b></a></b>", "<a/ >", "<a//>",
    "< a/>", "<a></ a>", "<a></a b='1'>", "<a b='1'c='2'/>", "<a b/>", "<a b=1/>", "<a b='1/>", "<a 'b'/>", "<a =''/>",
    "<a b='<'/>", "<a b='1' b='2'/>", "<a b='1' c='' b='1'/>",
    "<<a/>", "<a<b/>", "<a><></a>", "<>", "</>", "<a></>",
    // Names
    "<1/>", "<-a/>", "<.a/>", "<a 1='x'/>", "<a\u{D7}/>", "<\u{B7}a/>", "<\u{300}a/>", "<a\u{2000}/>", "<a\u{37E}/>",
    "<a\u{F0000}/>", "<a$/>", "<a\u{0}/>",
    // Characters
    "<a>\u{0}</a>", "<a>\u{1}</a>", "<a>\u{8}</a>", "<a>\u{B}</a>", "<a>\u{1F}</a>", "<a>\u{FFFE}</a>",
    "<a>\u{FFFF}</a>", "<a b='\u{1}'/>", "<a b='\u{FFFF}'/>",
    "<a><![CDATA[\u{2}]]></a>", "<a><![CDATA[\u{FFFE}]]></a>",
    "<a>]]></a>", "<a>]]]></a>", "<a>x]]>", "<a><![CDATA[]]</a>", "<a><![CDATA[x", "<![CDATA[x]]><a/>",
    "<a/><![CDATA[x]]>",
    // References
    "<a>&</a>", "<a>& </a>", "<a>&amp</a>", "<a>&lt b</a>", "<a>&;</a>", "<a>&#;</a>", "<a>&#x;</a>", "<a>&#a;</a>",
    "<a>&#xg;</a>", "<a>&#65</a>", "<a>&#X41;</a>",
    "<a>&#0;</a>", "<a>&#x0;</a>", "<a>&#8;</a>", "<a>&#xFFFE;</a>", "<a>&#xD800;</a>", "<a>&#xDFFF;</a>",
    "<a>&#1114112;</a>", "<a>&#x110000;</a>", "<a>&#x100000041;</a>",
    "<a>&#18446744073709551681;</a>", "<a>&#-1;</a>", "<a b='&'/>", "<a b='&#1;'/>", "<a>&1;</a>",
    // Prolog
    "x<a/>", "\u{FEFF}\u{FEFF}<a/>", "<?xml ?><a/>", "<?xml encoding='UTF-8'?><a/>", "<?xml version='1.0'",
    "<?xml version='1.0'?>",
    "<?xml version='1.0'encoding='UTF-8'?><a/>", "<?xml version='1.0' standalone='maybe'?><a/>",
    "<?xml version=1.0?><a/>", "<?xml version='1.0' x='1'?><a/>",
    "<?xml version='1.0' standalone='yes' encoding='UTF-8'?><a/>", "<?xml version='1.0' ? ><a/>",
  ])
  func refusesAsNotWellFormed(_ xml: String) {
    #expect(violation(xml)?.kind == "not-well-formed")
  }

  /// RFC 6120 11.1: comments, processing instructions, DTDs, entities.
  @Test(arguments: [
    "<!-- c --><a/>", "<a><!-- c --></a>", "<a/><!-- c -->", "<a><!x></a>", "<!DOCTYPE a><a/>",
    "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "<a><!DOCTYPE a></a>",
    "<?pi?><a/>", "<?xml?><a/>", "<a><?pi x?></a>", "<a/><?pi?>", "<?xml-stylesheet href='x'?><a/>",
    "<?XML version='1.0'?><a/>", " <?xml version='1.0'?><a/>", "<a><?xml version='1.0'?></a>",
    "<a>&nbsp;</a>", "<a>&e;</a>", "<a b='&e;'/>", "<a>&ltx;</a>", "<a>&LT;</a>", "<a>&toolongforone;</a>",
    "<a>&é;</a>", "<a>&:;</a>",
    "<a><![INCLUDE[x]]></a>", "<a><![cdata[x]]></a>", "<a><![CDATA [x]]></a>", "<a><!ELEMENT a ANY></a>",
  ])
  func refusesAsRestricted(_ xml: String) {
    #expect(violation(xml)?.kind == "restricted-xml")
  }

  /// RFC 6120 11.6, 11.8: UTF-8 and XML 1.0 only.
  @Test(arguments: [
    "<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "<?xml version='1.0' encoding='UTF-16'?><a/>",
    "<?xml version='1.1'?><a/>", "<?xml version='2.0' encoding='UTF-8'?><a/>",
    "<?xml version='1.0' encoding=''?><a/>",
  ])
  func refusesOtherEncodings(_ xml: String) {
    #expect(violation(xml) == .unsupportedEncoding)
  }

  /// RFC 3629 3: overlong forms, surrogates, what lies beyond U+10FFFF,
  /// sequences not ended.
  @Test(
    arguments: [
      [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xC2, 0xC2], [0xE0, 0x80, 0x80],
      [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
      [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
      [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
      [0xFF], [0xFE], [0xF0, 0x9F, 0x98],
    ] as [[UInt8]])
  func refusesBadUTF8(_ sequence: [UInt8]) {
    for (before, behind) in [("<a>", "</a>"), ("<a b='", "'/>"), ("<a><![CDATA[", "]]></a>"), ("<a", "/>")] {
      #expect(violation(Array(before.utf8) + sequence + Array(behind.utf8)) == .unsupportedEncoding, "\(before)")
    }
  }

  @Test func refusesUTF16() {
    for bytes: [UInt8] in [[0xFE, 0xFF, 0, 0x3C], [0xFF, 0xFE, 0x3C, 0], [0, 0x3C, 0, 0x61], [0x3C, 0, 0x61, 0]] {
      #expect(violation(bytes) == .unsupportedEncoding)
    }
  }

  // MARK: Output

  /// XML 1.0 2.11: CR LF and CR alone become LF; 4.1: references stay.
  @Test func normalisesLineEnds() throws {
    #expect(try Element(xml: "<a>1\r\n2\r3\n4\r\r\n5\n\r6&#13;&#xD;\n</a>").text == "1\n2\n3\n4\n\n5\n\n6\r\r\n")
    #expect(try Element(xml: "<a><![CDATA[\r\n\r]]>\r</a>").text == "\n\n\n")
    #expect(try Element(xml: "<a>\r<![CDATA[\n]]></a>").text == "\n\n")
  }

  /// XML 1.0 3.3.3.
  @Test func normalisesAttributeValues() throws {
    #expect(try Element(xml: "<a b=' 1\t2\n3\r\n4\r5&#9;&#10;&#13; '/>")["b"] == " 1 2 3 4 5\t\n\r ")
    #expect(try Element(xml: "<a b='\r\n\n\r\r\n'/>")["b"] == "    ")
  }

  @Test func resolvesReferences() throws {
    let element = try Element(xml: "<a b='&lt;&quot;&apos;&#xE9;&#8364;&#x1F600;'>&amp;&gt;&#65;&#x42;</a>")
    #expect(element["b"] == "<\"'é€😀")
    #expect(element.text == "&>AB")
  }

  @Test func joinsCDATAWithText() throws {
    let element = try Element(xml: "<a>1<![CDATA[<b/>&lt;]]]]>2<![CDATA[]]>3<![CDATA[]]]>]]<![CDATA[]>]]></a>")
    #expect(element.text == "1<b/>&lt;]]23]]]]>")
    #expect(element.children.isEmpty)
    #expect(try Element(xml: "<a><![CDATA[]]></a>").hasText == false)
  }

  @Test func keepsTextOfAllLengths() throws {
    // Around the 8 bytes looked at at a time, with a stop at each offset.
    for length in 0..<40 {
      for special in ["&amp;", "é", "]", "\n", "😀", "\r"] {
        for offset in 0...length {
          let before = String(repeating: "x", count: offset)
          let behind = String(repeating: "y", count: length - offset)
          let expected = special == "&amp;" ? "&" : special == "\r" ? "\n" : special
          let element = try Element(xml: "<a b='\(before)\(special)\(behind)'>\(before)\(special)\(behind)</a>")
          #expect(element.text == before + expected + behind)
          #expect(element["b"] == before + (expected == "\n" ? " " : expected) + behind)
        }
      }
    }
  }
}
