import Testing

@testable import XMLStream

@Suite struct LimitTests {
  private func limits(_ change: (inout ReaderLimits) -> Void) -> ReaderLimits {
    var limits = ReaderLimits.authenticated
    change(&limits)
    return limits
  }

  /// Whole, by single bytes and by sevens: the same end.
  private func outcome(_ xml: String, _ limits: ReaderLimits) -> [Seen] {
    let whole = read(xml.utf8, limits: limits)
    #expect(read(xml.utf8, step: 1, limits: limits) == whole)
    #expect(read(xml.utf8, step: 7, limits: limits) == whole)
    return whole
  }

  private func isLimit(_ seen: Seen?) -> Bool {
    guard case .violation(.limit) = seen else { return false }
    return true
  }

  @Test func stanzaBytes() {
    let limits = limits { $0.stanzaBytes = 50 }
    func stanza(_ count: Int) -> String { "<a b='" + String(repeating: "x", count: count - 12) + "'></a>" }
    #expect(stanza(50).utf8.count == 50)
    #expect(outcome(header + stanza(50) + stanza(50) + " \n" + stanza(50), limits).count == 5)
    #expect(isLimit(outcome(header + stanza(51), limits).last))
    // Good or bad, what lies beyond is not looked at; empty elements, text
    // and whitespace within tags count alike.
    #expect(isLimit(outcome(header + "<a>" + String(repeating: " ", count: 47) + "&&", limits).last))
    #expect(isLimit(outcome(header + "<a" + String(repeating: " ", count: 50), limits).last))
    #expect(isLimit(outcome(header + String(repeating: "<a>", count: 17), limits).last))
    #expect(!isLimit(outcome(header + String(repeating: "<a>", count: 16), limits).last))
    #expect(isLimit(outcome(header + "</stream:stream" + String(repeating: " ", count: 50), limits).last))
    // Whitespace between stanzas is not part of one.
    #expect(outcome(header + String(repeating: " ", count: 200), limits).last == .whitespace)
  }

  @Test func headerBytes() {
    let prolog = "<?xml version='1.0'?>\n"
    let limits = limits { $0.headerBytes = (prolog + header).utf8.count }
    #expect(outcome(prolog + header + "<a/>", limits).count == 2)
    #expect(isLimit(outcome(prolog + " " + header, limits).last))
    #expect(isLimit(outcome(" " + prolog + header, limits).last))
    #expect(isLimit(outcome(String(repeating: "\n", count: 1000) + prolog + header, limits).last))
    #expect(isLimit(outcome(String(repeating: " ", count: 1000), limits).last))
    #expect(isLimit(outcome("<?xml " + String(repeating: " ", count: 1000), limits).last))
    #expect(isLimit(outcome("<s " + String(repeating: "a='' ", count: 1000), limits).last))
  }

  @Test func depth() {
    let limits = limits { $0.depth = 3 }
    #expect(outcome(header + "<a><b><c/><c></c></b><b><c/></b></a><a><b><c/></b></a>", limits).count == 3)
    #expect(isLimit(outcome(header + "<a><b><c><d/></c></b></a>", limits).last))
    #expect(isLimit(outcome(header + "<a><b><c><d>", limits).last))
  }

  @Test func records() {
    let limits = limits { $0.records = 4 }
    #expect(outcome(header + "<a b='' c=''><d/></a><a b='' c=''><d/></a>", limits).count == 3)
    #expect(isLimit(outcome(header + "<a b='' c=''><d/><e/></a>", limits).last))
    #expect(isLimit(outcome(header + "<a>1<b/>2<c/></a>", limits).last))
  }

