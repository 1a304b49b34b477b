import Administration
import ArgumentParser

struct ContactGroupRemove: AdminCommand {
  typealias Operation = ChangeContactGroup
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Removes users from a contact group.",
    discussion: """
      They keep their own contacts, and those by other groups. If one user is refused, none is removed.

      Examples:
        parley contact-group remove sales alice@localhost
        parley contact-group remove sales alice@localhost bob@localhost
      """)

  @Argument(help: "The group.") var group: String
  @Argument(help: "The users' addresses.") var users: [String]
  @Option(name: .long, help: "A group of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(group: group, domain: domain, add: [], remove: users.map { context.address($0, in: domain) })
  }

  func text(_ changed: ContactGroupRow) -> String { "\(changed.name) has \(changed.size)." }
}
