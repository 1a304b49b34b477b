import Administration
import ArgumentParser

struct Audit: ListCommand {
  typealias Operation = ListAudit
  static let configuration = CommandConfiguration(
    abstract: "Lists what operators, keys and administrators have done, the newest first.",
    discussion: """
      An act is listed with its time, who (a key with the beginning of its secret, the Unix user of a command, the address \
      of an XMPP client), from where, the operation, what it was about, and its outcome. Of keys all calls are listed, of \
      others only what changes something.

      Examples:
        parley audit
        parley audit --matching alice@localhost
        parley audit --key backend --limit 500 --json
      """)

  @Option(name: .long, help: "How many.") var limit = 50
  @Option(name: .long, help: "Calls of this key: its name, or how its secret begins.") var key: String?
  @Option(name: .long, help: "Those with this text in actor, operation, object or origin.") var matching: String?
  @Option(name: .long, help: "Calls of this domain's keys; else everything.") var domain: String?
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
