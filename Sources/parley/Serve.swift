import Administration
import ArgumentParser
import ParleyServer
import ServerConfiguration

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs the server.",
    discussion: """
      The first start creates the data folder, a self-signed certificate and, if the domain is localhost, two demo users, \
      whose passwords are printed once. SIGTERM and SIGINT stop the server gracefully; SIGHUP reads \
      certificates and configuration again, as parley reload does.

      Examples:
        parley serve
        parley serve --config /etc/parley/parley.yaml
        PARLEY_XMPP_PORT=15222 PARLEY_DATA=/var/lib/parley parley serve
        parley serve --set log.level=debug
      """)

  @OptionGroup var options: LocalOptions
  @Flag(
    inversion: .prefixedNo,
    help: "On the first start, creates the users juliet and romeo; by default where the domain is localhost.")
  var demo: Bool?

  func run() async throws {
    let options = options
    // A reload does not change the variables of a process.
    let variables = options.configuration.variables()
    let settings = try options.settings(variables, isOfServer: true)
    try await Server.run(
      settings, demo: demo, reread: { try options.settings(variables, isOfServer: true) },
      greet: { Terminal.print($0) })
  }
}
