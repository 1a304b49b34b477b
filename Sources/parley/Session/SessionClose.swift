import Administration
import ArgumentParser
import Dialogs
import ServerConfiguration

struct SessionClose: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "close",
    abstract: "Ends sessions. Their clients may reconnect at once.",
    discussion: """
      XMPP clients get the stream error reset, apps goaway with the reason "ended". To prevent new logins, disable the \
      account: parley user disable.

      Examples:
        parley session close 00c0ffee00c0ffee 00c0ffee00c0fff0
        parley session close --user alice@localhost
      """)

  @Argument(help: "The sessions' ids, as in the list.") var ids: [String] = []
  @Option(name: .long, help: "All sessions of this user; with a resource, that one.") var user: String?
  @OptionGroup var options: CommandOptions

  func validate() throws {
    if ids.isEmpty == (user == nil) { throw ValidationError("Give either ids of sessions or --user.") }
  }

  func run() async throws {
    try await options.withData { context in
      if let user {
        let ended = try await context.call(EndSessions.self, EndSessions.Input(jid: context.address(user)))
        return try options.output.print(ended, UserDisconnect.text(ended))
      }
      var closed: [SessionRow] = []
      var failed = false
      for id in ids {
        do {
          closed.append(try await context.call(CloseSession.self, SessionInput(id: id)))
        } catch let problem as Problem {
          // The others are ended nevertheless.
          failed = true
          Terminal.note("parley: \(problem.text)")
        }
      }
      try options.output.print(
        closed, closed.map { "Ended \($0.id), \($0.jid)/\($0.resource)." }.joined(separator: "\n"))
      if failed { throw ExitCode(1) }
    }
  }
}
