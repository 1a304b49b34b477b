import Foundation
import Logging
import ServerConfiguration
import ServerFixtures
import Testing

@testable import ParleyServer

/// The lines of the log, in both forms.
@Suite struct ServerLogTests {
  private func lines(_ format: ServerLog.Format, _ body: (Logger) -> Void) throws -> [String] {
    try withScratchFolder { folder in
      let path = folder + "/log"
      #expect(FileManager.default.createFile(atPath: path, contents: nil))
      let file = try #require(FileHandle(forWritingAtPath: path))
      body(ServerLog(level: .info, format: format, file: file.fileDescriptor).logger("parley"))
      try file.close()
      return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }
  }

  private func log(_ logger: Logger) {
    logger.debug("not at this level")
    logger.warning("refused\n\"twice\"", metadata: ["name": "two words", "count": "2"])
  }

  @Test func aLineOfTextPerMessage() throws {
    let lines = try lines(.text, log)
    #expect(lines.count == 1)
    #expect(lines.first?.contains(" warning parley: refused") == true)
    #expect(lines.first?.hasSuffix(" count=2 name=\"two words\"") == true)
  }

  @Test func anObjectOfJSONPerMessage() throws {
    let lines = try lines(.json, log)
    #expect(lines.count == 1)
    let line = try #require(lines.first)
    #expect(line.hasPrefix("{\"time\":\"20"))
    let rest = #"","level":"warning","logger":"parley","message":"refused\n\"twice\"","#
    #expect(line.hasSuffix("Z" + rest + #""metadata":{"count":"2","name":"two words"}}"#), "\(line)")
  }
}
