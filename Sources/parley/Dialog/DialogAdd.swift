import Administration
import ArgumentParser

struct DialogAdd: AdminCommand {
  typealias Operation = AddDialogMember
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Adds a user to a dialog.",
    discussion: """
      Examples:
        parley dialog add garden@conference.localhost bob@localhost
        parley dialog add garden bob --role admin
      """)

  @Argument(help: "The dialog.") var dialog: String
  @Argument(help: "The user's address.") var jid: String
  @Option(name: .long, help: "The user's role in the dialog.") var role = DialogRole.member
  @Option(name: .long, help: "The user's nick in the dialog (default: their display name).") var nick: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(dialog: dialog, jid: context.address(jid), role: role, nick: nick)
  }

  func text(_ member: DialogMemberRow) -> String { "\(member.jid) is \(member.role) in \(dialog)." }
}
