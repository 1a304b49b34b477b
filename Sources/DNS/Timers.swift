package import NIOCore

/// The source of time for what waits on an event loop: the loop's own clock, or a test's.
package protocol Timers: Sendable {
  var now: NIODeadline { get }
  /// Runs `body` on the loop after a delay, unless the timer is cancelled before.
  func after(_ delay: TimeAmount, on loop: any EventLoop, _ body: @escaping @Sendable () -> Void) -> Timer
}

package struct Timer: Sendable {
  package let cancel: @Sendable () -> Void
  package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}

package struct LoopTimers: Timers {
  package init() {}

  package var now: NIODeadline { .now() }

  package func after(
    _ delay: TimeAmount, on loop: any EventLoop, _ body: @escaping @Sendable () -> Void
  ) -> Timer {
    let scheduled = loop.scheduleTask(in: delay, body)
    return Timer { scheduled.cancel() }
  }
}
