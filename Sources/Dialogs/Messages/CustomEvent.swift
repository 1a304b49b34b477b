/// An app's own event in a dialog, which is relayed to the others and not stored.
public struct CustomEvent: Hashable, Sendable {
  /// The app's name for the kind of event; 1 to `Limits.customKindBytesMax` bytes.
  public let kind: String
  /// A compact JSON object of at most `Limits.customPayloadBytesMax` bytes, which the server does not read.
  public let payload: String

  public init(kind: String, payload: String) {
    self.kind = kind
    self.payload = payload
  }
}
