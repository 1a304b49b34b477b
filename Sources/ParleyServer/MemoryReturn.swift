import Basics
import CMalloc
import Synchronization

/// Gives memory back to the system when much of what clients made the server hold is held no more, or was taken from some for
/// others. glibc keeps freed memory for
/// later use; without this the process would stay as large as it has ever been, and the other programs of the machine would lack
/// the memory.
final class MemoryReturn: Sendable {
  private let bounds: [MemoryBound]
  private let trim: @Sendable () -> Void
  /// The most bytes that were held since memory was last given back, and those that were taken from holders at a bound.
  private let highest = Mutex(0)

  init(_ bounds: [MemoryBound], trim: @escaping @Sendable () -> Void = { _ = malloc_trim(0) }) {
    self.bounds = bounds
    self.trim = trim
  }

  /// Makes the allocator give large blocks back as soon as they are freed. By default it keeps those that are like blocks that
  /// were freed before: output that grew by doubling, and was then freed, would leave up to 32 MiB in each of its heaps.
  static func prepare() { _ = mallopt(M_MMAP_THRESHOLD, Int32(ServerLimits.largeBlockBytes)) }

  /// Looks whether there is enough to give back. Called at an interval, which paces it: giving back holds the allocator's locks.
  func look() {
    let held = bounds.reduce(0) { $0 + $1.bytes }
    let peaks = bounds.map { $0.takePeak() }
    let isDue = highest.withLock { highest -> Bool in
      highest = max(highest, peaks.reduce(0) { $0 + $1.held }) + peaks.reduce(0) { $0 + $1.ended }
      guard highest - held >= ServerLimits.memoryReturnedLeast else { return false }
      highest = held
      return true
    }
    if isDue { trim() }
  }
}
