import Basics
import Glibc
import Logging
import ServerConfiguration
import ServiceLifecycle
import TraceExport
import WebClient

/// The server's HTTP clients.
struct Outgoing: Service {
  /// The client for servers that the operator has configured.
  let named: WebClient
  /// The client for URLs given by users: public addresses only.
  let given: WebClient

  /// Creates the clients; throws if the file of certificate authorities cannot be read.
  init(_ settings: Settings.Outgoing, tracer: SpanTracer?, logger: Logger) throws(StartupError) {
    if let path = settings.authorities { try Self.check(path, Keys.shared.outgoingAuthorities) }
    named = WebClient(.anywhere, authorities: settings.authorities, tracer: tracer, logger: logger)
    given = WebClient(
      .publicOnly(PublicAddresses(exceptions: settings.networks)), authorities: settings.authorities, tracer: tracer,
      logger: logger)
  }

  /// Throws if a key's file of certificate authorities cannot be read.
  static func check(_ path: String, _ key: any AnyKey) throws(StartupError) {
    guard access(path, R_OK) == 0 else {
      let failure = Files.Failure(path: path, code: errno)
      throw StartupError("\(key.name): \(path) cannot be read: \(failure.reasonWithRemedy)")
    }
  }

  /// Runs until graceful shutdown, and then fails pending requests.
  func run() async throws {
    try? await gracefulShutdown()
    named.stop()
    given.stop()
  }
}
