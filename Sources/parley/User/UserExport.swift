import Administration
import ArgumentParser

struct UserExport: AdminCommand {
  typealias Operation = ExportUser
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Creates an archive of a user's data, and prints its URL.",
    discussion: """
      A tar file: profile, contacts, dialogs and messages as JSON lines, the XMPP account as XEP-0227. Anyone who knows its \
      URL can read it, for seven days. Users can create the same archive themselves.

      Examples:
        parley user export alice@localhost
        parley user export alice --json
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid)) }

  func text(_ export: Operation.Output) -> String {
    "\(export.size) bytes, until \(export.expiresAt ?? "ever"):\n\(export.url)"
  }
}
