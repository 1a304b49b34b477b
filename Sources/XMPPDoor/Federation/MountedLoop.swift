import Dialogs
import NIOCore
import ServerMetrics

/// An event loop of the door with what its sessions share, as other threads may hold it.
struct MountedLoop: Sendable {
  let loop: any EventLoop
  let lane: Lane
  /// Read on the loop.
  let loopContext: NIOLoopBound<LoopContext>

  /// Mounts and starts what the sessions of a loop share.
  static func mount(_ loop: any EventLoop, _ metrics: Metrics) async throws -> MountedLoop {
    try await loop.submit {
      let loopContext = LoopContext(loop: loop, metrics)
      loopContext.start()
      return MountedLoop(
        loop: loop, lane: loopContext.lane, loopContext: NIOLoopBound(loopContext, eventLoop: loop))
    }.get()
  }
}
