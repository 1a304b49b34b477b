import Basics
import Glibc
import Logging
import ServerConfiguration
import ServiceLifecycle
import WebClient

/// What the server asks others with.
struct Outgoing: Service {
  /// Servers that the operator has named.
  let named: WebClient
  /// Servers whose URLs users gave: public addresses only.
  let given: WebClient

  /// Throws where the file of authorities cannot be read.
  init(_ settings: Settings.Outgoing, logger: Logger) throws(StartupError) {
    if let path = settings.authorities, access(path, R_OK) != 0 {
      throw StartupError("outgoing.authorities: \(path) cannot be read: \(Files.reason(errno))")
    }
    named = WebClient(.anywhere, authorities: settings.authorities, logger: logger)
    given = WebClient(
      .publicOnly(PublicAddresses(exceptions: settings.networks)), authorities: settings.authorities, logger: logger)
  }

  /// Whoever waits for an answer when the server stops is told that there is none.
  func run() async throws {
    try? await gracefulShutdown()
    named.stop()
    given.stop()
  }
}
