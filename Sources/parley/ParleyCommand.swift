import Administration
import ArgumentParser
import Basics
import CCommit
import Dialogs
import Glibc
import ParleyServer
import ServerConfiguration

/// `parley`: the server and its commands in one program.
@main
struct ParleyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "parley",
    abstract: "An XMPP server and an app messaging backend over one store of conversations.",
    discussion: """
      Commands act on the running server through its admin socket, and on the data folder directly when no server \
      runs. With --server they act on a remote server, with an app key of that server and its scopes.

      Examples:
        parley serve
        parley user add alice@localhost --password-stdin < secret.txt
        parley roster add alice@localhost bob@localhost --mutual
        parley --server https://chat.example.org --key-file ~/.parley-key user list

      Exit status: 0 done, 1 failed, 2 wrong usage or configuration.
      """,
    version: versionText,
    subcommands: [
      Serve.self, Initialize.self, User.self, Session.self, Roster.self, ContactGroupCommands.self, Dialog.self,
      AnnounceText.self, Motd.self, Invite.self, Report.self, KeyCommands.self, Audit.self, Webhook.self,
      FederationCommands.self, CertificateCommands.self, RetentionCommands.self, HoldCommands.self, BackupData.self,
      Restore.self, ImportCommands.self, ExportCommands.self, Check.self, Health.self, Stats.self, Top.self,
      Sending.self, LogCommands.self, Reload.self,
    ])

  /// The name and the number of the program, and the commit of which it was built if it is a release build.
  private static var versionText: String {
    let commit = String(cString: parley_commit())
    return "\(Version.name) \(Version.number) (\(commit.isEmpty ? "development" : "commit \(commit)"))"
  }

  @OptionGroup(title: "Options for a remote server") var remote: RemoteOptions

  static func main() async {
    // A closed pipe (`parley user list | head`) ends the command quietly; writes to a server's sockets return an error.
    signal(SIGPIPE, SIG_IGN)
    // Files in the data folder are accessible to their owner only.
    umask(0o077)
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      Glibc.exit(finish(error))
    }
  }

  /// Prints the error and returns the exit status.
  private static func finish(_ error: any Error) -> Int32 {
    switch error {
    case let refusal as StartupError:
      for line in refusal.lines { Terminal.note("parley: \(Line.safe(line))") }
      return refusal.status.rawValue
    case let problem as Problem:
      Terminal.note("parley: \(Line.safe(problem.explanation))")
      return 1
    default:
      let text = message(for: error)
      switch exitCode(for: error) {
      case .success:
        Terminal.print(fullMessage(for: error))
        return 0
      case .validationFailure:
        let line = UsageError.line(text, details: fullMessage(for: error), of: Self.self)
        Terminal.note("parley: \(Line.safe(line))")
        return 2
      case let code:
        if !text.isEmpty { Terminal.note("parley: \(Line.safe(text))") }
        return code.rawValue
      }
    }
  }
}
