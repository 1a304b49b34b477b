import Testing

@testable import XMLStream

@Suite struct ReaderTests {
  /// RFC 6120 4.2, the example.
  @Test func readsAStream() throws {
    let xml = """
      <?xml version='1.0'?>
      <stream:stream
          from='juliet@im.example.com'
          to='im.example.com'
          version='1.0'
          xml:lang='en'
          xmlns='jabber:client'
          xmlns:stream='http://etherx.jabber.org/streams'>
        <message>
          <body>foo</body>
        </message>
      </stream:stream>
      """
    let seen = read(xml.utf8)
    guard seen.count == 5, case .opened(let header) = seen[0], case .element(let message) = seen[2] else {
      Issue.record("\(seen)")
      return
    }
    #expect(
      header.local == "stream" && header.namespace == "http://etherx.jabber.org/streams" && header.prefix == "stream")
    #expect(header.from == "juliet@im.example.com" && header.to == "im.example.com" && header.version == "1.0")
    #expect(header.id == nil && header.language == "en")
    #expect(header.defaultNamespace == "jabber:client")
    #expect(header.declarations == ["stream": "http://etherx.jabber.org/streams"])
    #expect(message.is(Name("message", "jabber:client")))
    #expect(message.first(Name("body", "jabber:client"))?.text == "foo")
    #expect(seen[1] == .whitespace && seen[3] == .whitespace && seen[4] == .closed)
  }

  @Test func keepAlives() {
    #expect(read((header + " \n ").utf8).last == .whitespace)
    #expect(read((header + "<a/> <b/>\n").utf8).filter { $0 == .whitespace }.count == 2)
  }

  /// RFC 6120 6.3.5 forbids a client the line break behind `<auth/>`, which the restarted stream begins with; 11.7.
  @Test(arguments: ["\n", " \t\r\n", String(repeating: "\r\n", count: 500)])
  func skipsWhitespaceBeforeTheHeader(_ space: String) {
    for prolog in ["", "<?xml version='1.0'?>", "<?xml version='1.0' encoding='UTF-8'?>\n"] {
      for step in [Int.max, 1, 7] {
        let seen = read((space + prolog + header + "<a/>").utf8, step: step)
        #expect(seen.count == 2 && seen == read((header + "<a/>").utf8))
      }
    }
  }

  /// Only whitespace is skipped, only in front of a stream, and only once.
  @Test(arguments: [
    ("\n<?php echo 1 ?>", "restricted-xml"), ("\n<?xml version='1.0'?><?xml version='1.0'?>", "restricted-xml"),
    ("\n<!DOCTYPE a>", "restricted-xml"), ("\n<!-- -->", "restricted-xml"),
    ("\u{FEFF}\n<?xml version='1.0'?>", "restricted-xml"), ("\n\u{FEFF}<?xml version='1.0'?>", "not-well-formed"),
    ("\n\0", "not-well-formed"), ("\u{A0}" + header, "not-well-formed"), ("\u{B}" + header, "not-well-formed"),
    ("\nGET / HTTP/1.1\r\n", "not-well-formed"), ("\n<?xml version='1.1'?>", "unsupported-encoding"),
  ])
  func refusesOtherThingsBehindWhitespace(_ xml: String, _ condition: String) {
    for step in [Int.max, 1] {
      guard case .violation(let violation) = read(xml.utf8, step: step).last else {
        Issue.record("accepted")
        continue
      }
      #expect(violation.kind == condition)
    }
  }

  @Test func closesAnEmptyRoot() {
    let seen = read("<stream:stream xmlns:stream='s'/>".utf8, step: 1)
    #expect(seen.count == 2 && seen.last == .closed)
    #expect(read((header + "</stream:stream >ignored & forgotten").utf8).last == .closed)
    #expect(read((header + "</stream:stream>").utf8, step: 1).last == .closed)
  }

  @Test(arguments: [
    (header + "x", "not-well-formed"), (header + "<a/>x", "not-well-formed"), (header + "&amp;", "not-well-formed"),
    (header + "</stream>", "not-well-formed"),
    (header + "</stream:streams>", "not-well-formed"), (header + "</a>", "not-well-formed"),
    (header + "<![CDATA[x]]>", "not-well-formed"), (header + "<!-- -->", "restricted-xml"),
    (header + "<?xml version='1.0'?>", "restricted-xml"), ("<stream:stream>", "bad-namespace-prefix"),
    ("</stream:stream>", "not-well-formed"), ("GET / HTTP/1.1\r\n", "not-well-formed"),
    ("\u{16}\u{3}\u{1}", "not-well-formed"), (header + "<a><b></a>", "not-well-formed"),
    (header + "<a></stream:stream>", "not-well-formed"),
  ])
  func refuses(_ xml: String, _ condition: String) {
    for step in [Int.max, 1] {
      guard case .violation(let violation) = read(xml.utf8, step: step).last else {
        Issue.record("accepted")
        continue
      }
      #expect(violation.kind == condition)
    }
  }

  @Test func readsNothingAfterAViolation() {
    var reader = ElementReader(limits: .authenticated)
    #expect(read((header + "<a/>&").utf8, by: &reader).count == 3)
    #expect(read("<b/>".utf8, by: &reader) == [])
    #expect(reader.heldBytes == 0)
    #expect(reader.isIdle == false)
  }

  @Test func stopLeavesTheRest() throws {
    var reader = ElementReader(limits: .authenticated)
    let bytes = Array((header + "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/><injected/> <b/>").utf8)
    var names: [String] = []
    func feed(_ bytes: ArraySlice<UInt8>, stopping: Bool) -> Int {
      Array(bytes).withUnsafeBytes {
        reader.feed($0) { event in
          guard case .element(let element) = Seen(event) else { return .proceed }
          names.append(element.local)
          return stopping ? .stop : .proceed
        }
      }
    }
    let first = feed(bytes[...], stopping: true)
    #expect(names == ["starttls"])
    #expect(String(decoding: bytes[..<first], as: UTF8.self).hasSuffix("xmpp-tls'/>"))
    reader.limits = .unauthenticated
    let second = feed(bytes[first...], stopping: true)
    #expect(names == ["starttls", "injected"])
    #expect(second == "<injected/>".utf8.count)
    #expect(feed(bytes[(first + second)...], stopping: false) == 5)
    #expect(names == ["starttls", "injected", "b"])
  }

  @Test func stopAtTheHeader() {
    var reader = ElementReader(limits: .unauthenticated)
    let used = Array((header + "<a/>").utf8).withUnsafeBytes { reader.feed($0) { _ in .stop } }
    #expect(used == header.utf8.count)
    #expect(reader.isIdle == true)
  }

  @Test func countsTheBytesOfAnElement() throws {
    let xml = "<message to='a'><body>x&amp;y</body><b />\n</message>"
    let message = try #require(try stanzas("<first/>\n" + xml).last)
    #expect(message.byteCount == xml.utf8.count)
    #expect(message.children.map(\.byteCount) == ["<body>x&amp;y</body>".utf8.count, "<b />".utf8.count])
    #expect(try Element(xml: "  " + xml + " ").byteCount == xml.utf8.count)
  }

  // MARK: Hibernation

  @Test func hibernates() throws {
    var reader = ElementReader(limits: .unauthenticated)
    #expect(reader.isIdle && reader.heldBytes == 0)
    _ = read((header + "<a/>\n").utf8, by: &reader)
    #expect(reader.isIdle && reader.heldBytes > 0)
    for _ in 0..<3 {
      let asleep = reader.hibernate()
      #expect(MemoryLayout.size(ofValue: asleep) == 8)
      reader = asleep.wake(limits: .authenticated)
      #expect(reader.isIdle && reader.heldBytes == 0)
      let seen = read("<stream:b><c/></stream:b>".utf8, step: 1, by: &reader)
      guard seen.count == 1, case .element(let element) = seen[0] else {
        Issue.record("\(seen)")
        return
      }
      #expect(element.is(Name("b", "http://etherx.jabber.org/streams")))
      #expect(element.first(Name("c", "jabber:client")) != nil)
    }
    #expect(read("</stream:stream>".utf8, by: &reader) == [.closed])
    #expect(reader.isIdle == false)
  }

  @Test func servesStreamsInTurnWithOneBuffer() throws {
    let other = "<stream:stream xmlns='jabber:server' xmlns:stream='http://etherx.jabber.org/streams' xmlns:x='urn:x'>"
    var reader = ElementReader(limits: .unauthenticated)
    var streams: [HibernatedReader] = []
    for header in [header, other] {
      reader.wake(HibernatedReader(), limits: .unauthenticated)
      #expect(read(header.utf8, by: &reader).count == 1)
      streams.append(reader.hibernate())
    }
    _ = read("<x:a><b/></x:a>".utf8, by: &reader)
    let held = reader.heldBytes
    let turns: [(stream: Int, namespace: StaticString)] = [
      (0, "jabber:client"), (1, "jabber:server"), (0, "jabber:client"),
    ]
    for (stream, namespace) in turns {
      reader.wake(streams[stream], limits: .authenticated)
      let seen = read("<a><b/></a>".utf8, step: 3, by: &reader)
      guard seen.count == 1, case .element(let element) = seen[0] else {
        Issue.record("\(seen)")
        return
      }
      #expect(element.is(Name("a", namespace)) && element.first(Name("b", namespace)) != nil)
      #expect(reader.heldBytes == held)
    }
    // The prefix of one stream is not the other's.
    reader.wake(streams[0], limits: .authenticated)
    let seen = read("<x:a/>".utf8, by: &reader)
    guard case .violation? = seen.first else {
      Issue.record("\(seen)")
      return
    }
  }

  @Test func hibernatesBeforeTheFirstByte() {
    var reader = ElementReader(limits: .unauthenticated).hibernate().wake(limits: .unauthenticated)
    #expect(read((header + "<a/>").utf8, by: &reader).count == 2)
  }

  @Test func isNotIdleWithinAnything() {
    for xml in [
      "\u{FEFF}", "<", "<?", "<?xml version='1.0'?>", " ", header.dropLast().description, header + "<", header + "<a",
      header + "<a>", header + "<a></a", header + "</",
    ] {
      var reader = ElementReader(limits: .authenticated)
      _ = read(xml.utf8, by: &reader)
      #expect(reader.isIdle == false, "\(xml)")
    }
  }

  @Test func largeBuffersAreFreed() {
    var reader = ElementReader(limits: .authenticated)
    _ = read((header + "<a>" + String(repeating: "x", count: 200_000)).utf8, by: &reader)
    #expect(reader.heldBytes > 200_000)
    _ = read("</a>".utf8, by: &reader)
    #expect(reader.heldBytes <= Scanner.keptBytes)
  }
}
