import Administration
import ArgumentParser

struct ContactGroupSee: AdminCommand {
  typealias Operation = ChangeContactGroup
  static let configuration = CommandConfiguration(
    commandName: "see",
    abstract: "Lets the members of a group and those of others see each other.",
    discussion: """
      The members of both become each other's contacts, as if they were in one group; it makes no difference which group
      is named first.

      Examples:
        parley contact-group see sales support
        parley contact-group see support sales --json
      """)

  @Argument(help: "The group.") var group: String
  @Argument(help: "The other groups.") var others: [String]
  @Option(name: .long, help: "Groups of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(group: group, domain: domain, see: others) }

  func text(_ changed: ContactGroupRow) -> String { changed.sight }
}
