import Synchronization

/// Whether work that blocks a thread is to end early. The work asks from time to time.
public final class Cancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  public init() {}

  public var isSet: Bool { flag.load(ordering: .relaxed) }

  public func set() { flag.store(true, ordering: .relaxed) }

  /// Throws `CancellationError` if it is set.
  public func check() throws { if isSet { throw CancellationError() } }
}
