import Foundation
import ServerCertificates
import ServerConfiguration
import ServerFixtures
import Testing

@testable import ParleyServer

/// The tables of docs/operations.md against what the server opens and writes.
@Suite struct OperationsGuideTests {
  /// Returns the cells of the rows of the table with this first line.
  private func rows(_ head: String) throws -> [[String]] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("docs/operations.md").path
    let lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
    let first = try #require(lines.firstIndex(of: head))
    return lines[(first + 2)...].prefix { $0.hasPrefix("|") }.map { line in
      line.components(separatedBy: "|").dropFirst().dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  /// Returns the texts in backquotes.
  private func names(in cell: String) -> [String] {
    cell.components(separatedBy: "`").enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
  }

  @Test func everyPortIsInTheTable() throws {
    var listed: [String: String] = [:]
    for row in try rows("| port | key | protocol | used by |") {
      let (ports, keys) = (row[0].components(separatedBy: ", "), names(in: row[1]))
      #expect(ports.count == keys.count, "\(row)")
      for (port, key) in zip(ports, keys) { listed[key] = port }
    }
    var defaults: [String: String] = [:]
    for key in Keys.all where key.name.hasSuffix("port") { defaults[key.name] = key.fallback }
    #expect(listed == defaults && defaults.count == 8)
  }

  /// The table of what clients can make a server hold, of machines with 1, 4 and 16 GiB: each part of `MemoryBounds`, and their
  /// sum.
  @Test func everyPartOfTheMemoryIsInTheTable() throws {
    let bounds = [1, 4, 16].map { MemoryBounds(memory: $0 << 30, files: 262_144) }
    var expected = bounds[0].parts.map { [$0.name] }
    for machine in bounds {
      for (number, part) in machine.parts.enumerated() { expected[number].append("\(part.bytes >> 20)") }
    }
    expected.append(["together"] + bounds.map { "\($0.sum >> 20)" })
    let listed = try rows("| held at most | 1 GiB | 4 GiB | 16 GiB |").map { row in
      [row[0]] + row.dropFirst().map { $0.filter { $0 != "," } }
    }
    #expect(listed == expected && listed.count == 20)
  }

  @Test func everyFileOfTheDataFolderIsInTheTable() async throws {
    let listed = Set(
      try rows("| in `<data>` | contents |").flatMap { names(in: $0[0]) }.map { name in
        name.hasSuffix("/") ? String(name.dropLast()) : name
      })
    try await withCore { core, _, settings in
      _ = try Certificates(settings, folder: core.folder.certificates, logger: quiet)
      _ = try await FirstStart.run(core, settings, demo: false)
      let there = try FileManager.default.contentsOfDirectory(atPath: core.folder.path)
      #expect(Set(there).isSuperset(of: ["parley.db", "parley.db-wal", "lock", "first-start", "tls", "blobs"]))
      #expect(Set(there).subtracting(listed) == [])
      #expect(settings.adminSocket == core.folder.path + "/admin.sock" && listed.contains("admin.sock"))
    }
    #expect(DataRestore.harmless.subtracting(listed) == ["lost+found"])
    #expect(listed.contains { $0.hasPrefix(UnsentCopy.prefix) } && listed.contains { $0.hasPrefix("replaced-") })
  }
}
