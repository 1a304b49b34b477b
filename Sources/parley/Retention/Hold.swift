import Administration
import ArgumentParser
import Basics

struct HoldCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hold",
    abstract: "Legal holds: users and dialogs that retention and account deletion must not touch.",
    discussion: """
      Examples:
        parley hold add bob@localhost --note "case 17"
        parley hold list
        parley hold remove alice@localhost
      """,
    subcommands: [HoldAdd.self, HoldList.self, HoldRemove.self])
}

struct HoldAdd: AdminCommand {
  typealias Operation = AddHold
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Puts a hold on a user or dialog, or replaces the note of an existing hold.",
    discussion: """
      A hold on a user keeps their private dialogs, the rooms that they are a member of, everything in other rooms since \
      their first message there, and their files; a deletion or erasure of their account waits. Users can still retract \
      messages.

      Examples:
        parley hold add bob@localhost --note "case 17"
        parley hold add garden@conference.localhost
      """)

  @Argument(help: "The address of a user or room, or a dialog's id for apps.") var subject: String
  @Option(name: .long, help: "A note for operators.") var note: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(subject: subject, note: note) }

  func text(_ hold: HoldRow) -> String { "\(hold.subject) is held." }
}

struct HoldList: ListCommand {
  typealias Operation = ListHolds
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists the holds.",
    discussion: """
      Examples:
        parley hold list
        parley hold list --json
      """)

  @OptionGroup var options: CommandOptions

  static let none = "There are no holds."
  static let table = TextTable("Kind", "Subject", "Since", "Note")

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input { Empty() }

  func cells(_ hold: HoldRow) -> [String] { [hold.kind, hold.subject, hold.since.description, hold.note ?? ""] }
}

struct HoldRemove: AdminCommand {
  typealias Operation = RemoveHold
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Removes a hold. Everything that only the hold kept is deleted within the hour.",
    discussion: """
      Example:
        parley hold remove alice@localhost
      """)

  @Argument(help: "The subject, as in the list.") var subject: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(subject: subject) }

  func text(_ output: Operation.Output) -> String { "\(subject) is not held any more." }
}
