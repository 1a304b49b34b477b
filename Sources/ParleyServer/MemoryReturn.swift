import Basics
import CMalloc
import Synchronization

/// Gives memory back to the system when much of what clients made the server hold is held no more. glibc keeps freed memory for
/// later use; without this the process would stay as large as it has ever been, and the other programs of the machine would lack
/// the memory.
final class MemoryReturn: Sendable {
  private let bounds: [MemoryBound]
  private let trim: @Sendable () -> Void
  /// The most bytes that were held since memory was last given back.
  private let highest = Mutex(0)

  init(_ bounds: [MemoryBound], trim: @escaping @Sendable () -> Void = { _ = malloc_trim(0) }) {
    self.bounds = bounds
    self.trim = trim
  }

  /// Looks whether there is enough to give back. Called at an interval, which paces it: giving back holds the allocator's locks.
  func look() {
    let held = bounds.reduce(0) { $0 + $1.bytes }
    let peak = bounds.reduce(0) { $0 + $1.takePeak() }
    let isDue = highest.withLock { highest -> Bool in
      highest = max(highest, peak)
      guard highest - held >= ServerLimits.memoryReturnedLeast else { return false }
      highest = held
      return true
    }
    if isDue { trim() }
  }
}
