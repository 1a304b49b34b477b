import Administration
import ArgumentParser

struct DialogMembers: ListCommand {
  typealias Operation = ListDialogMembers
  static let configuration = CommandConfiguration(
    commandName: "members",
    abstract: "Lists a dialog's members, or those with one role.",
    discussion: """
      Called is the nick in the dialog. Where members do not see addresses, one without a name and without a nick of their \
      own is called Guest with a number there, and is not therefore a guest: Member is who it is.

      Examples:
        parley dialog members team@conference.localhost
        parley dialog members team --role banned
        parley dialog members team --json
      """)

  @Argument(help: "The dialog.") var dialog: String
  @Option(name: .long, help: "Only those with this role; banned people are listed with theirs only.")
  var role: DialogRole?
  @OptionGroup var options: CommandOptions

  static let none = "There is nobody."
  static let table = TextTable("Member", "Role", "Called", "Since")

  func input(in context: CommandContext, after cursor: Int64?) -> Operation.Input {
    .init(dialog: dialog, role: role, after: cursor, limit: 500)
  }

  func cells(_ member: DialogMemberRow) -> [String] {
    [member.jid, member.role, member.nick ?? "", member.since ?? ""]
  }
}
