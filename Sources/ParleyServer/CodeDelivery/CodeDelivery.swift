import Accounts
import Basics
import Dialogs
import Logging
import ServerConfiguration
import Synchronization
import WebClient

/// One way to bring codes. It is tried again while a code is worth something.
protocol CodeTransport: Sendable {
  var name: String { get }
  var reaches: Set<Identity.Issuer> { get }
  func carry(_ outgoing: OutgoingCode) async throws(UndeliveredCode)
}

/// Why a code did not arrive.
struct UndeliveredCode: Error {
  let reason: String
  /// Another try may do better.
  let isWorthTrying: Bool
}

/// The senders that the configuration names: each code goes to the first that reaches its addressee. Codes are in memory
/// alone (see `CodeSender`).
final class CodeDelivery: CodeSender {
  private let carriers: [any CodeTransport]
  private let logger: Logger
  private let count = Mutex(0)

  init(_ carriers: [any CodeTransport], logger: Logger) {
    self.carriers = carriers
    self.logger = logger
  }

  var reaches: Set<Identity.Issuer> { carriers.reduce(into: []) { $0.formUnion($1.reaches) } }

  func take(_ outgoing: OutgoingCode) {
    guard let carrier = carriers.first(where: { $0.reaches.contains(outgoing.to.issuer) }) else { return }
    let isFull = count.withLock { count in
      if count >= ServerLimits.lettersMax { return true }
      count += 1
      return false
    }
    if isFull {
      logger.warning("too many letters are under way; one was dropped", metadata: ["by": "\(carrier.name)"])
      return
    }
    Task { [self] in
      await deliver(outgoing, by: carrier)
      count.withLock { $0 -= 1 }
    }
  }

  private func deliver(_ outgoing: OutgoingCode, by carrier: any CodeTransport) async {
    for wait in ServerLimits.letterWaits {
      if wait > .zero { try? await Task.sleep(for: wait) }
      do throws(UndeliveredCode) {
        return try await carrier.carry(outgoing)
      } catch {
        // Neither whom it is for nor what it says belongs into a log.
        logger.warning(
          "a code was not delivered",
          metadata: ["by": "\(carrier.name)", "reason": "\(error.reason)", "again": "\(error.isWorthTrying)"])
        if !error.isWorthTrying { return }
      }
    }
  }
}

extension CodeDelivery {
  /// What the configuration says; nil: nothing is sent.
  ///
  /// - Throws: what is wrong with the templates.
  static func make(
    _ settings: Settings, _ outgoing: Outgoing, clock: any Basics.Clock, logger: Logger
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
          url: hook.url, webhook: hook.webhook, client: outgoing.named, clock: clock, reaches: [.email, .phone]))
    }
    return carriers.isEmpty ? nil : CodeDelivery(carriers, logger: logger)
  }
}
