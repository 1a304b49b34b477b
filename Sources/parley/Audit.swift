import Administration
import ArgumentParser

struct Audit: ListCommand {
  typealias Operation = ListAudit
  static let configuration = CommandConfiguration(
    abstract: "Lists what operators, keys and administrators have done, the newest first.",
    discussion: """
      Each row has the time, the actor (a key with the beginning of its secret, the Unix user of a command, or the address \
      of an XMPP client), the origin, the operation, its object and its outcome. Keys are listed with all their calls, \
      everybody else only with calls that change something.

      Examples:
        parley audit
        parley audit --matching alice@localhost
        parley audit --key backend --limit 500 --json
      """)

  @Option(name: .long, help: "The number of rows.") var limit = 50
  @Option(name: .long, help: "Calls of this key, given by its name or the beginning of its secret.") var key: String?
  @Option(name: .long, help: "Calls with this text in the actor, operation, object or origin.") var matching: String?
  @Option(name: .long, help: "Calls of this domain's keys (default: all calls).") var domain: String?
  @OptionGroup var options: CommandOptions

  static let none = "Nothing has been done."
  static let table = TextTable("Time", "By", "From", "Operation", "Object", "Outcome")
  static let readsAllPages = false

  func input(in context: CommandContext, after cursor: Int64?) -> Operation.Input {
    .init(domain: domain, key: key, matching: matching, limit: limit)
  }

  func cells(_ act: ListAudit.Row) -> [String] {
    [
      act.time, act.keyPrefix.map { "\(act.actor) (\($0)...)" } ?? act.actor, "\(act.surface) \(act.origin)",
      act.operation, act.object, act.code ?? "done",
    ]
  }
}
