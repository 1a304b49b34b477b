package import Accounts
package import Basics
package import Dialogs
package import Logging
package import ServerConfiguration
package import ServerMetrics
import Synchronization
package import WebClient

/// A transport of codes. Delivery is retried while the code is valid.
protocol CodeTransport: Sendable {
  var name: String { get }
  var way: CodeWay { get }
  var reaches: Set<Identity.Issuer> { get }
  func carry(_ outgoing: OutgoingCode) async throws(UndeliveredCode)
}

/// A failed delivery of a code.
struct UndeliveredCode: Error {
  let reason: String
  /// Whether a retry may succeed.
  let isWorthTrying: Bool
}

/// The configured transports: each code is sent by the first that reaches its addressee. Codes are held in memory only
/// (see `CodeSender`).
package final class CodeDelivery: CodeSender {
  private let carriers: [any CodeTransport]
  private let metrics: Metrics
  private let logger: Logger
  private let count = Mutex(0)

  init(_ carriers: [any CodeTransport], metrics: Metrics, logger: Logger) {
    self.carriers = carriers
    self.metrics = metrics
    self.logger = logger
  }

  package var reaches: Set<Identity.Issuer> { carriers.reduce(into: []) { $0.formUnion($1.reaches) } }

  package func take(_ outgoing: OutgoingCode) {
    guard let carrier = carriers.first(where: { $0.reaches.contains(outgoing.to.issuer) }) else { return }
    let isFull = count.withLock { count in
      if count >= CodeTransportLimits.outgoingCodesMax { return true }
      count += 1
      return false
    }
    if isFull {
      metrics.codes.add(Both(carrier.way, .refused))
      logger.warning("too many codes are being delivered; one was dropped", metadata: ["by": "\(carrier.name)"])
      return
    }
    Task { [self] in
      await deliver(outgoing, by: carrier)
      count.withLock { $0 -= 1 }
    }
  }

  private func deliver(_ outgoing: OutgoingCode, by carrier: any CodeTransport) async {
    let waits = CodeTransportLimits.outgoingCodeWaits
    for (attempt, wait) in waits.enumerated() {
      if wait > .zero { try? await Task.sleep(for: wait) }
      do throws(UndeliveredCode) {
        try await carrier.carry(outgoing)
        return metrics.codes.add(Both(carrier.way, .sent))
      } catch {
        let isTriedAgain = error.isWorthTrying && attempt < waits.count - 1
        metrics.codes.add(Both(carrier.way, isTriedAgain ? .failed : .refused))
        // Neither the addressee nor the code may be logged.
        logger.warning(
          "a code was not delivered",
          metadata: ["by": "\(carrier.name)", "reason": "\(error.reason)", "again": "\(isTriedAgain)"])
        if !isTriedAgain { return }
      }
    }
  }
}

extension CodeDelivery {
  /// Creates the delivery of the configuration; nil if it names no transport.
  ///
  /// - Throws: The errors in the templates.
  package static func make(
    _ settings: Settings, _ client: WebClient, clock: any Basics.Clock, metrics: Metrics, logger: Logger
  ) throws(StartupError) -> CodeDelivery? {
    var carriers: [any CodeTransport] = []
    if let mail = settings.delivery.mail {
      var templates = MailTemplates()
      if let folder = mail.templates { templates = try MailTemplates(folder: folder) }
      carriers.append(
        MailCodeTransport(
          client: MailClient(mail.server, authorities: settings.outgoing.authorities), from: mail.from,
          templates: templates, resetURL: mail.resetURL, clock: clock))
    }
    if let hook = settings.delivery.hook {
      carriers.append(
        HookCodeTransport(
          url: hook.url, signer: hook.signer, client: client, clock: clock, reaches: [.email, .phone]))
    }
    return carriers.isEmpty ? nil : CodeDelivery(carriers, metrics: metrics, logger: logger)
  }
}
