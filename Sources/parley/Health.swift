import Administration
import ArgumentParser
import Dialogs
import ParleyServer
import ServerConfiguration

struct Health: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reports whether the running server is healthy.",
    discussion: """
      Exit status 0: it runs, all its ports are open, it reads its storage and accepts messages. 1: it does not; the \
      reason and its code (starting, stopping, overloaded, storage-failed) are printed, or why no server answers, and what \
      to do next.

      Failures of other programs do not change the status: the backend of before_send, without which messages may be \
      refused, webhooks, the store of backups. They are marked FAILED or FAILING.

      Examples:
        parley health
        parley health --json
      """)

  @OptionGroup var options: CommandOptions

  func run() async throws {
    let server = try await options.remote.running(options.configuration)
    let status: ServerStatus.Output
    do {
      status = try await server.call(ServerStatus.self, Empty())
    } catch let problem as Problem {
      guard let step = ServerStatus.nextStep(problem.code) else { throw problem }
      throw StartupError(lines: [problem.explanation, "next step: \(step)"], .failure)
    }
    var table = TextTable("Parley \(status.version)", status.problem?.code ?? "healthy")
    if let problem = status.problem {
      table.add(["reason", problem.text])
      if let step = ServerStatus.nextStep(problem.code) { table.add(["next step", step]) }
    }
    table.add(["domains", status.domains.joined(separator: ", ")])
    table.add(["running for", "\(status.uptimeSeconds) s"])
    table.add(["users", ProgressBar.grouped(status.users)])
    table.add([
      "online", "\(ProgressBar.grouped(status.usersOnline)) (\(ProgressBar.counted(status.sessions, "sessions")))",
    ])
    table.add(["log position", ProgressBar.grouped(Int(status.position))])
    if let webhooks = status.webhookState { table.add(["webhooks", webhooks]) }
    if status.lastBackupAt != nil || status.backupFailure != nil {
      table.add([
        "last backup", (status.lastBackupAt ?? "none") + (status.backupFailure.map { " (FAILED since: \($0))" } ?? ""),
      ])
    }
    if let failure = status.replicationFailure { table.add(["replication", "FAILED: \(failure)"]) }
    if let failure = status.beforeSendFailure { table.add(["before_send", "FAILED: \(failure)"]) }
    for text in (status.unserved ?? []) + [status.lostSecondFactors].compactMap({ $0 }) {
      table.add(["warning", text])
    }
    try options.output.print(status, table.text())
    if !status.isReady { throw ExitCode(1) }
  }
}