  /// Checks what a stream keeps of a stanza that never ends, whatever it is made of.
  private func checkHeld(_ most: Int, _ limits: ReaderLimits, step: Int) {
    for piece in ["<a/>", "x", "<a>x</a>", "<a/>x", "<a b='' c='' d='' e=''/>", "<a xml:lang='x'/>"] {
      var reader = ElementReader(limits: limits)
      let count = 2 * limits.stanzaBytes / piece.utf8.count
      let bytes = Array((header + "<m>" + String(repeating: piece, count: count)).utf8)
      var (held, last) = (0, Seen?.none)
      for start in stride(from: 0, to: bytes.count, by: step) {
        last = read(bytes[start..<min(start + step, bytes.count)], by: &reader).last ?? last
        held = max(held, reader.heldBytes)
      }
      #expect(isLimit(last), "\(piece)")
      #expect(held <= most, "\(piece)")
    }
  }

  @Test(arguments: [1, 100, 1_024, 65_536]) func anUnfinishedStanzaBeforeLoginIsSmall(step: Int) {
    checkHeld(45_056, .unauthenticated, step: step)
  }

  /// A stanza of 256 KiB could have records of 4 MiB. Large lists fit.
  @Test(arguments: [1_024, 65_536]) func anUnfinishedStanzaAfterLoginIsBounded(step: Int) {
    checkHeld(1_114_112, .authenticated, step: step)
    let devices = String(repeating: "<device id='123456789'/>", count: 8_000)
    #expect(read((header + "<list>" + devices + "</list>").utf8, step: step).count == 2)
  }

  @Test func attributes() {
    let limits = limits { $0.attributes = 2 }
    #expect(outcome(header + "<a b='' c='' xmlns:p='u' xmlns='v'><a b='' c=''/></a>", limits).count == 2)
    #expect(isLimit(outcome(header + "<a b='' c='' d=''/>", limits).last))
    let many = (0..<300).map { " a\($0)=''" }.joined()
    #expect(isLimit(outcome(header + "<a\(many)/>", .wide).last))
    let most = (0..<255).map { " a\($0)='\($0)'" }.joined()
    guard case .element(let element) = outcome(header + "<a\(most)/>", .wide).last else {
      Issue.record("255 attributes refused")
      return
    }
    #expect(element.attributes.count == 255 && element["a254"] == "254")
  }

  @Test func nameBytes() {
    let limits = limits { $0.nameBytes = 6 }
    let opening = "<s xmlns='u'>"
    #expect(outcome(opening + "<abcdef ghijkl=''/>", limits).count == 2)
    #expect(isLimit(outcome(opening + "<abcdefg/>", limits).last))
    #expect(isLimit(outcome(opening + "<a abcdefg=''/>", limits).last))
    #expect(isLimit(outcome(opening + "<ab:defg/>", limits).last))
    #expect(isLimit(outcome(opening + "<a xmlns:p='u'/>", limits).last))
    #expect(isLimit(outcome(opening + "<abcdéf/>", limits).last))
    #expect(isLimit(outcome(opening + "<" + String(repeating: "a", count: 100), limits).last))
  }

  @Test func namespaceBytes() {
    let limits = limits { $0.namespaceBytes = 10 }
    let opening = "<s xmlns='0123456789'>"
    #expect(outcome(opening + "<a xmlns='0123456789'/>", limits).count == 2)
    #expect(isLimit(outcome(opening + "<a xmlns='01234567890'/>", limits).last))
    #expect(isLimit(outcome(opening + "<a xmlns:p='01234567890'/>", limits).last))
  }

