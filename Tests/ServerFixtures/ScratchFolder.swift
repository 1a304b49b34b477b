import Foundation

/// A folder of its own for one test, gone afterwards.
package func withScratchFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
  let folder = try makeScratchFolder()
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try body(folder)
}

package func withScratchFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let folder = try makeScratchFolder()
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try await body(folder)
}

/// Short, because a socket's path must fit in 107 bytes.
private func makeScratchFolder() throws -> String {
  let path = "/tmp/parley-" + UUID().uuidString.prefix(8)
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  return path
}
