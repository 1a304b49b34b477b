import FoundationEssentials
import ParleyTesting

/// Where the plays are, and the binary.
enum Playbill {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Plays")

  static let names: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return files.filter { $0.hasSuffix(".play") }.sorted()
  }()

  static func play(_ name: String) throws -> Play {
    let text = String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
    return try PlayParser.parse(text, name: name)
  }

  /// Beside the test bundle.
  static var binary: String {
    URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "parley").path
  }
}
