// The values of labels. What an operator has once built a dashboard on does not change.

/// The protocols by which messages come in; `remote` is another server or a component.
public enum MessageDoor: Int, Series {
  case xmpp, app, remote
  public static let labels = ["door"]
}

/// The ways in which a client's session is connected; `none` while it waits for its client to come back.
public enum SessionKind: Int, Series {
  case xmppTCP, xmppWebSocket, xmppBOSH, xmppNone, appWebSocket, appEvents, appPoll, appNone
  public static let labels = ["door", "transport"]
  public var values: [String] {
    switch self {
    case .xmppTCP: ["xmpp", "tcp"]
    case .xmppWebSocket: ["xmpp", "websocket"]
    case .xmppBOSH: ["xmpp", "bosh"]
    case .xmppNone: ["xmpp", "none"]
    case .appWebSocket: ["app", "websocket"]
    case .appEvents: ["app", "events"]
    case .appPoll: ["app", "poll"]
    case .appNone: ["app", "none"]
    }
  }
}

public enum ClientDoor: Int, Series {
  case xmpp, app
  public static let labels = ["door"]
}

/// The ways to log in: SASL mechanisms of XMPP, and grants of the app protocol.
public enum LoginMechanism: Int, Series {
  case plain, scramSHA1, scramSHA256, scramSHA512, fast, oauthBearer, anonymous, unknown
  case password, refresh, code, secondFactor, backend, provider, guest, unknownGrant
  public static let labels = ["door", "mechanism"]
  public var values: [String] {
    switch self {
    case .plain: ["xmpp", "PLAIN"]
    case .scramSHA1: ["xmpp", "SCRAM-SHA-1"]
    case .scramSHA256: ["xmpp", "SCRAM-SHA-256"]
    case .scramSHA512: ["xmpp", "SCRAM-SHA-512"]
    case .fast: ["xmpp", "HT"]
    case .oauthBearer: ["xmpp", "OAUTHBEARER"]
    case .anonymous: ["xmpp", "ANONYMOUS"]
    case .unknown: ["xmpp", "other"]
    case .password: ["app", "password"]
    case .refresh: ["app", "refresh"]
    case .code: ["app", "code"]
    case .secondFactor: ["app", "second-factor"]
    case .backend: ["app", "jwt"]
    case .provider: ["app", "provider"]
    case .guest: ["app", "guest"]
    case .unknownGrant: ["app", "other"]
    }
  }

  /// Creates the mechanism of a `grant` of the app protocol.
  public init(grant: String) {
    self = Self.allCases.first { $0.values == ["app", grant] } ?? .unknownGrant
  }
}

public enum LoginResult: Int, Series {
  case success, failure
  public static let labels = ["result"]
}

/// The stanzas of clients' streams, or of those of other servers. `out` is what this server has written.
public enum StanzaFlow: Int, Series {
  case messageIn, presenceIn, iqIn, messageOut, presenceOut, iqOut
  public static let labels = ["direction", "kind"]
  public var values: [String] {
    switch self {
    case .messageIn: ["in", "message"]
    case .presenceIn: ["in", "presence"]
    case .iqIn: ["in", "iq"]
    case .messageOut: ["out", "message"]
    case .presenceOut: ["out", "presence"]
    case .iqOut: ["out", "iq"]
    }
  }
}

/// The reads of the store that users wait for.
public enum ReadKind: Int, Series, Sendable {
  case archive, search, other
  public static let labels = ["kind"]
}

/// The rates that requests are refused by, under the names that clients see (`RateLimit-Policy`).
public enum RefusingRate: Int, Series {
  case messages, requests, address, events, signals, key, logins, registrations, invitations, passwordChanges, searches
  case guests, codes, codesToAddressHour, codesToAddressDay, secondFactor, tokenLogins, locations, nearby
  case contactHashes, exports, inbox, connections, strangers, downloads, bytes, dayBytes, deliveries, entrances
  case newAccounts, registrationProofs, memory, networkConnections
  public static let labels = ["rate"]
  public var values: [String] {
    switch self {
    case .passwordChanges: ["password-changes"]
    case .codesToAddressHour: ["codes-to-address-hour"]
    case .codesToAddressDay: ["codes-to-address-day"]
    case .secondFactor: ["second-factor"]
    case .tokenLogins: ["token-logins"]
    case .contactHashes: ["contact-hashes"]
    case .dayBytes: ["day-bytes"]
    case .newAccounts: ["new-accounts"]
    case .registrationProofs: ["registration-proofs"]
    case .networkConnections: ["network-connections"]
    case .messages, .requests, .address, .events, .signals, .key, .logins, .registrations, .invitations, .searches,
      .guests, .codes, .locations, .nearby, .exports, .inbox, .connections, .strangers, .downloads, .bytes,
      .deliveries, .entrances, .memory:
      ["\(self)"]
    }
  }
}

