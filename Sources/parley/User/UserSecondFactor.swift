import Administration
import ArgumentParser

struct UserSecondFactor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "second-factor",
    abstract: "A user's second factor: removal, for a user who has lost it.",
    discussion: """
      Examples:
        parley user second-factor off bob@localhost
      """,
    subcommands: [Off.self])

  struct Off: AdminCommand {
    typealias Operation = RemoveSecondFactorOf
    static let configuration = CommandConfiguration(
      abstract: "Removes a user's second factor: the password alone is enough again.",
      discussion: """
        Examples:
          parley user second-factor off bob@localhost
        """)

    @Argument(help: "The user's address.") var jid: String
    @OptionGroup var options: CommandOptions

    func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid)) }

    func text(_ done: Operation.Output) -> String {
      done.removed ? "\(done.user.jid) has no second factor any more." : "\(done.user.jid) had none."
    }
  }
}
