import Basics
import Dialogs
import Logging
import ServerCertificates
import ServerConfiguration
import ServiceLifecycle
import WebClient

/// Gets and renews the certificate of `tls.acme` while the server runs.
struct ACMEService: Service {
  let renewal: CertificateRenewal
  let responses = ValidationResponses()
  /// The client for an authority whose own certificate is verified otherwise than that of other servers; nil if it is not.
  private let client: WebClient?
  private let readiness: Readiness

  init(
    _ acme: Settings.ACME, _ folder: DataFolder, _ certificates: Certificates, _ outgoing: Outgoing,
    _ clock: any Clock, _ readiness: Readiness, _ logger: Logger
  ) throws(StartupError) {
    self.readiness = readiness
    if let path = acme.authorities { try Outgoing.check(path, Keys.shared.acmeAuthorities) }
    client = acme.authorities.map { WebClient(.anywhere, authorities: $0, logger: logger) }
    renewal = try CertificateRenewal(
      acme, folder: folder.certificates, certificates: certificates, client: client ?? outgoing.named,
      responses: responses, clock: clock, logger: logger)
  }

  func run() async throws {
    // The authority comes to ports that are open.
    await cancelWhenGracefulShutdown { if await readiness.wait() { await renewal.run() } }
    client?.stop()
  }
}
