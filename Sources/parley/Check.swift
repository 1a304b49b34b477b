import Administration
import ArgumentParser
import Basics
import ParleyServer
import Peers
import ServerCertificates
import ServerConfiguration

struct Check: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Checks the configuration without starting anything.",
    discussion: """
      All errors are reported at once, each with its key, its value and where it was written. Certificates and keys for
      pushes are read, too, and the accounts of the addresses that admins and contact.* name are looked for.

      If the installed parley.service has the same configuration file, everything that the system will refuse to its server \
      is an error as well (exit status 2): ports below 1024 without the permission, folders that its user or the unit may not \
      write, files that its user may not open. The command that corrects it is printed. Run the check as root, which can see \
      what other users may do. Without such a unit, or if the unit changes files before it starts the server, these are \
      warnings, and root checks the permissions of the owner of the data folder.

      Lines that begin with warning: report problems of this machine rather than of the configuration: a certificate that \
      has expired or will soon, that lacks a name or its chain; a machine without IPv6; a port that another process \
      has; a limit of open files that is too low; domains without a certificate; an installed server without a domain; keys \
      that everybody may read, or that are lost. They do not change the exit status. Lines that begin with remark: report \
      what works for some clients only, such as the certificate of a company's own authority, and notify root if the \
      installed parley.service reads another file.

      With --compliance the running server is tested, over its ports and as a user, for the features that the compliance
      suites of 2023 (XEP-0479) require of an advanced server. Exit status 1: some are missing.

      With --federation the check connects as other servers do, for each domain and those of its rooms and services: SRV and \
      TLSA records, the ports that they name, and the certificate. Exit status 1: a step has failed.

      With --network the check connects as clients do, from this machine (SRV records, ports, certificates, the web, relays; \
      with federation also the steps of --federation), and tests the machine: clock, disk, descriptors. Exit status 0: \
      everything passed, 1: there are warnings, 2: something failed.

      Examples:
        parley check
        parley check --config /etc/parley/parley.yaml --print
        parley check --compliance
        parley check --federation
        parley check --network --json
        PARLEY_XMPP_PORT=15222 parley check --print --json
      """)

  @OptionGroup var options: LocalOptions
  @OptionGroup var output: OutputOptions
  @Flag(name: .customLong("print"), help: "Prints the value of every key and where it comes from; secrets are masked.")
  var prints = false
  @Flag(name: .long, help: "Tests which features of the compliance suites the running server has.")
  var compliance = false
  @Flag(name: .long, help: "Tests how other servers find, reach and verify this one.")
  var federation = false

  @Flag(name: .long, help: "Tests how clients find, reach and verify this server, and the machine itself.")
  var network = false

  func run() async throws {
    func wrongFiles(_ settings: Settings) -> [String] { Certificates.check(settings) + PushKeys.check(settings) }
    let settings = try options.settings(also: wrongFiles)
    if compliance { return try await compare(settings) }
    if federation { return try await tryWay(to: settings) }
    if network { return try await tryNetwork(of: settings) }
    let wrong = wrongFiles(settings)
    guard wrong.isEmpty else { throw StartupError(lines: wrong, .usage) }
    if prints {
      var table = TextTable("Key", "Value", "From")
      for entry in settings.effective { table.add([entry.key, entry.value, entry.origin]) }
      try output.print(settings.effective, table.text())
    } else {
      let refusals = settings.refusals
      guard refusals.isEmpty else { throw StartupError(lines: refusals, .usage) }
      let notes =
        settings.shortcomings + settings.doubts(at: SystemClock.now) + (await settings.occupiedPorts())
        + (await AdminConnection.doubts(settings))
      let remarks = settings.remarks
      let count = notes.isEmpty ? "" : notes.count == 1 ? ", with a warning" : ", with \(notes.count) warnings"
      let capacity = settings.capacity
      let verdict =
        "The configuration is good\(count) (\(settings.file ?? "no file; environment and defaults"))."
        + (capacity.map { " " + $0 } ?? "")
      try output.print(
        [
          "file": settings.file, "notes": notes.isEmpty ? nil : notes.joined(separator: "\n"),
          "capacity": capacity, "remarks": remarks.isEmpty ? nil : remarks.joined(separator: "\n"),
        ],
        ([verdict] + notes.map { "warning: \($0)" } + remarks.map { "remark: \($0)" }).joined(separator: "\n"))
    }
  }

  private func tryWay(to settings: Settings) async throws {
    let rows = try await FederationCheck.rows(settings)
    var table = TextTable("Domain", "Step", "", "Result")
    for row in rows { table.add([row.domain, row.step, row.result.rawValue.uppercased(), row.text]) }
    try output.print(rows, table.text())
    if rows.contains(where: { $0.result == .fail }) { throw ExitCode(1) }
  }

  private func tryNetwork(of settings: Settings) async throws {
    let rows = try await NetworkCheck.rows(settings)
    var table = TextTable("Of", "Step", "", "Result")
    for row in rows { table.add([row.subject, row.step, row.result.rawValue.uppercased(), row.text]) }
    try output.print(rows, table.text())
    if rows.contains(where: { $0.result == .fail }) { throw ExitCode(2) }
    if rows.contains(where: { $0.result == .warn }) { throw ExitCode(1) }
  }

  private func compare(_ settings: Settings) async throws {
    let rows = try await Compliance.rows(settings)
    var table = TextTable("Suite", "Level", "Feature", "By", "")
    for row in rows {
      table.add([
        row.category, row.level, row.feature, row.specifications, row.isMet ? "yes" : "NO: \(row.remedy ?? "")",
      ])
    }
    try output.print(rows, table.text())
    if rows.contains(where: { !$0.isMet }) { throw ExitCode(1) }
  }
}
