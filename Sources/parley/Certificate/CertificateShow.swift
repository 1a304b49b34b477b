import Administration
import ArgumentParser
import Basics

struct CertificateShow: AdminCommand {
  typealias Operation = ShowCertificates
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows names, issuer and expiry of each certificate, and the state of its renewal.",
    discussion: """
      Examples:
        parley certificate show
        parley certificate show --json
      """)

  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { Empty() }

  func text(_ output: Operation.Output) -> String { CertificateText.of(output) }
}

/// The certificates for people.
enum CertificateText {
  static func of(_ output: ShowCertificates.Output) -> String {
    var parts = output.certificates.map { certificate in
      var table = TextTable("Certificate", certificate.origin)
      table.add(["domains", certificate.domains.joined(separator: ", ")])
      table.add(["names", certificate.names.joined(separator: ", ")])
      table.add(["issuer", certificate.issuer])
      table.add(["valid", certificate.validity(at: SystemClock.now)])
      if let file = certificate.file { table.add(["file", file]) }
      return table.text()
    }
    if let renewal = output.renewal {
      var table = TextTable("Renewal", renewal.failure == nil ? "ok" : "FAILING")
      table.add(["authority", renewal.directory])
      table.add(["names", renewal.names.joined(separator: ", ")])
      table.add(["next attempt", renewal.nextAt])
      if let since = renewal.failingSince { table.add(["failing since", since]) }
      if let failure = renewal.failure { table.add(["last error", failure]) }
      parts.append(table.text())
    }
    return parts.joined(separator: "\n\n")
  }
}
