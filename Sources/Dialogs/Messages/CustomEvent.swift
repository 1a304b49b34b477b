/// Something that an app tells the others in a dialog and nobody keeps: a signal of its own making.
public struct CustomEvent: Hashable, Sendable {
  /// What it is; 1 to `Limits.customKindBytesMax` bytes.
  public let kind: String
  /// A JSON object, compact, at most `Limits.customPayloadBytesMax` bytes; the server does not look into it.
  public let payload: String

  public init(kind: String, payload: String) {
    self.kind = kind
    self.payload = payload
  }
}
