import Administration
import ArgumentParser

struct ContactGroupShow: AdminCommand {
  typealias Operation = ShowContactGroup
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows a contact group and its members.",
    discussion: """
      Examples:
        parley contact-group show sales
        parley contact-group show sales --json
      """)

  @Argument(help: "The group.") var group: String
  @Option(name: .long, help: "A group of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(group: group, domain: domain) }

  func text(_ shown: Operation.Output) -> String {
    var table = TextTable("Group", shown.group.name)
    table.add(["shown as", shown.group.displayName])
    table.add(["everyone", shown.group.everyone ? "yes" : "no"])
    for other in shown.group.sees { table.add(["sees", other]) }
    for member in shown.members { table.add(["member", member]) }
    return table.text()
  }
}
