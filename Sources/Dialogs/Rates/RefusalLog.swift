import Basics
public import Logging
import Synchronization

/// Writes the log's lines about refusals. The error that the user gets contains the id of its line. Each door or port has one.
///
/// All faults of the server have the level `error`. Other refusals, of which clients can cause any number, have `info` at the
/// pace of `Limits`, and beyond it `debug`. A line has ids, codes and addresses, but no text from a client.
public final class RefusalLog: Sendable {
  private let logger: Logger
  private let pace = Mutex(
    LogPace(
      interval: Limits.refusalLogInterval, linesOfReasonMax: Limits.refusalLinesOfCodeMax,
      linesMax: Limits.refusalLinesMax))

  public init(_ logger: Logger) { self.logger = logger }

  /// Logs a refusal.
  ///
  /// - Parameters:
  ///   - what: The refused thing, such as "a request".
  ///   - code: The code of the problem, one of a closed set.
  ///   - isFault: Whether the server is to blame.
  ///   - isProbe: Whether such refusals are normal, as clients use them to detect features: then the level is `debug`.
  ///   - values: The values of the line by their keys.
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
