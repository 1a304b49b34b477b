import Administration
import ArgumentParser

struct ContactGroupCreate: AdminCommand {
  typealias Operation = PutContactGroup
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Creates a contact group, or gives it another display name.",
    discussion: """
      With --everyone its members are all users of the domain, future ones too; no others can be added.

      Examples:
        parley contact-group create sales
        parley contact-group create sales --display-name "Sales, London"
        parley contact-group create staff --everyone
      """)

  @Argument(help: "The name by which you know it: a-z, 0-9, dot, hyphen, underscore.") var group: String
  @Option(name: .customLong("display-name"), help: "The name that members see (default: the group's name).")
  var displayName: String?
  @Flag(name: .long, help: "All users of the domain are in it.") var everyone = false
  @Option(name: .long, help: "The group's domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(group: group, domain: domain, displayName: displayName, everyone: everyone ? true : nil)
  }

  func text(_ made: ContactGroupRow) -> String { "\(made.name), shown as \(made.displayName), has \(made.size)." }
}
