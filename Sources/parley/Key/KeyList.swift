import Administration
import ArgumentParser

struct KeyList: ListCommand {
  typealias Operation = ListKeys
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists keys, without their secrets.",
    discussion: """
      Examples:
        parley key list
        parley key list --domain example.org --json
      """)

  @Option(name: .long, help: "Only those of this domain (default: the first).") var domain: String?
  @OptionGroup var options: CommandOptions

  static let none = "There are no keys."
  static let table = TextTable("Key", "Name", "Begins", "May", "Created", "Used")

  func input(in context: CommandContext, after cursor: Never?) -> Operation.Input { .init(domain: domain) }

  func cells(_ key: KeyRow) -> [String] {
    [String(key.id), key.name, key.prefix, key.scopes.joined(separator: " "), key.createdAt, key.usedAt ?? ""]
  }
}
