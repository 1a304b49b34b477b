import Administration
import ArgumentParser

struct UserNoteChange: AdminCommand {
  typealias Operation = SetNote
  static let configuration = CommandConfiguration(
    commandName: "note",
    abstract: "Sets an operators' note on a user.",
    discussion: """
      It replaces the former note; without a text the note is removed. parley user show prints it. An export of the user's \
      data contains it.

      Examples:
        parley user note bob@localhost "Warned of spam on 31 January."
        parley user note bob@localhost
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The note.") var note = ""
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid), text: note) }

  func text(_ user: Operation.Output) -> String {
    note.isEmpty ? "There is no note on \(user.jid)." : "The note on \(user.jid) is set."
  }
}
