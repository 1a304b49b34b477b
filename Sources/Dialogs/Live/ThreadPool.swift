import Dispatch

/// A few threads for work that blocks. Jobs are spread round-robin and keep
/// their order only per thread.
package final class ThreadPool: Sendable {
  private let queues: [DispatchQueue]
  private let next = Counter()

  package init(label: String, count: Int) {
    queues = (0..<count).map { DispatchQueue(label: "\(label).\($0)") }
  }

  package func run(_ body: @escaping @Sendable () -> Void) {
    queues[Int(truncatingIfNeeded: next.take() % UInt64(queues.count))].async(execute: body)
  }
}
