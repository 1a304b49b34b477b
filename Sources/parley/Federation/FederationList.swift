import Administration
import ArgumentParser
import ServerConfiguration

struct FederationList: ListCommand {
  typealias Operation = ListFederation
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists pairs of a local and a remote domain, with their streams and waiting messages.",
    discussion: """
      Streams: out is ours, in is theirs, both takes stanzas both ways; then the version of TLS, how the other server was \
      verified, and sm where it acknowledges what it takes (XEP-0198).

      Examples:
        parley federation list
        parley federation list --json
      """)

  @OptionGroup var options: CommandOptions

  static let none = "There are no links to other servers."
  static let table = TextTable("Elsewhere", "Here", "State", "Streams", "Waiting", "Failures", "Reason")

  func none(in context: CommandContext) -> String {
    guard let settings = context.settings, settings.federation == nil else { return Self.none }
    return "There are no links to other servers: federation is off. Set federation.enabled: true, and restart."
  }

  func input(in context: CommandContext, after cursor: String?) -> Operation.Input { .init(after: cursor, limit: 500) }

  func cells(_ link: ListFederation.Output.Row) -> [String] { link.cells }
}
