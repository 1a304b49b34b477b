import Basics
import Glibc
package import Logging
package import NIOCore
package import ServerMetrics

/// Pauses accepting at a port when there are no descriptors or buffers for a connection. Otherwise NIO would try again at once,
/// and use most of a core until descriptors are free.
///
/// It pauses by `autoRead`, since the failed read stays pending in NIO, and the port would be watched even without another
/// read.
package final class AcceptPause: ChannelDuplexHandler {
  package typealias InboundIn = any Channel
  package typealias OutboundIn = Never

  private let metrics: Metrics
  private let logger: Logger
  private var pace = LogPace(interval: HTTPLimits.acceptPauseLog, linesOfReasonMax: 1, linesMax: 4)
  private var isPaused = false

  package init(_ metrics: Metrics, _ logger: Logger) {
    self.metrics = metrics
    self.logger = logger
  }

  /// Returns a function that adds a handler to the channel of a port, on the channel's loop.
  package static func initializer(
    _ metrics: Metrics, _ logger: Logger
  ) -> @Sendable (any Channel) -> EventLoopFuture<Void> {
    { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(AcceptPause(metrics, logger), position: .first)
      }
    }
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? IOError, let advice = Self.advice(error.errnoCode) else {
      return context.fireErrorCaught(error)
    }
    guard !isPaused else { return }
    isPaused = true
    metrics.acceptPauses.add()
    note(error.errnoCode, advice, context.channel.localAddress)
    let channel = context.channel
    try? channel.syncOptions?.setOption(.autoRead, value: false)
    let me = NIOLoopBound(self, eventLoop: context.eventLoop)
    context.eventLoop.scheduleTask(in: HTTPLimits.acceptPause) {
      me.value.isPaused = false
      // An error here means that the port was closed meanwhile.
      try? channel.syncOptions?.setOption(.autoRead, value: true)
    }
  }

  package func read(context: ChannelHandlerContext) {
    if !isPaused { context.read() }
  }

  /// Returns the advice to an operator about a temporary error; nil for other errors.
  private static func advice(_ code: Int32) -> String? {
    switch code {
    case EMFILE: "raise the limit of open files of the server (LimitNOFILE= of systemd, ulimit -n)"
    case ENFILE: "raise the limit of open files of the machine (sysctl fs.file-max)"
    case ENOBUFS, ENOMEM: "give the machine more memory"
    default: nil
    }
  }

  private func note(_ code: Int32, _ advice: String, _ address: SocketAddress?) {
    guard let unlogged = pace.note("\(code)", now: .now) else { return }
    var metadata: Logger.Metadata = ["reason": "\(Files.reason(code))", "advice": "\(advice)"]
    if let port = address?.port { metadata["port"] = "\(port)" }
    if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
    logger.warning("a connection waits, since it cannot be accepted", metadata: metadata)
  }
}
