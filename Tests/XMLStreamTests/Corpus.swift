/// Documents that the property test cuts and the fuzzer starts from.
enum Corpus {
  static let good: [String] = [
    "<message to='juliet@capulet.example/balcony' from='romeo@montague.example' type='chat' id='m1' xml:lang='en'><body>Art thou not Romeo, &amp; a Montague?</body><active xmlns='http://jabber.org/protocol/chatstates'/></message>",
    "<iq xmlns='jabber:client' type='get' id='i-1'><query xmlns='jabber:iq:roster' ver=''/></iq>",
    "<presence><show>away</show><status xml:lang='de'>F\u{FC}r \u{20AC}5 &lt;weg&gt; \u{1F600}</status><c xmlns='http://jabber.org/protocol/caps' hash='sha-1' node='http://x.example/' ver='QgayPKawpkPSDYmwT/WM94uAlu0='/></presence>",
    "<?xml version='1.0' encoding='UTF-8'?>\r\n<m:message xmlns:m='jabber:client' m:to='a' to='b'><m:body><![CDATA[<x>&amp;]] ]]]></m:body>\r\n</m:message>\n",
    "<a xmlns='u' xmlns:p='v' p:x='1' x='2'><b xmlns=''><c/><p:d p:y='&#10;&#x9;'/></b><e xmlns:p='w'><p:f/></e>text<g>]]&gt;</g>]]</a>",
    "<a b=\"it's\" c='\"q\"' d=' 1\t2\n3\r\n4\r5 '>\r\n1\r2\n3</a>",
    "<a>&quot;&apos;&#65;&#x1F600;&#xe9;<![CDATA[]]><![CDATA[]]]]><![CDATA[>]]></a>",
    "\u{FEFF}<\u{E9}l\u{E9}ment \u{F1}ame='\u{10FFFF}'>\u{D7FF}\u{E000}\u{FFFD}\u{10000}</\u{E9}l\u{E9}ment >",
    "<message><result xmlns='urn:xmpp:mam:2' queryid='f27' id='28482'><forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='2010-07-10T23:08:25Z'/><message xmlns='jabber:client' to='j@c'><body>Hail</body></message></forwarded></result></message>",
    "<x xmlns='jabber:x:data' type='form'><field var='FORM_TYPE' type='hidden'><value>a</value></field><field var='b'><value/><value> </value></field></x>",
    "<a\n  b = '1'\t c\r=\r\"2\"\n></a\n>",
    "<xml:x1.-_ xmlns:p='u' id=']]>'><xml:a/><b/></xml:x1.-_>",
    "<r><s><t><u><v><w><x><y><z>deep</z></y></x></w></v></u></t></s></r>",
  ]

  /// Mostly refused; each has been, or could be, a difference.
  static let bad: [String] = [
    "<a><b></a></b>", "<a b='1' b='2'/>", "<p:a/>", "<a xmlns:p=''/>", "<a>]]></a>", "<a>\u{1}</a>", "<a>&nope;</a>",
    "<a><!-- x --></a>", "<!DOCTYPE a><a/>", "<a><?x y?></a>", "<a b='<'/>",
    "<a:b:c xmlns:a='u'/>", "<a>\u{FFFF}</a>", "<?xml version='1.0' encoding='latin1'?><a/>", "<a>&#xD800;</a>", "<a",
    "<a>&#", "<a><![CDATA[x]]", "<a xmlns:p='u' xmlns:q='u' p:b='' q:b=''/>",
  ]

  /// The texts that mutations insert.
  static let pieces: [String] = [
    "<", ">", "/", "'", "\"", "=", " ", "&", ";", ":", "]", "]]>", "<![CDATA[", "<a>", "</a>", "<a/>", "<p:a>",
    "</p:a>", "&lt;", "&amp;", "&#65;", "&#x41;", "&#0;", "&#xFFFE;", "&#13;", "&e;", "&#",
    " b='1'", " p:b='1'", " xmlns='u'", " xmlns=''", " xmlns:p='u'", " xmlns:q='u'", " xmlns:p=''", " xml:lang='en'",
    " xmlns:xml='http://www.w3.org/XML/1998/namespace'", "xmlns:p", "xml:", "p:", "<!--", "-->", "<?x",
    "?>", "<!", "<?xml version='1.0'?>", "\r", "\n", "\r\n", "\t", "\u{0}", "\u{B}", "\u{FFFE}", "\u{FFFF}", "\u{FEFF}",
    "\u{E9}", "\u{20AC}", "\u{1F600}", "\u{300}", "\u{B7}", "\u{D7}", "\u{2000}", "-", ".", "1", "x", "\u{7F}",
    "<q:a xmlns:q='v'>", "</q:a>", "'>", "'/>", "=''", "http://www.w3.org/2000/xmlns/",
  ]

  /// Byte sequences that are not UTF-8.
  static let broken: [[UInt8]] = [
    [0x80], [0xC0, 0x80], [0xC3], [0xE0, 0x80, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xEF, 0xBF, 0xBF],
    [0xF0, 0x9F], [0xF4, 0x90, 0x80, 0x80], [0xFF], [0xFE, 0xFF],
  ]
}
