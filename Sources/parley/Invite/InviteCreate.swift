import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct InviteCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Makes an invitation and prints its links. Nobody can be shown them again.",
    discussion: """
      With a name, that account is kept for the guest; else they choose one.

      Examples:
        parley invite create
        parley invite create nina --contact alice
        parley invite create --domain example.org --json
      """)

  @Argument(help: "The name before the @ of the account.") var name: String?
  @Option(name: .long, help: ArgumentHelp("A user whose contact the guest becomes.", valueName: "jid"))
  var contact: String?
  @Option(name: .long, help: "The account's domain; else the contact's, or the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration(creating: true) { administration, settings in
      let input = CreateInvite.Input(
        domain: domain, name: name, contact: contact.map { options.address($0, settings) })
      let links = try await administration.call(CreateInvite.self, input)
      let page = links.page.map { "\($0)\n" } ?? ""
      try output.print(links, "\(page)\(links.uri)\nInvitation \(links.id), good once until \(links.expires).")
    }
  }
}
