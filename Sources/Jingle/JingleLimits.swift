/// The bounds of session descriptions and of what two sides tell each other in one session. The bytes of a description
/// are bounded by the doors: `Limits.callSDPBytesMax`, and the size of a stanza.
public enum JingleLimits {
  /// Media of one description: an app's call has two. More: `too-many-media`.
  public static let mediaMax = 8
  /// Payload types, header extensions, sources, and candidates of one medium; a browser's video has about 40 payload
  /// types. More: `too-many-elements`.
  public static let elementsMax = 64
  /// Candidates that one side sends in a session after its description; browsers with many networks send about 30.
  /// More: `too-many-candidates`.
  public static let candidatesMax = 128
  /// Bytes of one name or value. More: `value-too-long`.
  public static let valueBytesMax = 512
}
