public import Basics
import CSQLite
import Dialogs
import Dispatch
import Glibc

extension SQLiteStore {
  /// Copies by `VACUUM INTO`, on a separate connection: one snapshot, without free space, in a single complete file. It takes
  /// no lock that a commit needs, leaves the disk to the commits between its slices (`CheckpointPacing`), and has a low
  /// priority. While it runs the write-ahead log cannot be restarted, and grows with everything written meanwhile.
  public func copy(to target: String, until cancellation: Cancellation) throws {
    try CheckpointPacing.install()
    try Aside.run { [self] in try copyHere(to: target, until: cancellation) }
  }

  /// Copies a file that this process has not opened, in the same way. Another process may use it meanwhile.
  ///
  /// - Parameters:
  ///   - isShared: whether a server uses the file, so that the copy leaves the disk to its commits; otherwise it has full speed.
  ///   - isReplicated: whether the write-ahead log must stay as it is (`Options.isReplicated`).
  /// - Throws: `StoreFailure`.
  public static func copy(
    _ path: String, to target: String, isShared: Bool, isReplicated: Bool, until cancellation: Cancellation
  ) throws {
    try WriteGathering.install()
    try CheckpointPacing.install()
    // The layer must not write the database file, since that would end the server's locks on it: only the server copies the log.
    let connection = try Connection(
      path: path, cacheBytes: StoreLimits.copyCacheBytes, busyTimeout: Options().busyTimeout,
      layer: isShared ? CheckpointPacing.copyName : nil, keepsLog: isShared || isReplicated)
    try Migration.check(connection, path)
    try vacuum(connection, into: target, until: cancellation)
  }

  private func copyHere(to target: String, until cancellation: Cancellation) throws {
    let connection = try Connection(
      path: path, cacheBytes: StoreLimits.copyCacheBytes, layer: CheckpointPacing.copyName, keepsLog: isReplicated)
    // The copy is synced as the database is.
    try connection.execute("PRAGMA synchronous = FULL")
    try Self.vacuum(connection, into: target, until: cancellation)
  }

  private static func vacuum(_ connection: Connection, into target: String, until cancellation: Cancellation) throws {
    // The engine calls this between its steps.
    sqlite3_progress_handler(
      connection.handle, StoreLimits.copyStepsAtOnce,
      { $0.map { Unmanaged<Cancellation>.fromOpaque($0).takeUnretainedValue().isSet } == true ? 1 : 0 },
      Unmanaged.passUnretained(cancellation).toOpaque())
    defer { sqlite3_progress_handler(connection.handle, 0, nil, nil) }
    try connection.once("VACUUM INTO ?1") { try $0.bind(target).run() }
  }
}

/// Runs work on a new thread with a low priority. A thread of a pool could not get its priority back without privileges.
private final class Aside: @unchecked Sendable {  // `result` is written before `done`, and read after it
  private let body: () throws -> Void
  private var result: Result<Void, any Error> = .success(())
  private let done = DispatchSemaphore(value: 0)

  private init(_ body: @escaping () throws -> Void) { self.body = body }

  /// Returns when `body` has ended.
  static func run(_ body: @escaping () throws -> Void) throws {
    let work = Aside(body)
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { work in
        guard let work else { return nil }
        let mine = Unmanaged<Aside>.fromOpaque(work).takeRetainedValue()
        // Only for this thread (setpriority(2), "C library/kernel differences").
        setpriority(Int32(PRIO_PROCESS.rawValue), 0, StoreLimits.copyNiceness)
        mine.result = Result { try mine.body() }
        mine.done.signal()
        return nil
      }, Unmanaged.passRetained(work).toOpaque())
    guard code == 0 else { throw StoreFailure.device(code: code, "there is no thread for a copy") }
    pthread_detach(thread)
    work.done.wait()
    try work.result.get()
  }
}
