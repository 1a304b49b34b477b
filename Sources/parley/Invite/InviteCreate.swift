import Administration
import ArgumentParser

struct InviteCreate: AdminCommand {
  typealias Operation = CreateInvite
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Creates an invitation and prints its links. They are shown only once.",
    discussion: """
      With a name, that account is reserved for the invited person; otherwise they choose a name.

      Examples:
        parley invite create
        parley invite create nina --contact alice
        parley invite create --domain example.org --json
      """)

  @Argument(help: "The name before the @ of the account.") var name: String?
  @Option(name: .long, help: ArgumentHelp("A user whose contact the invited person becomes.", valueName: "jid"))
  var contact: String?
  @Option(name: .long, help: "The account's domain (default: the contact's, or the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input {
    .init(domain: domain, name: name, contact: contact.map(context.address))
  }

  func text(_ links: InviteLinks) -> String {
    let page = links.page.map { "\($0)\n" } ?? ""
    return "\(page)\(links.uri)\nInvitation \(links.id), good once until \(links.expires)."
  }
}
