import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct DialogAdd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Puts a user into a dialog.",
    discussion: """
      Examples:
        parley dialog add garden@conference.localhost bob@localhost
        parley dialog add garden bob --role admin
      """)

  @Argument(help: "The dialog.") var dialog: String
  @Argument(help: "The user's address.") var jid: String
  @Option(name: .long, help: "What the user becomes there.") var role = DialogRole.member
  @Option(name: .long, help: "What the user is called there; else as everywhere.") var nick: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, settings in
      let member = try await administration.call(
        AddDialogMember.self,
        AddDialogMember.Input(dialog: dialog, jid: options.address(jid, settings), role: role, nick: nick))
      try output.print(member, "\(member.jid) is \(member.role) in \(dialog).")
    }
  }
}
