import Synchronization

/// Does what has a time, at that time. Theory:
///
/// It sleeps until the next thing is due, or until its wake signal says that there may be an earlier one, and then looks, which does what
/// is due. What has a time stands in the store, so it is found after a restart; that it is found twice costs nothing, since
/// whoever does it looks at the row again.
public actor DueTimer {
  private let wakeSignal: WakeSignal
  private let look: @Sendable () async -> Duration?
  private let pause: @Sendable (Duration) async -> Void
  private var timer: Task<Void, Never>?

  /// - Parameters:
  ///   - look: does what is due, and says how long nothing more is; nil: nothing has a time.
  ///   - pause: sleeps, and returns early when its task is cancelled.
  init(
    _ wakeSignal: WakeSignal, pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
    look: @escaping @Sendable () async -> Duration?
  ) {
    self.wakeSignal = wakeSignal
    self.look = look
    self.pause = pause
  }

  /// Runs until its task is cancelled. Once.
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

/// Wakes an `DueTimer`; for one listener.
package final class WakeSignal: Sendable {
  private let wakes: AsyncStream<Void>.Continuation
  let signals: AsyncStream<Void>

  init() { (signals, wakes) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

  func wake() { wakes.yield() }
}
