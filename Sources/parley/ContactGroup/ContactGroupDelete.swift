import Administration
import ArgumentParser

struct ContactGroupDelete: AdminCommand {
  typealias Operation = DeleteContactGroup
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes a contact group: its members keep only their own contacts.",
    discussion: """
      On a terminal the command asks for confirmation; otherwise --yes is required.

      Example:
        parley contact-group delete sales --yes
      """)

  @Argument(help: "The group.") var group: String
  @Flag(name: .long, help: "Does not ask for confirmation.") var yes = false
  @Option(name: .long, help: "A group of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func run() async throws {
    if !yes { try Terminal.confirm("Delete the contact group \(group)?") }
    try await perform()
  }

  func input(in context: CommandContext) -> Operation.Input { .init(group: group, domain: domain) }

  func text(_ output: Empty) -> String { "Deleted \(group)." }
}
