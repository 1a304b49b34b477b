import Administration
import ArgumentParser
import ParleyServer

struct KeyAudit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Lists what keys have called, the newest first.",
    discussion: """
      Examples:
        parley key audit
        parley key audit --limit 500 --json
      """)

  @Option(name: .long, help: "How many calls.") var limit = 50
  @Option(name: .long, help: "Those of this domain; else of the first.") var domain: String?
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let page = try await administration.call(ListAudit.self, ListAudit.Input(domain: domain, limit: limit))
      var table = TextTable("Time", "Key", "Operation", "Path", "Status")
      for call in page.items { table.add([call.time, call.key, call.operation, call.path, String(call.status)]) }
      try output.print(
        page.items, page.items.isEmpty ? "No key has called anything." : String(table.text().dropLast()))
    }
  }
}
