package import Accounts
package import Addresses
package import Administration
import Basics
package import Dialogs
package import Foundation
package import Logging
import NIOPosix
package import ParleyServer
package import ServerConfiguration

/// Settings of a test: a data folder, and what else is given.
package func testSettings(_ folder: String, _ values: [String: String] = [:]) throws -> Settings {
  try Settings.load(
    SettingsArguments(values: [("data", folder + "/data", "test")] + values.map { ($0.key, $0.value, "test") }),
    environment: [:], standardFiles: [])
}

package let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

/// Opens the folder, which no other process may hold.
package func openFolder(_ path: String, for use: DataFolder.Use = .serving) throws -> DataFolder {
  guard case .opened(let folder) = try DataFolder.open(path, for: use) else { throw StartupError("\(path) is held") }
  return folder
}

/// An opened core in a folder of its own, closed afterwards.
package func withCore<Result>(
  _ values: [String: String] = [:], _ body: (Core, AdminContext, Settings) async throws -> Result
) async throws -> Result {
  try await withScratchFolder { folder in
    let settings = try testSettings(folder, values)
    let core = try Core.open(settings, openFolder(settings.data), logger: quiet)
    let context = AdminContext(accounts: core.accounts, startedAt: core.parley.clock.now)
    do {
      let result = try await body(core, context, settings)
      await core.close(quiet)
      return result
    } catch {
      await core.close(quiet)
      throw error
    }
  }
}

/// The program as it was built, run to its end.
package struct Command {
  package struct Outcome {
    package let status: Int32
    package let output: String
    package let errors: String
    /// Lines of standard error.
    package var lines: [String] { errors.split(separator: "\n").map(String.init) }
  }

  /// Beside the test bundle.
  private static let binary: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("parley").path
  }()

  /// `folder` is where it runs; the environment has nothing of the test's own.
  package static func start(
    _ arguments: [String], in folder: String, environment: [String: String] = [:], input: String? = nil
  ) throws -> (process: Process, output: Pipe, errors: Pipe) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: binary)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.environment = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"].merging(environment) { $1 }
    let output = Pipe()
    let errors = Pipe()
    process.standardOutput = output
    process.standardError = errors
    if let input {
      let pipe = Pipe()
      process.standardInput = pipe
      try process.run()
      pipe.fileHandleForWriting.write(Data(input.utf8))
      try pipe.fileHandleForWriting.close()
    } else {
      process.standardInput = FileHandle.nullDevice
      try process.run()
    }
    return (process, output, errors)
  }

  package static func run(
    _ arguments: String..., in folder: String, environment: [String: String] = [:], input: String? = nil
  ) async throws -> Outcome {
    let (process, output, errors) = try start(arguments, in: folder, environment: environment, input: input)
    // Both are read at once: a full pipe would hold the process up. Off the tests' threads.
    async let text = NIOThreadPool.singleton.runIfActive { output.fileHandleForReading.readDataToEndOfFile() }
    async let lines = NIOThreadPool.singleton.runIfActive { errors.fileHandleForReading.readDataToEndOfFile() }
    let (out, err) = try await (text, lines)
    try await NIOThreadPool.singleton.runIfActive { process.waitUntilExit() }
    return Outcome(
      status: process.terminationStatus, output: String(decoding: out, as: UTF8.self),
      errors: String(decoding: err, as: UTF8.self))
  }
}

extension Accounts {
  package func verify(_ user: BareJID, password: String) async throws(Problem) -> User {
    try await verify(LoginAttempt(of: user, from: "192.0.2.1", device: nil), password: password)
  }
}
