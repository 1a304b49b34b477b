import Dialogs
import Logging
import Synchronization

/// One way to bring letters. It is tried again while a letter is worth something.
protocol LetterCarrier: Sendable {
  var name: String { get }
  var reaches: Set<Identity.Issuer> { get }
  func carry(_ letter: Letter) async throws(UndeliveredLetter)
}

/// Why a letter did not arrive.
struct UndeliveredLetter: Error {
  let reason: String
  /// Another try may do better.
  let isWorthTrying: Bool
}

/// The couriers that the configuration names: each letter goes to the first that reaches its addressee. Letters are in memory
/// alone (see `Courier`).
final class LetterDelivery: Courier {
  private let carriers: [any LetterCarrier]
  private let logger: Logger
  private let count = Mutex(0)

  init(_ carriers: [any LetterCarrier], logger: Logger) {
    self.carriers = carriers
    self.logger = logger
  }

  var reaches: Set<Identity.Issuer> { carriers.reduce(into: []) { $0.formUnion($1.reaches) } }

  func take(_ letter: Letter) {
    guard let carrier = carriers.first(where: { $0.reaches.contains(letter.to.issuer) }) else { return }
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
      await deliver(letter, by: carrier)
      count.withLock { $0 -= 1 }
    }
  }

  private func deliver(_ letter: Letter, by carrier: any LetterCarrier) async {
    for wait in ServerLimits.letterWaits {
      if wait > .zero { try? await Task.sleep(for: wait) }
      do throws(UndeliveredLetter) {
        return try await carrier.carry(letter)
      } catch {
        // Neither whom it is for nor what it says belongs into a log.
        logger.warning(
          "a letter was not delivered",
          metadata: ["by": "\(carrier.name)", "reason": "\(error.reason)", "again": "\(error.isWorthTrying)"])
        if !error.isWorthTrying { return }
      }
    }
  }
}
