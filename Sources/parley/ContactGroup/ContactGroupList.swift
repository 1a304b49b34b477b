import Administration
import ArgumentParser

struct ContactGroupList: ListCommand {
  typealias Operation = ListContactGroups
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists contact groups by name.",
    discussion: """
      Examples:
        parley contact-group list
        parley contact-group list --domain example.org --json
      """)

  @Option(name: .long, help: "Only those of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  static let none = "There are no contact groups."
  static let table = TextTable([("Group", .left), ("Shown as", .left), ("Everyone", .left), ("Members", .right)])

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input { .init(domain: domain) }

  func cells(_ group: ContactGroupRow) -> [String] {
    [group.name, group.displayName, group.everyone ? "yes" : "", String(group.members)]
  }
}
