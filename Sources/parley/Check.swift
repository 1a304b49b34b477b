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

      What the server of the installed parley.service will be refused is an error as well (exit status 2), if that has the \
      same configuration file: ports below 1024 without the permission, folders that its user or the unit may not write, files \
      that its user may not open, with the command that mends it. Run it as root, who sees what another user may do. \
      Without such a unit, or if the unit changes files before it starts the server, these are warnings, and root judges for \
      the owner of the data folder.

      Lines that begin with warning: are about what is no error of the configuration, but will not work here: a certificate \
      that has expired, is about to, lacks a name or its chain; a machine without IPv6; a port that another process \
      has; a limit of open files that is too low; domains without a certificate; an installed server without a domain; keys \
      that everybody may read, or that are lost. They do not change the exit status. Lines that begin with remark: are \
      about what is in order for some who connect, such as the certificate of a company's own authority, and say to root if \
      the installed parley.service reads another file.

      With --compliance the running server is asked, over its ports and as a user, for what the compliance suites of 2023
      (XEP-0479) want of an advanced server. Exit status 1: it has not all of it.

      With --federation the way of other servers to this one is tried, for each domain and those of its rooms and services: \
      SRV and TLSA records, the ports that they lead to, and the certificate. Exit status 1: something of it is missing.

      With --network the way of clients to this server is tried from this machine (SRV records, ports, certificates, the web, \
      relays; with federation what --federation tries, too), and what the machine gives it: clock, disk, descriptors. Exit \
      status 0: all is fine, 1: there are warnings, 2: something fails.

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
  @Flag(name: .long, help: "Asks the running server what it has of the compliance suites.")
  var compliance = false
  @Flag(name: .long, help: "Tries how other servers find, reach and verify this one.")
  var federation = false

  @Flag(name: .long, help: "Tries how clients find, reach and verify this server, and looks at the machine.")
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
