import CSQLite
import ServerMetrics

/// A file layer for the engine that gathers the writes of a commit. Theory:
///
/// The engine appends to its write-ahead log in two system calls per page: 24 bytes of header, then the page. A batch
/// of a hundred messages changes some three hundred pages, and most of its CPU time was spent in those calls (measured:
/// gathering halves the cost of a message). This layer keeps appended bytes in memory and hands them on in pieces of up
/// to `StoreLimits.gatheredBytesMax`.
///
/// The difference is invisible: other connections read a commit's pages only after the engine has published the commit,
/// and the last page of a commit is never held back; any other operation on the file (read, sync, truncate, size, close)
/// first hands on the held bytes. A delayed write that fails still fails before its commit is published, and the held
/// bytes are dropped with the transaction.
///
/// Only write-ahead logs are handled so; every other file uses the system's own layer.
///
/// The states of one log: nothing held; holding `count` bytes that belong at `start`; passing on (from the header of a
/// commit's last page to the next header), in which nothing is held.
enum WriteGathering {
  /// Makes this layer the default of the process, once. Connections name no layer when they are opened.
  static func install() throws(StoreFailure) {
    guard installed == SQLITE_OK else {
      throw StoreFailure.engine(code: installed, "the file layer could not be registered")
    }
  }

  /// Measures the syncs of the connection that writes, whose log is open.
  static func measure(_ writer: Connection, _ seconds: Histogram<Single>) {
    guard let file = writer.log, file.pointee.pMethods == UnsafePointer(system.methods) else { return }
    Gathered(file).state.pointee.syncSeconds = .passRetained(seconds)
  }

  private static let installed: Int32 = {
    // Otherwise each allocation of the engine takes a global lock to count bytes for statistics that are not used. The call fails
    // harmlessly if the engine is in use already.
    _ = sqlite3_config_memstatus(0)
    guard let root = system.root else { return SQLITE_ERROR }
    system.layer.initialize(to: root.pointee)
    system.layer.pointee.zName = UnsafePointer(system.name)
    system.layer.pointee.szOsFile = Int32(Gathered.innerOffset) + root.pointee.szOsFile
    system.layer.pointee.xOpen = open
    system.layer.pointee.pNext = nil
    system.methods.initialize(to: methods)
    return sqlite3_vfs_register(system.layer, 1)
  }()

  /// The structures that the engine points to for the life of the process.
  private struct System {
    let root = sqlite3_vfs_find(nil)
    let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    let name: UnsafeMutablePointer<CChar> = {
      let text = Array("parley".utf8CString)
      let name = UnsafeMutablePointer<CChar>.allocate(capacity: text.count)
      name.initialize(from: text, count: text.count)
      return name
    }()
  }
  nonisolated(unsafe) private static let system = System()  // written once, by `installed`, before any file is opened

  private static let open:
    @convention(c) (
      UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, UnsafeMutablePointer<sqlite3_file>?, Int32,
      UnsafeMutablePointer<Int32>?
    ) -> Int32 = { _, path, file, flags, outFlags in
      guard let root = WriteGathering.system.root, let xOpen = root.pointee.xOpen, let file else { return SQLITE_ERROR }
      guard flags & SQLITE_OPEN_WAL != 0 else { return xOpen(root, path, file, flags, outFlags) }
      let log = Gathered(file)
      log.state.initialize(to: Gathered.State())
      // The engine closes a file only if it has methods.
      file.pointee.pMethods = nil
      let code = xOpen(root, path, log.inner, flags, outFlags)
      if code == SQLITE_OK { file.pointee.pMethods = UnsafePointer(WriteGathering.system.methods) }
      return code
    }

