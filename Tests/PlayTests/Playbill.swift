import FoundationEssentials
import ParleyTesting

/// The paths of the plays and of the binary.
enum Playbill {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  private static let folder = tests.appending(path: "Plays")
  static let docs = tests.deletingLastPathComponent().appending(path: "docs")

  static let names: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return files.filter { $0.hasSuffix(".play") }.sorted()
  }()

  /// Returns every second name, from this one on.
  static func half(_ first: Int) -> [String] { stride(from: first, to: names.count, by: 2).map { names[$0] } }

  static func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
  }

  static func play(_ name: String) throws -> Play { try PlayParser.parse(try text(name), name: name) }

  /// Beside the test bundle.
  static var binary: String {
    URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "parley").path
  }
}
