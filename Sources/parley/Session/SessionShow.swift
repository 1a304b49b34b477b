import Administration
import ArgumentParser

struct SessionShow: AdminCommand {
  typealias Operation = ShowSession
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows a session: its client, where it is connected from, and what it logged in with.",
    discussion: """
      A session has a new id after its client has connected again.

      Examples:
        parley session show 00c0ffee00c0ffee
        parley session show 00c0ffee00c0ffee --json
      """)

  @Argument(help: "The session's id, as in the list.") var id: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(id: id) }

  func text(_ session: SessionRow) -> String {
    var table = TextTable("Session", session.id)
    table.add(["user", session.jid])
    table.add(["resource", session.resource])
    table.add(["door", session.door])
    table.add(["since", session.since])
    table.add(["client", session.connected ? session.inactive ? "inactive" : "active" : "none"])
    table.add(["address", session.address ?? ""])
    table.add(["software", session.software ?? ""])
    table.add(["device", session.device ?? ""])
    table.add(["logged in with", session.credential ?? ""])
    table.add([
      "presence", session.available ? "available, priority \(session.priority)" : "",
    ])
    table.add(["status", session.status ?? ""])
    return table.text()
  }
}