  /// Version 1: the additions of later versions (shared memory, mapping) are used for the database file only.
  private static let methods = sqlite3_io_methods(
    iVersion: 1,
    xClose: { file in
      guard let log = Gathered(file) else { return SQLITE_ERROR }
      let late = log.handOn()
      log.state.pointee.buffer?.deallocate()
      log.state.pointee.syncSeconds?.release()
      log.state.deinitialize(count: 1)
      let code = log.innerMethods.xClose?(log.inner) ?? SQLITE_ERROR
      return late == SQLITE_OK ? code : late
    },
    xRead: { file, bytes, count, offset in
      Gathered(file)?.passing { $0.xRead?($1, bytes, count, offset) } ?? SQLITE_IOERR
    },
    xWrite: { file, bytes, count, offset in
      guard let log = Gathered(file), let bytes else { return SQLITE_IOERR }
      return log.write(bytes, Int(count), at: offset)
    },
    xTruncate: { file, size in
      Gathered(file)?.passing { $0.xTruncate?($1, size) } ?? SQLITE_IOERR
    },
    xSync: { file, flags in
      guard let log = Gathered(file) else { return SQLITE_IOERR }
      let start = ContinuousClock.now
      let code = log.passing { $0.xSync?($1, flags) }
      log.state.pointee.syncSeconds?.takeUnretainedValue().observe(since: start)
      return code ?? SQLITE_IOERR
    },
    xFileSize: { file, size in
      Gathered(file)?.passing { $0.xFileSize?($1, size) } ?? SQLITE_IOERR
    },
    xLock: { file, level in
      Gathered(file)?.passing { $0.xLock?($1, level) } ?? SQLITE_IOERR
    },
    xUnlock: { file, level in
      Gathered(file)?.passing { $0.xUnlock?($1, level) } ?? SQLITE_IOERR
    },
    xCheckReservedLock: { file, isHeld in
      Gathered(file)?.passing { $0.xCheckReservedLock?($1, isHeld) } ?? SQLITE_IOERR
    },
    xFileControl: { file, operation, argument in
      Gathered(file)?.passing { $0.xFileControl?($1, operation, argument) } ?? SQLITE_ERROR
    },
    xSectorSize: { file in
      guard let log = Gathered(file) else { return 0 }
      return log.innerMethods.xSectorSize?(log.inner) ?? 0
    },
    xDeviceCharacteristics: { file in
      guard let log = Gathered(file) else { return 0 }
      return log.innerMethods.xDeviceCharacteristics?(log.inner) ?? 0
    },
    xShmMap: nil, xShmLock: nil, xShmBarrier: nil, xShmUnmap: nil, xFetch: nil, xUnfetch: nil)
}

/// A write-ahead log in the memory that the engine provides for it: the engine's part, this layer's state, and the
/// system's own file.
private struct Gathered {
  struct State {
    var buffer: UnsafeMutableRawPointer?
    var start: Int64 = 0
    var count = 0
    var isPassing = false
    /// The times of syncs, if they are measured.
    var syncSeconds: Unmanaged<Histogram<Single>>?
  }

  let base: UnsafeMutableRawPointer

  private static let stateOffset = MemoryLayout<sqlite3_file>.stride
  static let innerOffset = (stateOffset + MemoryLayout<State>.stride + 15) & ~15

  init(_ file: UnsafeMutablePointer<sqlite3_file>) { base = UnsafeMutableRawPointer(file) }

  init?(_ file: UnsafeMutablePointer<sqlite3_file>?) {
    guard let file else { return nil }
    self.init(file)
  }

  var state: UnsafeMutablePointer<State> {
    (base + Self.stateOffset).assumingMemoryBound(to: State.self)
  }
  var inner: UnsafeMutablePointer<sqlite3_file> {
    (base + Self.innerOffset).assumingMemoryBound(to: sqlite3_file.self)
  }
  var innerMethods: sqlite3_io_methods { inner.pointee.pMethods.pointee }

  /// Hands on the held bytes, and then performs another operation on the file.
  func passing(
    _ body: (sqlite3_io_methods, UnsafeMutablePointer<sqlite3_file>) -> Int32?
  ) -> Int32? {
    let code = handOn()
    return code == SQLITE_OK ? body(innerMethods, inner) : code
  }

  /// Hands on the held bytes. They are dropped even if they cannot be written: their transaction fails.
  func handOn() -> Int32 {
    let count = state.pointee.count
    guard count > 0, let buffer = state.pointee.buffer else { return SQLITE_OK }
    state.pointee.count = 0
    return writeNow(buffer, count, at: state.pointee.start)
  }

  private func writeNow(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int64) -> Int32 {
    innerMethods.xWrite?(inner, bytes, Int32(clamping: count), offset) ?? SQLITE_IOERR
  }

  func write(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int64) -> Int32 {
    // A frame's header is 24 bytes; bytes 4 to 7 are the size of the database if the frame ends a commit, otherwise
    // zero (sqlite.org/fileformat2.html 4.1).
    if count == 24 {
      state.pointee.isPassing = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0
    }
    let room = StoreLimits.gatheredBytesMax
    if state.pointee.count > 0,
      offset != state.pointee.start + Int64(state.pointee.count) || count > room - state.pointee.count
    {
      let code = handOn()
      if code != SQLITE_OK { return code }
    }
    guard count <= room else { return writeNow(bytes, count, at: offset) }
    let buffer = state.pointee.buffer ?? .allocate(byteCount: room, alignment: 16)
    state.pointee.buffer = buffer
    if state.pointee.count == 0 { state.pointee.start = offset }
    (buffer + state.pointee.count).copyMemory(from: bytes, byteCount: count)
    state.pointee.count += count
    // Of a commit's last page only the header is held, until the page.
    let holds = count == 24 || (!state.pointee.isPassing && count != 32)
    return holds ? SQLITE_OK : handOn()
  }
}
