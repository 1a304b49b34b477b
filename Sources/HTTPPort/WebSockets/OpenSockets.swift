import NIOCore
import Synchronization

/// The open WebSockets of a port. The port stops after the last of them, since its event loops end then.
final class OpenSockets: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  func add(_ channel: any Channel) {
    channels.withLock { $0[ObjectIdentifier(channel)] = channel }
    channel.closeFuture.whenComplete { [self] _ in
      channels.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }
  }

  /// Returns when all are closed; they have received `ChannelShouldQuiesceEvent`.
  func end() async {
    let open = channels.withLock { Array($0.values) }
    for channel in open {
      let last = channel.eventLoop.scheduleTask(in: HTTPLimits.farewell) { channel.close(promise: nil) }
      channel.closeFuture.whenComplete { _ in last.cancel() }
    }
    for channel in open { try? await channel.closeFuture.get() }
  }
}
