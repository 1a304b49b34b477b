import Administration
import ArgumentParser

struct InviteRevoke: AdminCommand {
  typealias Operation = RevokeInvite
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revokes an invitation: its links no longer work.",
    discussion: """
      Example:
        parley invite revoke 7
      """)

  @Argument(help: "The invitation's number, as in the list.") var id: Int64
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(id: id) }

  func text(_ output: Operation.Output) -> String { "Revoked invitation \(id)." }
}
