import FoundationEssentials
import Testing

@testable import XMPPDoor

/// Every feature of XEP-0060 that is advertised is played where `docs/xep-0060.md` says, and no other stands there.
@Suite struct PubsubFeaturesTests {
  private static let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

  @Test(arguments: [
    ("Features of accounts", PEP.features), ("Features of the service", PubsubService.features),
  ])
  func everyFeatureIsPlayed(title: String, features: [String]) throws {
    let page = try String(contentsOfFile: Self.root + "/docs/xep-0060.md", encoding: .utf8)
    let section = try #require(page.split(separator: "\n## ").first { $0.hasPrefix(title) })
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
      row.split(separator: "|").map { String($0.split(separator: " ").joined(separator: " ")) }
    }
    #expect(rows.map { $0[0] } == features.map { "`\($0)`" })
    for row in rows {
      let parts = row[1].split(separator: "`", maxSplits: 1)
      let play = try String(contentsOfFile: Self.root + "/Tests/Plays/\(parts[0]).play", encoding: .utf8)
      guard parts.count > 1, parts[1].hasPrefix(": ") else { continue }
      let scene = "scene: \(parts[1].dropFirst(2))"
      #expect(play.split(separator: "\n").contains { $0 == scene }, "there is no \(scene)")
    }
  }
}
