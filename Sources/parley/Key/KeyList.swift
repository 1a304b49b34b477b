import Administration
import ArgumentParser
import ParleyServer

struct KeyList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists keys, without their secrets.",
    discussion: """
      Examples:
        parley key list
        parley key list --domain example.org --json
      """)

  @Option(name: .long, help: "Those of this domain; else of the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let keys = try await administration.call(ListKeys.self, ListKeys.Input(domain: domain))
      var table = TextTable("Key", "Name", "Begins", "May", "Created", "Used")
      for key in keys {
        table.add([
          String(key.id), key.name, key.prefix, key.scopes.joined(separator: " "), key.createdAt, key.usedAt ?? "",
        ])
      }
      try output.print(keys, keys.isEmpty ? "There are no keys." : String(table.text().dropLast()))
    }
  }
}
