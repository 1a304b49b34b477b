import Dialogs
import NIOCore
import Peers
import Synchronization
import XMPP

/// A test of the connection to a domain: a separate stream that is closed as soon as it is verified.
final class StreamTest: FederationStreamOwner {
  private let waiting: Mutex<CheckedContinuation<FederationTestStep, Never>?>

  private init(_ waiting: CheckedContinuation<FederationTestStep, Never>) { self.waiting = Mutex(waiting) }

  /// Opens a stream and returns the result.
  ///
  /// - Parameter open: Opens the stream for its argument, the owner.
  static func run(
    _ open: (any FederationStreamOwner, @escaping @Sendable (OpenFailure) -> Void) -> Void
  ) async -> FederationTestStep {
    await withCheckedContinuation { continuation in
      let test = StreamTest(continuation)
      open(test) { test.end(hasPassed: false, $0.reason) }
    }
  }

  private func end(hasPassed: Bool, _ text: String) {
    let ended = waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting
    }
    ended?.resume(returning: FederationTestStep(step: "stream", hasPassed: hasPassed, text: text))
  }

  func opened(_ stream: any FederationStream, for pair: DomainPair, mayWrite: Bool, isCertified: Bool) {
    let status = stream.status
    end(hasPassed: true, "\(status.address), \(status.tls ?? "without TLS"), verified by \(status.verified)")
    stream.close(nil)
  }

  func received(_ stanza: Stanza, of pair: DomainPair, on stream: any FederationStream) {}
  func acknowledged(_ count: Int, of pair: DomainPair, on stream: any FederationStream) {}
  func writable(_ stream: any FederationStream, of pair: DomainPair) {}
  func left(_ pairs: [DomainPair]) {}
  func closed(_ stream: any FederationStream, of pairs: [DomainPair], isLost: Bool) {
    end(hasPassed: false, "the stream ended before it was verified")
  }
}
