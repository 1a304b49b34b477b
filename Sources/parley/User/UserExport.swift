import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct UserExport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Makes an archive of all that is a user's, and says where it is fetched.",
    discussion: """
      A tar file: profile, contacts, dialogs and messages as JSON lines, the XMPP account as XEP-0227. Whoever knows its \
      address can read it, for seven days; the user's own exports are made the same way.

      Examples:
        parley user export alice@localhost
        parley user export alice --json
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, settings in
      let export = try await administration.call(
        ExportUser.self, ExportUser.Input(jid: options.address(jid, settings)))
      try output.print(
        export, "\(export.size) bytes, until \(export.expiresAt ?? "ever"):\n\(export.url)")
    }
  }
}
