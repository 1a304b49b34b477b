public import Synchronization

/// The life of a server, as load balancers see it.
public enum ServerPhase: UInt8, AtomicRepresentable, Sendable {
  /// Some ports are not open yet.
  case starting
  case ready
  /// It serves its present clients until they have left, and no new ones.
  case stopping
}

/// Whether a server works. Supervisors restart one that does not; load balancers send no clients to one that is not ready.
///
/// A failed check throws a `Problem` of kind `overloaded`, whose code says why: `overloaded` (too many posts wait),
/// `storage-failed`, `starting`, `stopping`.
public struct Health: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// Checks that the storage answers, and that posts are accepted.
  public func checkWorking() async throws(Problem) {
    if parley.isFull { throw Problem.overloaded }
    do throws(Problem) {
      _ = try await parley.read { try $0.head() }
    } catch {
      throw Problem(.overloaded, error.code, error.text, retryAfter: error.retryAfter ?? 5)
    }
  }

  /// Checks that the server works, that all its ports are open, and that it is not stopping.
  public func checkReady() async throws(Problem) {
    switch parley.phase {
    case .starting: throw Problem(.overloaded, "starting", "The server is starting.", retryAfter: 1)
    case .stopping: throw Problem(.overloaded, "stopping", "The server is stopping.", retryAfter: 5)
    case .ready: try await checkWorking()
    }
  }
}
