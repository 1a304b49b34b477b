import CSQLite
import Glibc
import Synchronization

/// A file layer for the connections that write concurrently with commits: the one that copies the write-ahead log into the
/// database, and the one that copies the database (`SQLiteStore.copy`). Theory:
///
/// The engine writes all pages of a checkpoint at once and then syncs them. Commits that need the disk meanwhile wait
/// for some ten megabytes (measured: one message in a hundred, at 300 a second). This layer writes the pages in slices: it
/// syncs after each `StoreLimits.checkpointSliceBytes`, and leaves the disk to the commits for three times as long as that
/// took. When the log has no room left, the checkpoint is `isUrgent` and runs at full speed. A copy is never urgent. Its
/// slices are only written back, without the file system's journal, for which commits wait when the log grows, and it is
/// synced as a whole at its end.
///
/// Only `xWrite` of the database file differs from the system's layer, so the file's table of methods is a copy with that
/// entry replaced. The layer's state follows the system's own in the memory of the file.
enum CheckpointPacing {
  static let name = "parley-checkpoint"
  static let copyName = "parley-copy"

  /// The length of the log during a checkpoint: reported with each commit, read while pages are copied.
  final class Pressure: Sendable {
    private let frames = Atomic<Int32>(0)
    private let isStopping = Atomic<Bool>(false)
    private let usualFrames: Int32
    private let urgentFrames: Atomic<Int32>

    /// Creates the pressure of a log that usually has `usualFrames` pages.
    init(usualFrames: Int32) {
      self.usualFrames = usualFrames
      urgentFrames = Atomic(usualFrames)
    }

    /// Begins a checkpoint, which becomes urgent when the log is a quarter longer than now. The present length counts, since
    /// commits should not be slowed either if the log is long because of a reader.
    func begin() {
      let now = Int64(max(usualFrames, pages))
      urgentFrames.store(Int32(clamping: now + now / 4), ordering: .relaxed)
    }

    /// The pages in the log after the last commit.
    var pages: Int32 {
      get { frames.load(ordering: .relaxed) }
      set { frames.store(newValue, ordering: .relaxed) }
    }

    func stop() { isStopping.store(true, ordering: .relaxed) }

    var isUrgent: Bool {
      pages >= urgentFrames.load(ordering: .relaxed) || isStopping.load(ordering: .relaxed)
    }
  }

  /// Registers the layer, once; a connection names it when it is opened.
  static func install() throws(StoreFailure) {
    guard installed == SQLITE_OK else {
      throw StoreFailure.engine(code: installed, "the file layer of checkpoints could not be registered")
    }
  }

