import Synchronization

/// What stands in an app's contact request for clients that show whom it is from: the door that has such clients writes it, and
/// nobody else can read it.
public final class Introduction: Sendable {
  private let form = Mutex<(@Sendable (_ name: String) -> [UInt8])?>(nil)

  public func set(_ form: @escaping @Sendable (_ name: String) -> [UInt8]) { self.form.withLock { $0 = form } }

  /// nil: nobody writes any.
  func write(_ name: String) -> [UInt8]? {
    let bytes = form.withLock { $0 }?(name)
    // A request is kept until it is answered.
    return bytes.flatMap { $0.count <= Limits.requestBytesMax ? $0 : nil }
  }
}
