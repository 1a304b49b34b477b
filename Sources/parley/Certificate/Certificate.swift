import ArgumentParser

struct CertificateCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "certificate",
    abstract: "The server's certificates: show, renew.",
    discussion: """
      Examples:
        parley certificate show
        parley certificate renew
      """,
    subcommands: [CertificateShow.self, CertificateRenew.self])
}
