import Administration
import ArgumentParser
import ParleyServer

struct KeyRevoke: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Takes a key back: it opens nothing any more.",
    discussion: """
      Example:
        parley key revoke 4711
      """)

  @Argument(help: "The key's number, as in the list.") var id: Int64
  @Option(name: .long, help: "The key's domain; else the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let done = try await administration.call(RevokeKey.self, RevokeKey.Input(domain: domain, id: id))
      try output.print(done, "Revoked key \(id).")
    }
  }
}
