import Administration
import ArgumentParser

struct ContactGroupUnsee: AdminCommand {
  typealias Operation = ChangeContactGroup
  static let configuration = CommandConfiguration(
    commandName: "unsee",
    abstract: "Hides the members of a group and those of others from each other again.",
    discussion: """
      They keep their own contacts, and those by other groups.

      Examples:
        parley contact-group unsee sales support
      """)

  @Argument(help: "The group.") var group: String
  @Argument(help: "The other groups.") var others: [String]
  @Option(name: .long, help: "Groups of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(group: group, domain: domain, unsee: others) }

  func text(_ changed: ContactGroupRow) -> String { changed.sight }
}
