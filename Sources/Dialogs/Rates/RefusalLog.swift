import Basics
public import Logging
import Synchronization

/// The log's lines about what users were refused, which an id in their error leads to: one for each door or port.
///
/// The server's own faults have the level `error`, all of them. Other refusals have `info`, at the pace of `Limits`, and
/// beyond it `debug`: clients can cause as many as they like. A line has ids, codes and addresses, and nothing that a
/// client has said.
public final class RefusalLog: Sendable {
  private let logger: Logger
  private let pace = Mutex(
    LogPace(
      interval: Limits.refusalLogInterval, linesOfReasonMax: Limits.refusalLinesOfCodeMax,
      linesMax: Limits.refusalLinesMax))

  public init(_ logger: Logger) { self.logger = logger }

  /// Logs one.
  ///
  /// - Parameters:
  ///   - what: The refused thing, such as "a request".
  ///   - code: The code of the problem, one of a closed set.
  ///   - isFault: Whether the server is to blame.
  ///   - isProbe: Whether clients find out in this way what there is, as a matter of course: the level is `debug`.
  ///   - values: Those of the line, by their keys.
  public func note(
    _ what: StaticString, _ code: String, isFault: Bool, isProbe: Bool = false, _ values: [String: String]
  ) {
    var metadata = values.mapValues { Logger.MetadataValue.string($0) }
    metadata["code"] = "\(code)"
    if isFault { return logger.error("\(what) failed", metadata: metadata) }
    guard !isProbe, let unlogged = pace.withLock({ $0.note(code, now: .now) }) else {
      return logger.debug("\(what) was refused", metadata: metadata)
    }
    if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
    logger.info("\(what) was refused", metadata: metadata)
  }
}