  @Test func declarations() {
    let limits = limits { $0.declarations = 4 }
    #expect(
      outcome(header + "<a xmlns='1' xmlns:b='2'><b/></a><a xmlns='3'><b xmlns='4'/><b xmlns='5'/></a>", limits).count
        == 3)
    #expect(isLimit(outcome(header + "<a xmlns='1' xmlns:b='2' xmlns:c='3'/>", limits).last))
    #expect(isLimit(outcome(header + "<a xmlns='1'><a xmlns='2'><a xmlns='3'/></a></a>", limits).last))
  }

  @Test func absurdLimitsAreHarmless() {
    let none = ReaderLimits(
      stanzaBytes: 0, headerBytes: 0, depth: 0, attributes: 0, nameBytes: 0, namespaceBytes: 0, declarations: 0)
    #expect(isLimit(outcome(header, none).last))
    let negative = ReaderLimits(
      stanzaBytes: -1, headerBytes: -1, depth: -1, attributes: -1, nameBytes: -1, namespaceBytes: -1, declarations: -1)
    #expect(isLimit(outcome(header, negative).last))
    let huge = ReaderLimits(
      stanzaBytes: .max, headerBytes: .max, depth: .max, attributes: .max, nameBytes: .max, namespaceBytes: .max,
      declarations: .max)
    #expect(outcome(header + "<a/>", huge).count == 2)
  }

  /// RFC 6120 13.12: no less than 10,000 bytes.
  @Test func presets() {
    #expect(ReaderLimits.unauthenticated.stanzaBytes >= 10_000)
    #expect(ReaderLimits.authenticated.stanzaBytes >= ReaderLimits.unauthenticated.stanzaBytes)
  }

  // MARK: Hostile input

  /// Bytes looked at per byte fed, one byte a feed. libxml2 and expat go
  /// quadratic here.
  @Test(arguments: [
    "<a b='" + String(repeating: "x", count: 200_000) + "'/>",
    "<a b='" + String(repeating: ">", count: 200_000) + "'/>", "<a>" + String(repeating: "]", count: 200_000) + "</a>",
    "<a><![CDATA[" + String(repeating: "]", count: 200_000) + "]]></a>",
    "<a b='" + String(repeating: "&lt;", count: 50_000) + "'/>",
    "<a>" + String(repeating: "&#x0", count: 1) + String(repeating: "0", count: 200_000) + "41;</a>",
    "<a>" + String(repeating: "é", count: 100_000) + "</a>", "<a" + String(repeating: " ", count: 200_000) + "/>",
    "<a>" + String(repeating: "<b/>", count: 50_000) + "</a>",
    "<a>" + String(repeating: "\r", count: 200_000) + "</a>",
  ])
  func isLinear(_ stanza: String) {
    var reader = ElementReader(limits: .wide)
    _ = read(header.utf8, by: &reader)
    let before = reader.examined
    let seen = read(stanza.utf8, step: 1, by: &reader)
    #expect(seen.count == 1)
    guard case .element = seen.first else {
      Issue.record("refused")
      return
    }
    #expect(reader.examined - before <= 3 * stanza.utf8.count)
  }

  @Test func distinctNamesGrowNothing() {
    var reader = ElementReader(limits: .authenticated)
    _ = read(header.utf8, by: &reader)
    func flood(_ range: Range<Int>) {
      for number in range {
        let count = read(
          "<n\(number) a\(number)='1' xmlns:p\(number)='u\(number)'><p\(number):x/></n\(number)>".utf8, by: &reader
        ).count
        #expect(count == 1)
      }
    }
    flood(0..<100)
    let held = reader.heldBytes
    flood(100..<5_000)
    #expect(reader.heldBytes == held)
    #expect(held <= 8_192)
  }

  /// A namespace the header declares is copied once per stanza, not per use.
  @Test func namespacesOfTheStreamAreNotMultiplied() throws {
    let opening = "<s xmlns:p='" + String(repeating: "u", count: 1_000) + "'>"
    let seen = read((opening + "<a>" + String(repeating: "<p:b p:c=''/>", count: 10_000) + "</a>").utf8, limits: .wide)
    guard case .element(let element) = seen.last else {
      Issue.record("\(seen.count)")
      return
    }
    let size = element.arena.withUnsafeMutablePointerToHeader { $0.pointee.byteCount }
    #expect(size < 10_000 * 8 + 2_000)
    #expect(element.children.allSatisfy { $0.namespace.utf8.count == 1_000 })
  }
}
