/// Every bound of the protocol layer: name, number, reason. Bounds on bytes and depth of XML are `ReaderLimits` of `XMLStream`.
public enum XMPPLimits {
  /// SASL attempts of one stream before it is closed. RFC 6120 6.4.5 suggests retries per mechanism; clients walk down a list
  /// of mechanisms and each step is an attempt, so seven are the least that lets an honest one finish.
  public static let authenticationAttemptsMax = 7
  /// Bytes of one decoded SASL message. Three PLAIN fields of 1,023 bytes (RFC 4616 2 asks for 255 at least) fit; nothing
  /// longer is honest.
  public static let saslMessageBytesMax = 4096
  /// Bytes of one PLAIN field or SCRAM user name: the longest localpart (RFC 7622 3.3.1).
  public static let saslFieldBytesMax = 1023
  /// Bytes of a client's SCRAM nonce. Clients send 16 to 64.
  public static let scramNonceBytesMax = 256
  /// Characters of a client's software or device that are kept (XEP-0388 2.4): a line in a list of sessions.
  public static let agentCharactersMax = 100
  /// Resource binding attempts of one stream: RFC 6120 7.7.3 wants 5 to 10.
  public static let bindAttemptsMax = 10
  /// Sessions one account may have bound at a time: people have a handful of devices, bots some dozens.
  public static let resourcesMax = 64
  /// Unacknowledged stanzas kept for one session, and their bytes where bytes are kept (XEP-0198). Beyond it the peer is not
  /// acknowledging and the session must read on from its cursor instead.
  public static let unacknowledgedItemsMax = 2048
  /// See `unacknowledgedItemsMax`. 1 MiB.
  public static let unacknowledgedBytesMax = 1 << 20
  /// Seconds a suspended session waits to be resumed. A train in a tunnel: yes; a night: no, that is what the log is for.
  public static let resumptionSecondsMax: UInt32 = 600
  /// Bytes of a stream management id: XEP-0198 5 says not longer than 4,000.
  public static let resumptionIDBytesMax = 4000
  /// Fields of one data form (XEP-0004) that are read: the largest known, a room's configuration, has under 60.
  public static let formFieldsMax = 256
  /// Values of all fields of one data form that are read.
  public static let formValuesMax = 2048
  /// Items one page of a result set may ask for (XEP-0059); asking for more gets this many.
  public static let resultSetPageMax = 250
  /// Bytes of a page anchor (XEP-0059 `<after/>`): our own are short, and foreign ones match nothing.
  public static let resultSetAnchorBytesMax = 1023
  /// Features and identities of one capability set that are hashed (XEP-0115); the largest client has under 120.
  public static let capabilityItemsMax = 1024
}
