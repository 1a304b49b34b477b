public import Synchronization

/// Numbers that any thread adds to, one for each series. Adding is one relaxed atomic operation.
@usableFromInline
final class Cells: Sendable {
  @usableFromInline nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>  // its memory never moves
  let count: Int

  init(count: Int) {
    self.count = count
    cells = .allocate(capacity: count)
    for index in 0..<count { (cells + index).initialize(to: Atomic(0)) }
  }

  deinit {
    cells.deinitialize(count: count)
    cells.deallocate()
  }

  subscript(_ index: Int) -> Int { cells[index].load(ordering: .relaxed) }
}

/// A number of events since the process started.
///
///     metrics.messages.add(.xmpp)
public final class Counter<S: Series>: Metric {
  public let name: String
  public let help: String
  @usableFromInline let cells: Cells

  init(_ name: String, _ help: String) {
    self.name = name
    self.help = help
    cells = Cells(count: S.allCases.count)
  }

  public var kind: MetricKind { .counter }
  public var labels: [String] { S.labels }

  @inlinable
  public func add(_ series: S, _ count: Int = 1) {
    cells.cells[series.rawValue].wrappingAdd(count, ordering: .relaxed)
  }

  public func samples(_ readings: Readings) -> [Sample]? {
    S.allCases.map { Sample(labels: $0.values, value: .number(Double(cells[$0.rawValue]))) }
  }
}

extension Counter where S == Single {
  @inlinable
  public func add(_ count: Int = 1) { add(.only, count) }
}
