import Administration
import ArgumentParser

struct CertificateRenew: AdminCommand {
  typealias Operation = RenewCertificate
  static let configuration = CommandConfiguration(
    commandName: "renew",
    abstract: "Orders a new certificate now (tls.acme), and waits until it is in use.",
    discussion: """
      The server renews by itself when a third of the validity remains; use this command after a failure, or for lost keys. \
      Exit status 1: there is no new certificate; the reason is printed, and the former one stays in use.

      Example:
        parley certificate renew
      """)

  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { Empty() }

  func text(_ output: Operation.Output) -> String { CertificateText.of(output) }
}
