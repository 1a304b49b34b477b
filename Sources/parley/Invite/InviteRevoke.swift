import Administration
import ArgumentParser
import ParleyServer

struct InviteRevoke: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Takes an invitation back: its links open nothing any more.",
    discussion: """
      Example:
        parley invite revoke 7
      """)

  @Argument(help: "The invitation's number, as in the list.") var id: Int64
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let done = try await administration.call(RevokeInvite.self, RevokeInvite.Input(id: id))
      try output.print(done, "Revoked invitation \(id).")
    }
  }
}
