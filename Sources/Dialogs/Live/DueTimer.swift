import Synchronization

/// A timer for rows with a due time. Theory:
///
/// It sleeps until the next row is due, or until its wake signal tells that there may be an earlier one; then it runs
/// its action, which processes what is due. Due rows are in the store, so they are found after a restart; finding one
/// twice is harmless, since the action reads the row again.
public actor DueTimer {
  private let wakeSignal: WakeSignal
  private let look: @Sendable () async -> Duration?
  private let pause: @Sendable (Duration) async -> Void
  private var timer: Task<Void, Never>?

  /// Creates a timer.
  ///
  /// - Parameters:
  ///   - look: processes what is due, and returns how long nothing more is; `nil` if there are no rows.
  ///   - pause: sleeps, and returns early when its task is cancelled.
  init(
    _ wakeSignal: WakeSignal, pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
    look: @escaping @Sendable () async -> Duration?
  ) {
    self.wakeSignal = wakeSignal
    self.look = look
    self.pause = pause
  }

  /// Runs until its task is cancelled. It can be called once.
  public func run() async {
    wakeSignal.wake()
    for await _ in wakeSignal.signals {
      timer?.cancel()
      guard let wait = await look() else { continue }
      timer = Task { [pause, wakeSignal] in
        await pause(wait)
        if !Task.isCancelled { wakeSignal.wake() }
      }
    }
    timer?.cancel()
  }
}

/// A signal that wakes a `DueTimer`; it has one listener.
package final class WakeSignal: Sendable {
  private let wakes: AsyncStream<Void>.Continuation
  let signals: AsyncStream<Void>

  init() { (signals, wakes) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  func wake() { wakes.yield() }
}
