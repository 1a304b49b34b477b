import Administration
import ArgumentParser

struct ContactGroupAdd: AdminCommand {
  typealias Operation = ChangeContactGroup
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Adds users to a contact group.",
    discussion: """
      Users who are members already stay. If one user is refused, none is added.

      Examples:
        parley contact-group add sales alice@localhost
        parley contact-group add sales alice@localhost bob@localhost
      """)

  @Argument(help: "The group.") var group: String
  @Argument(help: "The users' addresses.") var users: [String]
  @Option(name: .long, help: "A group of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(group: group, domain: domain, add: users.map { context.address($0, in: domain) }, remove: [])
  }

  func text(_ changed: ContactGroupRow) -> String { "\(changed.name) has \(changed.size)." }
}
