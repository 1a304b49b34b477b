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
  /// The same two for webhooks, which do not wait for pushes and pictures.
  let namedHooks: WebClient
  let givenHooks: WebClient
  /// The client for `before_send`: nothing else takes the connections to the backend, so that no question waits for one.
  let beforeSend: WebClient

  /// Creates the clients; throws if the file of certificate authorities cannot be read.
  init(_ settings: Settings.Outgoing, tracer: SpanTracer?, logger: Logger) throws(StartupError) {
    if let path = settings.authorities { try Self.check(path, Keys.shared.outgoingAuthorities) }
    func client(_ reach: WebClient.Reach) -> WebClient {
      WebClient(reach, authorities: settings.authorities, tracer: tracer, logger: logger)
    }
    let publicOnly = WebClient.Reach.publicOnly(PublicAddresses(exceptions: settings.networks))
    (named, given) = (client(.anywhere), client(publicOnly))
    (namedHooks, givenHooks) = (client(.anywhere), client(publicOnly))
    beforeSend = client(.anywhere)
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
    for client in [named, given, namedHooks, givenHooks, beforeSend] { client.stop() }
  }
}
