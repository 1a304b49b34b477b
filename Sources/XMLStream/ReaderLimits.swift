/// The bounds of one ``ElementReader``. Passing one is a ``XMLViolation/limit(_:)`` (policy-violation, RFC 6120
/// 4.9.3.14).
///
/// Together they bound what one connection can make the server hold: a stanza of n bytes makes a block of at most 14 n
/// bytes (a one-letter element followed by one letter of text, 5 bytes, makes two records of 32 bytes and a few bytes),
/// plus the names the stream header declared, once. While it is being read, the buffers it grows in may be twice as
/// large. ``records`` keeps the records below 8 KiB before authentication, and below 512 KiB afterwards.
public struct ReaderLimits: Sendable, Equatable {
  /// The bytes of one stanza as sent, from its `<` to its last `>`. RFC 6120 13.12 forbids values under 10,000. At most
  /// ``stanzaBytesMax`` counts.
  public var stanzaBytes: Int
  /// The bytes from the first byte of the stream to the `>` of its header.
  public var headerBytes: Int
  /// The elements open at a time within a stanza, the stanza itself included.
  public var depth: Int
  /// The attributes of one element, without namespace declarations. At most ``attributesMax`` counts.
  public var attributes: Int
  /// The bytes of one qualified name, prefix and colon included. At most ``nameBytesMax`` counts.
  public var nameBytes: Int
  /// The bytes of one namespace name. At most ``nameBytesMax`` counts.
  public var namespaceBytes: Int
  /// The namespace declarations in scope at a time, including the stream header's.
  public var declarations: Int
  /// The elements, attributes and pieces of text of one stanza, each of which takes a record of 32 bytes. They are counted
  /// at the end of each start tag, so that the attributes of the last element may exceed the bound.
  public var records: Int

  /// The greatest bound of ``stanzaBytes``: offsets into a stanza are 32 bits wide; stanzas are far smaller.
  public static let stanzaBytesMax = 1 << 28
  /// The greatest bound of ``attributes``, whose counts are 8 bits wide.
  public static let attributesMax = 255
  /// The greatest bound of names, whose lengths are 16 bits wide.
  public static let nameBytesMax = 65_535

  public init(
    stanzaBytes: Int, headerBytes: Int, depth: Int, attributes: Int, nameBytes: Int, namespaceBytes: Int,
    declarations: Int, records: Int = .max
  ) {
    self.stanzaBytes = stanzaBytes
    self.headerBytes = headerBytes
    self.depth = depth
    self.attributes = attributes
    self.nameBytes = nameBytes
    self.namespaceBytes = namespaceBytes
    self.declarations = declarations
    self.records = records
  }

  /// The bounds that apply.
  var effective: ReaderLimits {
    var limits = self
    limits.stanzaBytes = min(stanzaBytes, Self.stanzaBytesMax)
    limits.headerBytes = min(headerBytes, Self.stanzaBytesMax)
    limits.attributes = min(attributes, Self.attributesMax)
    limits.nameBytes = min(nameBytes, Self.nameBytesMax)
    limits.namespaceBytes = min(namespaceBytes, Self.nameBytesMax)
    return limits
  }

  /// The bounds before authentication: the 10,000 bytes that RFC 6120 13.12 asks for, which are more than any SASL exchange
  /// needs, shallow, few names. The largest known stanzas, features of other servers and forms of registration, have some
  /// 100 records. With the attributes of one more element there are at most 256, so that an unfinished stanza keeps 8 KiB
  /// of records, and some 20 KiB of bytes.
  public static let unauthenticated = ReaderLimits(
    stanzaBytes: 10_240, headerBytes: 4_096, depth: 16, attributes: 32, nameBytes: 128, namespaceBytes: 512,
    declarations: 32, records: 192)

  /// The bounds after authentication: 256 KiB holds an avatar in Base64 and large forms and rosters; the deepest known
  /// payloads (archived carbons of encrypted forms) stay below 20 levels. The payloads with the most records for their bytes,
  /// such as lists of devices, members, contacts and features, have one for each 13 to 20 bytes: 8,000 devices, 4,000 members
  /// or 2,600 contacts fit, which is about what 256 KiB hold of them. With the texts and attributes that are counted late there
  /// are at most 16,384, so that an unfinished stanza keeps 512 KiB of records, and as much of bytes.
  public static let authenticated = ReaderLimits(
    stanzaBytes: 262_144, headerBytes: 4_096, depth: 64, attributes: 64, nameBytes: 256, namespaceBytes: 1_024,
    declarations: 64, records: 16_128)
}
