import Synchronization

/// The stanza in an app's contact request, for XMPP clients that show its sender; the XMPP door writes it.
public final class Introduction: Sendable {
  private let form = Mutex<(@Sendable (_ name: String) -> [UInt8])?>(nil)

  public func set(_ form: @escaping @Sendable (_ name: String) -> [UInt8]) { self.form.withLock { $0 = form } }

  /// Returns the stanza; `nil` if no door writes it.
  func write(_ name: String) -> [UInt8]? {
    let bytes = form.withLock { $0 }?(name)
    // A request is stored until it is answered.
    return bytes.flatMap { $0.count <= Limits.requestBytesMax ? $0 : nil }
  }
}
