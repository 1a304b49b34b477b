import Administration
import ArgumentParser

struct DialogRoleChange: AdminCommand {
  typealias Operation = SetDialogRole
  static let configuration = CommandConfiguration(
    commandName: "role",
    abstract: "Changes a member's role in a dialog, or bans a user from it.",
    discussion: """
      Owners may do everything; admins manage members and the name of the dialog; watchers read and do not write. A \
      dialog always has at least one owner. To lift a ban, use parley dialog remove.

      Examples:
        parley dialog role team@conference.localhost bob@localhost admin
        parley dialog role team bob banned --reason "Spam"
      """)

  @Argument(help: "The dialog.") var dialog: String
  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The new role.") var role: DialogRole
  @Option(name: .long, help: "The reason that is shown to those who are notified.") var reason: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(dialog: dialog, jid: context.address(jid), role: role, reason: reason)
  }

  func text(_ member: DialogMemberRow) -> String { "\(member.jid) is \(member.role) in \(dialog)." }
}