  /// Paces the writes of a connection that was opened with this layer. The connection must not outlive `pressure`.
  static func pace(_ connection: Connection, by pressure: Pressure) {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(connection.handle, nil, SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      file.pointee.pMethods == UnsafePointer(system.paced)
    else { return }
    state(of: file).pointee = State(pressure: Unmanaged.passUnretained(pressure))
  }

  private struct State {
    var pressure: Unmanaged<Pressure>?
    /// The path of a copy's file, as the engine keeps it while the file is open; `nil` for others.
    var copyPath: UnsafePointer<CChar>?
    /// The bytes that were written since the last slice ended.
    var count: Int32 = 0
  }

  private static func state(of file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<State> {
    (UnsafeMutableRawPointer(file) + system.stateOffset).assumingMemoryBound(to: State.self)
  }

  /// The structures that the engine points to for the life of the process.
  private struct System {
    let root = sqlite3_vfs_find("unix")
    let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    let copyLayer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    /// The system's methods of a database file, and the copy with another `xWrite`.
    let plain: UnsafeMutablePointer<sqlite3_io_methods> = .allocate(capacity: 1)
    let paced: UnsafeMutablePointer<sqlite3_io_methods> = .allocate(capacity: 1)
    let name = strdup(CheckpointPacing.name)
    let copyName = strdup(CheckpointPacing.copyName)
    var stateOffset: Int { (Int(root?.pointee.szOsFile ?? 0) + 15) & ~15 }
  }
  nonisolated(unsafe) private static let system = System()  // written by `installed` and under `known`, before use

  /// The system's table that `paced` is a copy of.
  private static let known = Mutex<UInt?>(nil)

  private static let installed: Int32 = {
    guard let root = system.root else { return SQLITE_ERROR }
    for (layer, name, open) in [(system.layer, system.name, open), (system.copyLayer, system.copyName, openCopy)] {
      layer.initialize(to: root.pointee)
      layer.pointee.zName = UnsafePointer(name)
      layer.pointee.szOsFile = Int32(system.stateOffset + MemoryLayout<State>.stride)
      layer.pointee.xOpen = open
      layer.pointee.pNext = nil
      let code = sqlite3_vfs_register(layer, 0)
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }()

  private typealias Open =
    @convention(c) (
      UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, UnsafeMutablePointer<sqlite3_file>?, Int32,
      UnsafeMutablePointer<Int32>?
    ) -> Int32

  private static let open: Open = { _, path, file, flags, outFlags in
    CheckpointPacing.open(path, file, flags, outFlags, State(pressure: nil))
  }

  private static let openCopy: Open = { _, path, file, flags, outFlags in
    CheckpointPacing.open(path, file, flags, outFlags, State(pressure: nil, copyPath: path))
  }

  private static func open(
    _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ outFlags: UnsafeMutablePointer<Int32>?, _ state: State
  ) -> Int32 {
    guard let root = system.root, let xOpen = root.pointee.xOpen, let file else { return SQLITE_ERROR }
    let code = xOpen(root, path, file, flags, outFlags)
    guard code == SQLITE_OK, flags & SQLITE_OPEN_MAIN_DB != 0, let methods = file.pointee.pMethods else { return code }
    // File systems without locks have other methods; their files are written without pacing.
    let isKnown = known.withLock { known in
      if known == nil {
        known = UInt(bitPattern: methods)
        system.plain.initialize(to: methods.pointee)
        system.paced.initialize(to: methods.pointee)
        system.paced.pointee.xWrite = write
      }
      return known == UInt(bitPattern: methods)
    }
    guard isKnown else { return code }
    Self.state(of: file).initialize(to: state)
    file.pointee.pMethods = UnsafePointer(system.paced)
    return code
  }

  private static let write:
    @convention(c) (UnsafeMutablePointer<sqlite3_file>?, UnsafeRawPointer?, Int32, Int64) -> Int32 = {
      file, bytes, count, offset in
      guard let file, let code = system.plain.pointee.xWrite?(file, bytes, count, offset) else { return SQLITE_IOERR }
      let state = state(of: file)
      guard code == SQLITE_OK else { return code }
      let (copyPath, slice, share): (UnsafePointer<CChar>?, Int, Int)
      if let path = state.pointee.copyPath {
        (copyPath, slice, share) = (path, StoreLimits.copySliceBytes, StoreLimits.copyPauseShare)
      } else {
        guard let pressure = state.pointee.pressure?.takeUnretainedValue(), !pressure.isUrgent else { return code }
        (copyPath, slice, share) = (nil, StoreLimits.checkpointSliceBytes, StoreLimits.checkpointPauseShare)
      }
      state.pointee.count += count
      guard state.pointee.count >= slice else { return code }
      state.pointee.count = 0
      let start = ContinuousClock.now
      // Opening and closing the file again would end the engine's locks on it, but a copy's file needs none. If the file
      // system cannot write back, it is synced.
      if copyPath.map({ write_back($0) }) != 0 {
        guard let code = system.plain.pointee.xSync?(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY), code == SQLITE_OK
        else { return SQLITE_IOERR }
      }
      pause(since: start, share: share)
      return code
    }

  /// Sleeps for `share` times the time since `start`, to leave the disk to the commits.
  static func pause(since start: ContinuousClock.Instant, share: Int) {
    let pause = min((ContinuousClock.now - start) * share, StoreLimits.checkpointPauseMax)
    usleep(UInt32(pause.components.attoseconds / 1_000_000_000_000))
  }
}
