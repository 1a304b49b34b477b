import Dispatch
import Synchronization

/// The connections to one database file. Theory:
///
/// One connection writes, and a few read. A thread borrows a connection while its body runs, and waits if none is free. With
/// a write-ahead log a reader sees one committed state, and neither waits for the writer nor blocks it.
///
/// States: open; closed, in which no connection is lent. Closing waits until all lent connections have been returned.
final class ConnectionPool: Sendable {
  private struct State {
    var writer: Writer?
    /// The readers that are not lent; at most `readersMax` exist.
    var idle: [Reader] = []
  }
  private let state: Mutex<State>
  private let readersMax: Int
  private let writing = DispatchSemaphore(value: 1)
  private let reading: DispatchSemaphore
  private let makeReader: @Sendable () throws -> Reader

  ///
  /// - Parameters:
  ///   - readersMax: the number of reads that run at once; further ones wait.
  ///   - makeReader: opens one more connection.
  init(writer: Writer, readersMax: Int, makeReader: @escaping @Sendable () throws -> Reader) {
    state = Mutex(State(writer: writer))
    self.readersMax = max(1, readersMax)
    reading = DispatchSemaphore(value: max(1, readersMax))
    self.makeReader = makeReader
  }

  /// Runs `body` with the connection that writes.
  ///
  /// - Throws: `StoreFailure.closed`, and what `body` throws.
  func write<Result>(_ body: (Writer) throws -> Result) throws -> Result {
    writing.wait()
    defer { writing.signal() }
    guard let writer = state.withLock({ $0.writer }) else { throw StoreFailure.closed }
    return try body(writer)
  }

  /// Runs `body` with a connection that reads. `body` must not read again: if all threads held one connection and waited
  /// for a second one, they would wait for ever.
  ///
  /// - Throws: `StoreFailure.closed`, what opening a connection throws, and what `body` throws.
  func read<Result>(_ body: (Reader) throws -> Result) throws -> Result {
    reading.wait()
    defer { reading.signal() }
    let (isOpen, idle) = state.withLock { ($0.writer != nil, $0.idle.popLast()) }
    guard isOpen else { throw StoreFailure.closed }
    let reader = try idle ?? makeReader()
    defer { state.withLock { $0.idle.append(reader) } }
    return try body(reader)
  }

  /// Waits for lent connections, runs `body` with the writer alone, and closes all connections. A second call does
  /// nothing.
  func close(_ body: (Writer) throws -> Void) rethrows {
    writing.wait()
    defer { writing.signal() }
    for _ in 0..<readersMax { reading.wait() }
    defer { for _ in 0..<readersMax { reading.signal() } }
    let writer = state.withLock { state in
      defer { state = State() }
      return state.writer
    }
    if let writer { try body(writer) }
  }
}
