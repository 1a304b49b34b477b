public import Addresses
public import XMLStream

/// The three stanzas (RFC 6120 8).
public enum StanzaKind: UInt8, Sendable, CaseIterable {
  case message
  case presence
  case iq

  /// Returns the kind of an element; `nil` if it is no stanza. One hash comparison in the common case.
  public init?(_ element: Element) {
    if element.is(.message) {
      self = .message
    } else if element.is(.presence) {
      self = .presence
    } else if element.is(.iq) {
      self = .iq
    } else {
      return nil
    }
  }

  /// The name, which is the same on all streams: readers read other content namespaces as `jabber:client`.
  public var name: Name {
    switch self {
    case .message: .message
    case .presence: .presence
    case .iq: .iq
    }
  }
}

/// The `type` of a message (RFC 6121 5.2.2). Absent or unknown means `normal`.
public enum MessageType: UInt8, Sendable, CaseIterable {
  case normal
  case chat
  case groupchat
  case headline
  case error

  public var text: StaticString {
    switch self {
    case .normal: "normal"
    case .chat: "chat"
    case .groupchat: "groupchat"
    case .headline: "headline"
    case .error: "error"
    }
  }

  init(_ bytes: UnsafeRawBufferPointer) {
    self =
      if bytes.spells("chat") { .chat } else if bytes.spells("groupchat") {
        .groupchat
      } else if bytes.spells("headline") { .headline } else if bytes.spells("error") { .error } else { .normal }
  }
}

/// The `type` of a presence (RFC 6121 4.7.1). `available` is the absence of the attribute.
public enum PresenceType: UInt8, Sendable, CaseIterable {
  case available
  case unavailable
  case subscribe
  case subscribed
  case unsubscribe
  case unsubscribed
  case probe
  case error

  /// The attribute; `nil` for `available`, which is written by leaving it out.
  public var text: StaticString? {
    switch self {
    case .available: nil
    case .unavailable: "unavailable"
    case .subscribe: "subscribe"
    case .subscribed: "subscribed"
    case .unsubscribe: "unsubscribe"
    case .unsubscribed: "unsubscribed"
    case .probe: "probe"
    case .error: "error"
    }
  }

  init?(_ bytes: UnsafeRawBufferPointer) {
    if bytes.spells("unavailable") {
      self = .unavailable
    } else if bytes.spells("subscribe") {
      self = .subscribe
    } else if bytes.spells("subscribed") {
      self = .subscribed
    } else if bytes.spells("unsubscribe") {
      self = .unsubscribe
    } else if bytes.spells("unsubscribed") {
      self = .unsubscribed
    } else if bytes.spells("probe") {
      self = .probe
    } else if bytes.spells("error") {
      self = .error
    } else {
      return nil
    }
  }
}

/// The `type` of an IQ (RFC 6120 8.2.3).
public enum IQType: UInt8, Sendable, CaseIterable {
  case get
  case set
  case result
  case error

  public var text: StaticString {
    switch self {
    case .get: "get"
    case .set: "set"
    case .result: "result"
    case .error: "error"
    }
  }

  init?(_ bytes: UnsafeRawBufferPointer) {
    if bytes.spells("get") {
      self = .get
    } else if bytes.spells("set") {
      self = .set
    } else if bytes.spells("result") {
      self = .result
    } else if bytes.spells("error") {
      self = .error
    } else {
      return nil
    }
  }

  /// Whether it requires an answer.
  public var isRequest: Bool { self == .get || self == .set }
}

/// A message, presence or IQ as it stands on a stream: a typed view of an `Element` that copies nothing. Reading an
/// attribute as `String` or address makes one; `type` and the `with` accessors do not.
///
///     guard let stanza = Stanza(element), stanza.kind == .iq, stanza.iqType == .get else { return }
///     let to = try stanza.to()
///     if stanza.payload?.is(.ping) == true { ... }
public struct Stanza: Sendable, Equatable {
  public let kind: StanzaKind
  public let element: Element
  private let streamLanguage: String?

