import Testing

@testable import XMLStream

/// Input may be cut anywhere.
@Suite struct CutTests {
  @Test(arguments: Corpus.good + Corpus.bad)
  func everyStepGivesTheSame(_ xml: String) {
    let stream = Array(header.utf8) + Array(xml.utf8) + Array(" \n<iq/><a>\u{1F600}</a></stream:stream>".utf8)
    let whole = read(stream)
    for step in 1...24 { #expect(read(stream, step: step) == whole, "\(step) bytes a feed") }
  }

  @Test(arguments: Corpus.good)
  func everySingleCutGivesTheSame(_ xml: String) {
    let document = xml.hasPrefix("<?xml") || xml.hasPrefix("\u{FEFF}") ? "<a/>" : xml
    let stream = Array((header + document + "<b/>").utf8)
    let whole = read(stream)
    #expect(whole.count == 3)
    for cut in 1..<stream.count {
      var reader = ElementReader(limits: .authenticated)
      #expect(read(stream[..<cut], by: &reader) + read(stream[cut...], by: &reader) == whole, "cut at \(cut)")
    }
  }

  /// A window within the scanner is a cut too.
  @Test func longInput() {
    let stanza =
      "<m a='\(String(repeating: "\u{E9}&lt;\r\n", count: 5_000))'>\(String(repeating: "\u{20AC}]]&gt;", count: 9_000))</m>"
    let stream = Array((header + stanza + stanza + "<b/>").utf8)
    let whole = read(stream)
    #expect(whole.count == 4)
    #expect(read(stream, step: 1) == whole)
    #expect(read(stream, step: 16_383) == whole)
    guard case .element(let element) = whole.last else { return }
    #expect(element.local == "b")
  }
}
