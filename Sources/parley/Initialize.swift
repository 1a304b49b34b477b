import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct Initialize: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Prepares the data folder: database, certificate, and two demo users (only for localhost).",
    discussion: """
      The first parley serve does the same. Use this command to inspect the folder before the server starts, or to begin \
      without the demo users.

      Examples:
        parley init
        parley init --no-demo --data /var/lib/parley
      """)

  @OptionGroup var options: LocalOptions
  @Flag(
    inversion: .prefixedNo,
    help: "Creates the users juliet and romeo with random passwords; by default where the domain is localhost.")
  var demo: Bool?

  func run() async throws {
    let settings = try options.settings()
    let lines = try await FirstStart.prepare(settings, demo: demo)
    Terminal.print(lines)
  }
}