/// The kinds of memory that is held for clients: everything without a login, bodies of logged-in users' requests, output that
/// clients do not read, stanzas and messages that are not complete, stanzas that clients have not acknowledged, answers that wait,
/// stanzas that wait in the links to other servers, and the sessions of people elsewhere in rooms here.
public enum HeldMemory: Int, Series {
  case beforeLogin, bodies, unread, unfinished, unacknowledged, answers, online, links, residents
  public static let labels = ["kind"]
  public var values: [String] {
    switch self {
    case .beforeLogin: ["before-login"]
    case .bodies, .unread, .unfinished, .unacknowledged, .answers, .online, .links, .residents: ["\(self)"]
    }
  }
}

/// The bound that an account has reached, so that it was not read for a while.
public enum SendingBound: Int, Series {
  case stanzas, bytes, deliveries
  public static let labels = ["bound"]
}

/// The results for a session over a restart of the server.
public enum ArchivedSession: Int, Series {
  case stored
  /// Not stored: its client would be sent too much again.
  case tooLarge
  /// Not stored: all sessions together have too much.
  case noRoom
  case restored, resumed
  /// Not resumed: its stanzas could not be read.
  case unreadable
  public static let labels = ["result"]
  public var values: [String] {
    switch self {
    case .tooLarge: ["too-large"]
    case .noRoom: ["no-room"]
    case .stored, .restored, .resumed, .unreadable: ["\(self)"]
    }
  }
}

public enum PushProvider: Int, Series {
  case xmpp, apns, fcm, webpush, unifiedpush, webhook
  public static let labels = ["provider"]
}

/// The outcomes of something that is sent to another service.
public enum SendingResult: Int, Series {
  /// It was taken.
  case sent
  /// It is tried again.
  case failed
  /// It is not tried again.
  case refused
  public static let labels = ["result"]
}

/// The outcomes for a message about which the backend is asked before it is sent.
public enum BeforeSendResult: Int, Series {
  case allow, change, refuse
  /// There was no answer in time, or one with another status than 2xx.
  case unanswered
  /// The answer was none of the three.
  case malformed
  /// It was not asked, since it has waited too long for its turn.
  case unasked
  public static let labels = ["result"]
}

/// The transports of codes for signing in.
public enum CodeWay: Int, Series {
  case mail, backend
  public static let labels = ["transport"]
}

/// The outcomes of a span of a trace.
public enum SpanResult: Int, Series {
  case sent, failed, dropped
  public static let labels = ["result"]
}

public enum HookState: Int, Series {
  case active, disabled
  public static let labels = ["state"]
}

public enum UploadResult: Int, Series {
  case stored, failed, refused
  public static let labels = ["result"]
}

/// The ages at which messages, files and accounts go.
public enum RetainedKind: Int, Series {
  case messages, files, accounts
  public static let labels = ["kind"]
}

public enum TLSPort: Int, Series {
  case xmpp, https, federation
  public static let labels = ["port"]
}

public enum SecureVersion: Int, Series {
  case v12, v13, other
  public static let labels = ["version"]
  public var values: [String] {
    switch self {
    case .v12: ["1.2"]
    case .v13: ["1.3"]
    case .other: ["other"]
    }
  }
}

public enum StreamDirection: Int, Series {
  case incoming, outgoing, both
  public static let labels = ["direction"]
  public var values: [String] {
    switch self {
    case .incoming: ["in"]
    case .outgoing: ["out"]
    case .both: ["both"]
    }
  }
}

/// The ways in which another server was verified.
public enum PeerVerification: Int, Series {
  case pkix, dane, posh, dialback
  public static let labels = ["auth"]
}

public enum ConnectResult: Int, Series {
  case opened, failed
  public static let labels = ["result"]
}

/// The reasons for which messages to other servers were given up.
public enum BounceReason: Int, Series {
  case notFound, timeout, notAllowed, other
  public static let labels = ["condition"]
  public var values: [String] {
    switch self {
    case .notFound: ["remote-server-not-found"]
    case .timeout: ["remote-server-timeout"]
    case .notAllowed: ["not-allowed"]
    case .other: ["other"]
    }
  }

  /// Creates the reason of a condition of RFC 6120 8.3.3.
  public init(condition: String) { self = Self.allCases.first { $0.values == [condition] } ?? .other }
}

/// The reasons for which streams of other servers were refused.
public enum StreamRefusal: Int, Series {
  /// The operator's rules deny the domain.
  case denied
  /// The certificate is not good for the domain.
  case uncertified
  case tooMany
  /// The domain's servers could not be looked up.
  case lookup
  case other
  public static let labels = ["reason"]
  public var values: [String] { [self == .tooMany ? "too-many" : "\(self)"] }
}

public enum DialbackResult: Int, Series {
  case valid, invalid, error
  public static let labels = ["result"]
}

public enum StrangerVerdict: Int, Series {
  case heard, limited
  public static let labels = ["verdict"]
}
