import ArgumentParser

struct CertificateCommands: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "certificate",
    abstract: "The certificates that clients get, and the order of new ones.",
    discussion: """
      Examples:
        parley certificate show
        parley certificate renew
      """,
    subcommands: [CertificateShow.self, CertificateRenew.self])
}
