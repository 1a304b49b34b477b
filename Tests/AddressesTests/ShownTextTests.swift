import Foundation
import Testing

@testable import Addresses

/// What `Tests/Vectors/names.json` holds of names and texts as they are shown; the web client's rule is held to it by
/// `Tests/Clients/web_everyday.py`.
private struct Vectors: Decodable {
  /// Names and texts that are shown as they are.
  let kept: [String]
  /// Names and texts, each with its shown form, without towers of marks.
  let cut: [[String]]
  /// Names, each with its shown form, which is empty if nothing of it is visible.
  let names: [[String]]

  static func read() throws -> Vectors {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: tests.appending(path: "Vectors/names.json")))
  }
}

@Suite struct ShownTextTests {
  // Scalars are compared: to String two canonically equivalent texts are equal.
  private func scalars(_ text: String?) -> [Unicode.Scalar]? { text.map { Array($0.unicodeScalars) } }

  @Test func vectors() throws {
    let vectors = try Vectors.read()
    #expect(vectors.kept.count > 10 && vectors.cut.count > 2 && vectors.names.count > 15)
    for text in vectors.kept {
      #expect(scalars(ShownText.name(text)) == scalars(text), "\(text)")
      #expect(scalars(ShownText.text(text)) == scalars(text), "\(text)")
    }
    for pair in vectors.cut {
      #expect(scalars(ShownText.name(pair[0])) == scalars(pair[1]), "\(pair)")
      #expect(scalars(ShownText.text(pair[0])) == scalars(pair[1]), "\(pair)")
    }
    for pair in vectors.names {
      #expect(scalars(ShownText.name(pair[0])) == scalars(pair[1].isEmpty ? nil : pair[1]), "\(pair)")
    }
  }

  @Test func aTextKeepsItsLinesAndDirections() {
    let text = "one\n\ttwo  \u{2067}three\u{2069}\n"
    #expect(scalars(ShownText.text(text)) == scalars(text))
    #expect(ShownText.text("a\u{0}b\r\n\u{9b}c") == "ab\nc")
  }
}
