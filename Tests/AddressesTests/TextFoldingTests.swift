import Foundation
import Testing

@testable import Addresses

/// What `Tests/Vectors/names.json` holds of the server's rule; the web client's is held to it by `Tests/Clients/web_everyday.py`.
private struct Vectors: Decodable {
  /// Texts, each with its folded form.
  let folded: [[String]]
  /// Pairs of names that are not the same.
  let different: [[String]]

  static func read() throws -> Vectors {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: tests.appending(path: "Vectors/names.json")))
  }
}

@Suite struct TextFoldingTests {
  @Test func vectors() throws {
    let vectors = try Vectors.read()
    #expect(vectors.folded.count > 10 && vectors.different.count > 5)
    for pair in vectors.folded {
      #expect(TextFolding.folded(pair[0]) == Array(pair[1].unicodeScalars), "\(pair)")
    }
    for pair in vectors.different {
      #expect(TextFolding.folded(pair[0]) != TextFolding.folded(pair[1]), "\(pair)")
    }
  }
}