  /// Creates a stanza; `nil` if the element is none.
  ///
  /// - Parameter streamLanguage: the default language of the stream that it came by (`StreamHeader.defaultLanguage`).
  public init?(_ element: Element, streamLanguage: String? = nil) {
    guard let kind = StanzaKind(element) else { return nil }
    self.kind = kind
    self.element = element
    self.streamLanguage = streamLanguage
  }

  /// The id (RFC 6120 8.1.3).
  public var id: String? { element["id"] }
  /// The language (RFC 6120 8.1.5): its own, which is kept as it is, or else that of the stream (4.7.4), which is added
  /// where the stanza is delivered or routed. `nil` if neither states one.
  public var language: String? { element.language ?? streamLanguage }

  /// Returns the addressee (RFC 6120 8.1.1); `nil` if there is no attribute.
  /// - Throws: `jid-malformed` (RFC 6120 8.3.3.8).
  public func to() throws(StanzaError) -> JID? { try element.jid("to") }

  /// Returns the claimed sender (RFC 6120 8.1.2): on client streams the server overrides it.
  /// - Throws: `jid-malformed` (RFC 6120 8.3.3.8).
  public func from() throws(StanzaError) -> JID? { try element.jid("from") }

  /// The type of a message; `normal` for any other stanza.
  public var messageType: MessageType {
    guard kind == .message else { return .normal }
    return element.withAttribute("type") { MessageType($0) } ?? .normal
  }

  /// The type of a presence; `nil` if the attribute has an unknown value, or for any other stanza.
  public var presenceType: PresenceType? {
    guard kind == .presence else { return nil }
    guard let type = element.withAttribute("type", { PresenceType($0) }) else { return .available }
    return type
  }

  /// The type of an IQ; `nil` if it is absent or unknown, or for any other stanza.
  public var iqType: IQType? {
    guard kind == .iq else { return nil }
    return element.withAttribute("type") { IQType($0) } ?? nil
  }

  /// Whether it reports an error: such a stanza is never answered (RFC 6120 8.3.1).
  public var isError: Bool { element.has("type", equalTo: "error") }

  /// Whether an error may be sent in reply: never to errors, never to IQ results (RFC 6120 8.2.3, 8.3.1).
  public var mayBeAnswered: Bool {
    switch kind {
    case .message, .presence: !isError
    case .iq: !(isError || element.has("type", equalTo: "result"))
    }
  }

  /// The first child element: the request of an IQ.
  public var payload: Element? {
    for child in element.children { return child }
    return nil
  }

  /// The first `<body/>`, whatever its language.
  public var body: Element? { element.first(.body) }

  /// Checks the rules of RFC 6120 8.2.3 for IQs and of RFC 6121 4.7.1 for presence.
  ///
  /// - Throws: `bad-request` with the broken rule; `mayBeAnswered` decides whether it may be sent back.
  public func validate() throws(StanzaError) {
    switch kind {
    case .message:
      return
    case .presence:
      if presenceType == nil { throw StanzaError(.badRequest, "unknown type of presence") }
    case .iq:
      guard element.withAttribute("id", { _ in true }) != nil else { throw StanzaError(.badRequest, "iq without id") }
      guard let type = iqType else { throw StanzaError(.badRequest, "iq without a type of get, set, result or error") }
      var children = 0
      for _ in element.children {
        children += 1
        if children > 1 { break }
      }
      switch type {
      case .get, .set:
        if children != 1 { throw StanzaError(.badRequest, "an iq request has exactly one child element") }
      case .result:
        if children > 1 { throw StanzaError(.badRequest, "an iq result has at most one child element") }
      case .error:
        return
      }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Returns whether these are the bytes of a string known at compile time.
  func spells(_ string: StaticString) -> Bool {
    string.withUTF8Buffer { elementsEqual($0) }
  }
}
