import Administration
import ArgumentParser

struct UserNoteChange: AdminCommand {
  typealias Operation = SetNote
  static let configuration = CommandConfiguration(
    commandName: "note",
    abstract: "Writes a note on a user, for operators.",
    discussion: """
      It takes the place of the one before; without a text it is removed. parley user show prints it. It is part of an \
      export of the user's data.

      Examples:
        parley user note bob@localhost "Warned of spam on 31 January."
        parley user note bob@localhost
      """)

  @Argument(help: "The user's address.") var jid: String
  @Argument(help: "The note.") var note = ""
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid), text: note) }

  func text(_ user: Operation.Output) -> String {
    note.isEmpty ? "There is no note on \(user.jid)." : "Noted on \(user.jid)."
  }
}
