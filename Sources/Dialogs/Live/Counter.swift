import Synchronization

/// A thread-safe counter of unique numbers.
final class Counter: Sendable {
  private let value = Atomic<UInt64>(0)
  func take() -> UInt64 { value.wrappingAdd(1, ordering: .relaxed).oldValue }
}
