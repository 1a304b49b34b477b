import Administration
import ArgumentParser

struct UserShow: AdminCommand {
  typealias Operation = ShowUser
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows a user: state, contacts, sessions, logins.",
    discussion: """
      'last seen' is the end of the last session over XMPP or a WebSocket. Requests over REST do not count as sessions: the \
      time of the last one is 'used' of a login.

      Examples:
        parley user show alice@localhost
        parley user show alice --json
      """)

  @Argument(help: "The user's address.") var jid: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(jid: context.address(jid)) }

  func text(_ shown: Operation.Output) -> String {
    var table = TextTable("User", shown.user.jid)
    table.add(["name", shown.user.name ?? ""])
    table.add(["status", shown.status ?? ""])
    table.add(["state", shown.user.state])
    table.add(["role", shown.user.role])
    table.add(["created", shown.user.createdAt])
    table.add(["last seen", shown.user.online ? "online" : shown.user.lastSeenAt ?? "never"])
    table.add(["last app login", shown.lastLoginAt ?? "never"])
    for identity in shown.identities { table.add(["known as", identity]) }
    table.add(["password", shown.password ? "yes" : "none"])
    table.add(["second factor", shown.secondFactor ? "on" : "off"])
    table.add(["contacts", String(shown.contacts)])
    table.add(["blocks", String(shown.blocks)])
    if let version = shown.termsVersion {
      table.add(["terms", "\(version), accepted \(shown.termsAcceptedAt ?? "")"])
    }
    if let note = shown.note { table.add(["note", note]) }
    for session in shown.sessions {
      let presence = session.available ? "available, priority \(session.priority)" : "not available"
      table.add(["session", "\(session.door) \(session.resource): \(presence), since \(session.since)"])
    }
    for login in shown.logins {
      table.add(["login", "\(login.device)\(login.client.map { " \($0)" } ?? ""), used \(login.usedAt)"])
    }
    return table.text()
  }
}
