import FoundationEssentials
import ParleyTesting
import Testing

/// `docs/xep-0045.md` says of every example of XEP-0045 where it is played, or why it is not; and of every error and
/// status code. It can say no more than the plays have, and no less.
@Suite struct ExamplesTests {
  /// The number of the last example in version 1.35.5.
  private static let last = 220

  private struct Row {
    let cells: [String]
    /// `1, 2` and `20-22`.
    var numbers: [Int] {
      cells[0].split(separator: ",").flatMap { part -> [Int] in
        let ends = part.split(separator: "-").compactMap { Int($0.drop { $0 == " " }) }
        guard let first = ends.first, let last = ends.last, first <= last else { return [] }
        return Array(first...last)
      }
    }
    /// The name of the scene that plays these examples.
    var scene: String { "\(numbers.count > 1 ? "Examples" : "Example") \(cells[0]): \(cells[1])" }
  }

  /// The rows of a table, by the heading above it.
  private static func table(_ heading: String) throws -> [Row] {
    let text = String(decoding: try Data(contentsOf: Playbill.docs.appending(path: "xep-0045.md")), as: UTF8.self)
    let below = text.split(separator: "\n## ").first { $0.hasPrefix(heading) } ?? ""
    let rows = below.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(1)
    return rows.map { row in
      Row(cells: row.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") })
    }
  }

  /// Name of a play without its ending -> names of its scenes.
  private static func scenes() throws -> [String: [String]] {
    let plays = try Playbill.names.filter { $0.hasPrefix("xep-0045") }.map { try Playbill.play($0) }
    return Dictionary(uniqueKeysWithValues: plays.map { (String($0.name.dropLast(5)), $0.scenes) })
  }

  @Test func everyExampleIsListedOnceAndPlayedWhereItSays() throws {
    let rows = try Self.table("Examples")
    #expect(rows.flatMap(\.numbers).sorted() == Array(1...Self.last))
    var listed: [String] = []
    for row in rows {
      let place = row.cells[2]
      if place.hasPrefix("`") {
        listed.append("\(place.dropFirst().dropLast()) \(row.scene)")
      } else {
        #expect(["client: ", "check: ", "not done: "].contains { place.hasPrefix($0) }, "\(row.scene): \(place)")
      }
    }
    let played = try Self.scenes().flatMap { play, scenes in
      scenes.filter { $0.hasPrefix("Example") }.map { "\(play) \($0)" }
    }
    #expect(listed.sorted() == played.sorted())
  }

  @Test(arguments: ["Errors", "Status codes"])
  func everyErrorAndStatusCodeIsPlayedWhereItSays(_ heading: String) throws {
    let scenes = Set(try Self.scenes().values.joined())
    let rows = try Self.table(heading)
    #expect(!rows.isEmpty)
    for row in rows {
      let place = try #require(row.cells.last)
      #expect(scenes.contains(place) || place.hasPrefix("not done: "), "there is no scene \"\(place)\"")
    }
  }

  @Test func noSceneComparesNothing() throws {
    for name in Playbill.names {
      let play = try Playbill.play(name)
      let parts = play.lines.split { if case .sceneBegins = $0.act { true } else { false } }
      guard !play.scenes.isEmpty else { continue }
      #expect(parts.count >= play.scenes.count, "\(name) has an empty scene")
      for part in parts.suffix(play.scenes.count) {
        let compares = part.contains {
          switch $0.act {
          case .receives, .receivesNo, .receivesNothing, .does, .operatorDoes: true
          default: false
          }
        }
        #expect(compares, "\(name), line \(part.first?.number ?? 0)")
      }
    }
  }
}
