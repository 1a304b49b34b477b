public import XMLStream

/// Names that more than one file needs. A name used by one feature alone stands in that feature's file.
extension Name {
  // The three stanzas (RFC 6120 8) and their common children.
  public static let iq = Name("iq", NS.client)
  public static let message = Name("message", NS.client)
  public static let presence = Name("presence", NS.client)
  /// RFC 6121 5.2.3.
  public static let body = Name("body", NS.client)
  /// RFC 6120 8.3.2.
  public static let error = Name("error", NS.client)
  /// RFC 6121 4.7.2.3.
  public static let priority = Name("priority", NS.client)
  /// RFC 6121 4.7.2.1.
  public static let show = Name("show", NS.client)
  /// RFC 6121 4.7.2.2.
  public static let status = Name("status", NS.client)
  /// RFC 6121 5.2.4.
  public static let subject = Name("subject", NS.client)
  /// RFC 6121 5.2.5.
  public static let thread = Name("thread", NS.client)

  // Streams.
  public static let streamError = Name("error", NS.streams)
  public static let streamFeatures = Name("features", NS.streams)
  public static let streamErrorText = Name("text", NS.streamErrors)
  public static let stanzaErrorText = Name("text", NS.stanzas)
  public static let bind = Name("bind", NS.bind)
  public static let bindJID = Name("jid", NS.bind)
  public static let bindResource = Name("resource", NS.bind)
  public static let session = Name("session", NS.session)
  public static let startTLS = Name("starttls", NS.tls)
  public static let startTLSRequired = Name("required", NS.tls)
  public static let proceedTLS = Name("proceed", NS.tls)
  public static let failureTLS = Name("failure", NS.tls)
  public static let mechanisms = Name("mechanisms", NS.sasl)
  public static let mechanism = Name("mechanism", NS.sasl)
  public static let auth = Name("auth", NS.sasl)
  public static let challenge = Name("challenge", NS.sasl)
  public static let response = Name("response", NS.sasl)
  public static let abort = Name("abort", NS.sasl)
  public static let saslFailure = Name("failure", NS.sasl)
  public static let success = Name("success", NS.sasl)
  /// XEP-0388 2.4.
  public static let authenticate = Name("authenticate", NS.sasl2)
  /// XEP-0386 3.2.
  public static let inlineBind = Name("bind", NS.bind2)
  /// XEP-0386 3.4.
  public static let bound = Name("bound", NS.bind2)

  // Stream management (XEP-0198).
  public static let streamManagement = Name("sm", NS.streamManagement)
  public static let smAcknowledge = Name("a", NS.streamManagement)
  public static let smEnable = Name("enable", NS.streamManagement)
  public static let smEnabled = Name("enabled", NS.streamManagement)
  public static let smFailed = Name("failed", NS.streamManagement)
  public static let smHandledCountTooHigh = Name("handled-count-too-high", NS.streamManagement)
  public static let smRequest = Name("r", NS.streamManagement)
  public static let smResume = Name("resume", NS.streamManagement)
  public static let smResumed = Name("resumed", NS.streamManagement)

  // Payloads that several features read or write.
  public static let caps = Name("c", NS.caps)
  public static let dataForm = Name("x", NS.dataForm)
  public static let dataFormField = Name("field", NS.dataForm)
  public static let dataFormValue = Name("value", NS.dataForm)
  public static let delay = Name("delay", NS.delay)
  public static let discoFeature = Name("feature", NS.discoInfo)
  public static let discoIdentity = Name("identity", NS.discoInfo)
  public static let discoInfo = Name("query", NS.discoInfo)
  public static let discoItem = Name("item", NS.discoItems)
  public static let discoItems = Name("query", NS.discoItems)
  public static let forwarded = Name("forwarded", NS.forward)
  public static let httpBody = Name("body", NS.httpBind)
  public static let originID = Name("origin-id", NS.stanzaID)
  public static let ping = Name("ping", NS.ping)
  public static let preauth = Name("preauth", NS.parting)
  public static let register = Name("query", NS.register)
  public static let resultSet = Name("set", NS.resultSet)
  public static let roster = Name("query", NS.roster)
  public static let stanzaID = Name("stanza-id", NS.stanzaID)
}
