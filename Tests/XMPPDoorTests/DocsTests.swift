import FoundationEssentials
import Testing

@testable import XMPPDoor

/// Compares `docs/xeps.md` with the list of features. With `PARLEY_WRITE_DOCS=1` it writes the page.
@Suite("docs/xeps.md")
struct DocsTests {
  @Test func isUpToDate() throws {
    let path = Self.root + "/docs/xeps.md"
    let generated = Self.page()
    if ProcessInfo.processInfo.environment["PARLEY_WRITE_DOCS"] == "1" {
      try generated.write(toFile: path, atomically: false, encoding: .utf8)
    }
    let kept = try String(contentsOfFile: path, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    let wanted = generated.split(separator: "\n", omittingEmptySubsequences: false)
    let changes = wanted.difference(from: kept).map { change in
      switch change {
      case .insert(let line, let text, _): "line \(line + 1) should be: \(text)"
      case .remove(let line, let text, _): "line \(line + 1) should go: \(text)"
      }
    }
    #expect(
      changes.isEmpty,
      "docs/xeps.md is out of date; run the tests with PARLEY_WRITE_DOCS=1:\n\(changes.joined(separator: "\n"))")
  }

  static func page() -> String {
    """
    # XEPs

    This page is generated from the list of features in `Sources/XMPPDoor/Features.swift`, and a test compares the two
    (`PARLEY_WRITE_DOCS=1 swift test --filter DocsTests` writes the page). The version is that of the specification that
    was implemented. Known omissions and deviations are in the last column; if it is empty, none are known. The tests are
    up to three of those whose text names the specification: plays (`Tests/Plays`), clients (`Tests/Clients`) and unit
    tests. A specification without a test fails the comparison.

    ## Features

    Each feature is one file under `Sources/XMPPDoor/Features`.

    \(table(Features.all.map { $0.xep }, "Omissions and deviations"))

    ## In the stream, the protocol library and the core

    \(table(Features.elsewhere, "Notes"))

    ## Stored and forwarded

    These messages concern clients only: the server stores and delivers them, even without a body, and does not evaluate
    them.

    \(table(OfflineMessages.passedOn, "Notes"))

    """
  }

  @Test(
    arguments: (Features.all.map { $0.xep } + Features.elsewhere + OfflineMessages.passedOn).filter { $0.number > 0 })
  func hasATest(_ xep: XEP) {
    #expect(Self.naming[xep.number] != nil, "no test names XEP-\(xep.number)")
  }

  private static let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()

  /// The tests whose text names the specification, by its number: one of each kind first.
  private static let naming: [Int: [String]] = {
    let kinds = [
      "Tests/Plays", "Tests/Clients", "Tests/XMPPDoorTests", "Tests/XMPPTests", "Tests/JingleTests",
      "Tests/DialogsTests", "Tests/AccountsTests", "Tests/AddressesTests", "Tests/BasicsTests",
    ]
    var found: [Int: [[String]]] = [:]
    for (kind, folder) in kinds.enumerated() {
      let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")) ?? []
      // Whole apps name everything: they come behind what is about one thing.
      let inOrder = files.sorted { ($0.hasPrefix("app_") ? 1 : 0, $0) < ($1.hasPrefix("app_") ? 1 : 0, $1) }
      for file in inOrder where file != "DocsTests.swift" {
        let parts = file.split(separator: ".")
        guard parts.count == 2, ["play", "py", "swift"].contains(parts[1]),
          let text = try? String(contentsOfFile: "\(root)/\(folder)/\(file)", encoding: .utf8)
        else { continue }
        for number in numbers(in: text) {
          found[number, default: Array(repeating: [], count: kinds.count)][kind].append(String(parts[0]))
        }
      }
    }
    return found.mapValues { tests in tests.compactMap(\.first) + tests.flatMap { $0.dropFirst() } }
  }()

  /// "XEP-0308, 0424, 0444" names three.
  private static func numbers(in text: String) -> Set<Int> {
    var found: Set<Int> = []
    for part in text.split(separator: "XEP-").dropFirst() {
      for word in part.split(separator: ", ", omittingEmptySubsequences: false) {
        let digits = word.prefix { $0.isASCII && $0.isNumber }
        guard digits.count == 4, let number = Int(digits) else { break }
        found.insert(number)
        if digits.count < word.count { break }
      }
    }
    return found
  }

  private static func table(_ xeps: [XEP], _ notes: String) -> String {
    let sorted = xeps.enumerated().sorted { ($0.element.number, $0.offset) < ($1.element.number, $1.offset) }.map(
      \.element)
    var lines = ["| XEP | Title | Version read | Tests | \(notes) |", "|---|---|---|---|---|"]
    for xep in sorted {
      let number =
        xep.number == 0 ? "" : String(repeating: "0", count: max(0, 4 - String(xep.number).count)) + "\(xep.number)"
      let tests = naming[xep.number, default: []]
      let shown = tests.prefix(3).map { "`\($0)`" }.joined(separator: ", ") + (tests.count > 3 ? ", …" : "")
      lines.append("| \(number) | \(xep.title) | \(xep.version) | \(shown) | \(xep.note ?? "") |")
    }
    return lines.joined(separator: "\n").replacing("|  |", with: "| |").replacing("|  |", with: "| |")
  }
}
