import Dialogs
import NIOCore
import ServerMetrics

/// An event loop of the door with the state that its sessions share, for use by other threads.
struct MountedLoop: Sendable {
  let loop: any EventLoop
  let lane: Lane
  /// The shared state; it must be read on the loop.
  let loopContext: NIOLoopBound<LoopContext>

  /// Creates and starts the shared state of a loop's sessions.
  static func mount(_ loop: any EventLoop, _ metrics: Metrics) async throws -> MountedLoop {
    try await loop.submit {
      let loopContext = LoopContext(loop: loop, metrics)
      loopContext.start()
      return MountedLoop(
        loop: loop, lane: loopContext.lane, loopContext: NIOLoopBound(loopContext, eventLoop: loop))
    }.get()
  }
}
