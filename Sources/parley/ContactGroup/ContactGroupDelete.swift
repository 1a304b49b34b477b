import Administration
import ArgumentParser

struct ContactGroupDelete: AdminCommand {
  typealias Operation = DeleteContactGroup
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes a contact group: its members keep only the contacts of their own.",
    discussion: """
      On a terminal you are asked first; elsewhere --yes is needed.

      Example:
        parley contact-group delete sales --yes
      """)

  @Argument(help: "The group.") var group: String
  @Flag(name: .long, help: "Does not ask for confirmation.") var yes = false
  @Option(name: .long, help: "A group of this domain; else of the first.") var domain: String?
  @OptionGroup var options: CommandOptions

  func run() async throws {
    if !yes { try Terminal.confirm("Delete the contact group \(group)?") }
    try await perform()
  }

  func input(in context: CommandContext) -> Operation.Input { .init(group: group, domain: domain) }

  func text(_ output: Empty) -> String { "Deleted \(group)." }
}
