/// The bounds of the protocol layer: name, number, reason. `ReaderLimits` of `XMLStream` bounds bytes and depth of XML.
public enum XMPPLimits {
  /// The SASL attempts of one stream before it is closed. RFC 6120 6.4.5 suggests retries per mechanism; clients walk
  /// down a list of mechanisms and each step is an attempt, so seven are the least that lets an honest one finish.
  public static let authenticationAttemptsMax = 7
  /// The bytes of one decoded SASL message. Three PLAIN fields of 1,023 bytes (RFC 4616 2 asks for 255 at least) fit;
  /// nothing longer is honest.
  public static let saslMessageBytesMax = 4096
  /// The bytes of one PLAIN field or SCRAM user name: the longest localpart (RFC 7622 3.3.1).
  public static let saslFieldBytesMax = 1023
  /// The bytes of a client's SCRAM nonce. Clients send 16 to 64.
  public static let scramNonceBytesMax = 256
  /// The characters of a client's software or device that are kept (XEP-0388 2.4): a line in a list of sessions.
  public static let agentCharactersMax = 100
  /// The bytes of a language tag, of a stream or a room. RFC 5646 4.4.1: all tags in use fit 35.
  public static let languageBytesMax = 35
  /// The resource binding attempts of one stream: RFC 6120 7.7.3 asks for 5 to 10.
  public static let bindAttemptsMax = 10
  /// The sessions that one account may have bound at a time: people have a handful of devices, bots some dozens.
  public static let resourcesMax = 64
  /// The unacknowledged stanzas kept for one session (XEP-0198). At the bound the peer is not acknowledging, and the
  /// session must read on from its cursor instead.
  public static let unacknowledgedItemsMax = 2048
  /// The bytes of these stanzas, where bytes are kept, that a peer may ask for: 1 MiB.
  public static let unacknowledgedBytesMax = 1 << 20
  /// The bytes at which nothing more is kept: twice as many, so that there is room for what a peer asks for, whatever others have sent it.
  public static let unacknowledgedBytesKept = 2 * unacknowledgedBytesMax
  /// The seconds that a suspended session waits to be resumed: long enough for a tunnel, not for a night, which the log
  /// is for.
  public static let resumptionSecondsMax: UInt32 = 600
  /// The bytes of a stream management id: XEP-0198 5 allows at most 4,000.
  public static let resumptionIDBytesMax = 4000
  /// The fields of one data form (XEP-0004) that are read: the largest known, a room's configuration, has under 60.
  public static let formFieldsMax = 256
  /// The values of all fields of one data form that are read.
  public static let formValuesMax = 2048
  /// The items that one page of a result set may ask for (XEP-0059); asking for more gets this many.
  public static let resultSetPageMax = 250
  /// The bytes of a page anchor (XEP-0059 `<after/>`): the server's own are short, and foreign ones match nothing.
  public static let resultSetAnchorBytesMax = 1023
  /// The features and identities of one capability set that are hashed (XEP-0115); the largest client has under 120.
  public static let capabilityItemsMax = 1024
  /// The bytes of a dialback key (XEP-0220), which is opaque to the receiving server: those of XEP-0185 have 64.
  public static let dialbackKeyBytesMax = 1024
  /// The SASL attempts of one stream between servers; then it is closed. There is one mechanism.
  public static let externalAttemptsMax = 3
}
