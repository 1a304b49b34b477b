import Synchronization

/// The open connections of clients and other servers at all ports. Their number is bounded below the limit of open files, so that
/// the store, files and connections to other services always find descriptors.
public final class OpenConnections: Sendable {
  private let max: Int
  private let number = Atomic<Int>(0)

  public init(max: Int = .max) { self.max = max }

  public var count: Int { number.load(ordering: .relaxed) }
  /// Whether a newcomer needs the place of another connection.
  public var isFull: Bool { count >= max }

  public func opened() { number.wrappingAdd(1, ordering: .relaxed) }
  public func closed() { number.wrappingSubtract(1, ordering: .relaxed) }
}
