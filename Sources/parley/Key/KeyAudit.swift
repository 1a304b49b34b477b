import Administration
import ArgumentParser

struct KeyAudit: ListCommand {
  typealias Operation = ListAudit
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
  @OptionGroup var options: CommandOptions

  static let none = "No key has called anything."
  static let table = TextTable("Time", "Key", "Operation", "Path", "Status")
  static let readsAllPages = false

  func input(in context: CommandContext, after cursor: Int64?) -> Operation.Input {
    .init(domain: domain, limit: limit)
  }

  func cells(_ call: ListAudit.Row) -> [String] {
    [call.time, call.key, call.operation, call.path, String(call.status)]
  }
}
