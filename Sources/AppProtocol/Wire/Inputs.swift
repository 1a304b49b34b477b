/// What operations and commands take. The parameters of path and query are
/// members too: `POST /v1/dialogs/{dialogId}/messages` with `{clientId, content}`
/// and the command `message.send` with `{dialogId, clientId, content}` are the
/// same input. Members that are not listed are ignored.

/// Nothing.
public struct NoInput: Codable, Hashable, Sendable {
  public init() {}
}

public struct RegisterInput: Codable, Hashable, Sendable {
  /// Absent, beside `email` or `phone`: one is made up.
  public var username: String?
  public var password: String
  public var name: String?
  /// An address of theirs, with the `code` that was sent to it.
  public var email: String?
  public var phone: String?
  public var code: String?
  public init(
    username: String? = nil, password: String, name: String? = nil, email: String? = nil, phone: String? = nil,
    code: String? = nil
  ) {
    self.username = username
    self.password = password
    self.name = name
    self.email = email
    self.phone = phone
    self.code = code
  }
}

public struct LogInInput: Codable, Hashable, Sendable {
  /// One of `InfoBody.grants`.
  public var grant: String
  /// Of the grant `password`, or in its place `email` or `phone`; may itself hold a mail address.
  public var username: String?
  public var password: String?
  public var refreshToken: String?
  /// Of the app's own backend.
  public var identityToken: String?
  /// One of `InfoBody.providers`, and its token.
  public var provider: String?
  public var idToken: String?
  /// A name for this installation, the same at every login; the server makes
  /// one up where it is absent.
  public var deviceId: String?
  /// What the client calls itself, for the list of sessions.
  public var client: String?
  public var email: String?
  public var phone: String?
  /// Of the grants `code` and `second-factor`; and of a provider without ID tokens, with the two below.
  public var code: String?
  /// RFC 7636 4.1.
  public var codeVerifier: String?
  /// Where the provider sent the code.
  public var redirectUri: String?
  /// Of the grant `code`: what somebody new is called.
  public var name: String?
  /// Of the grant `second-factor`: what `second-factor-required` brought.
  public var challenge: String?
  /// In place of `code`.
  public var recoveryCode: String?
  public init(
    grant: String, username: String? = nil, password: String? = nil, refreshToken: String? = nil,
    identityToken: String? = nil, provider: String? = nil, idToken: String? = nil, deviceId: String? = nil,
    client: String? = nil
  ) {
    self.grant = grant
    self.username = username
    self.password = password
    self.refreshToken = refreshToken
    self.identityToken = identityToken
    self.provider = provider
    self.idToken = idToken
    self.deviceId = deviceId
    self.client = client
  }
}

public struct SessionInput: Codable, Hashable, Sendable {
  /// The session's id, or `current`.
  public var sessionId: String
  public init(sessionId: String) { self.sessionId = sessionId }
}

public struct AppPasswordInput: Codable, Hashable, Sendable {
  /// What the user calls it: for what, and where.
  public var name: String
  public init(name: String) { self.name = name }
}

public struct AppPasswordReference: Codable, Hashable, Sendable {
  public var appPasswordId: String
  public init(appPasswordId: String) { self.appPasswordId = appPasswordId }
}

/// A member that may be absent (leave it), null (clear it) or a value.
public enum Change<Value: Codable & Hashable & Sendable>: Hashable, Sendable {
  case keep
  case clear
  case set(Value)
}

public struct UpdateMeInput: Codable, Hashable, Sendable {
  public var name: Change<String>
  public var status: Change<String>
  public var metadata: Change<RawObject>
  public var avatarUrl: Change<String>
  public var contactsMetadata: Change<RawObject>
  public var privateMetadata: Change<RawObject>
  /// `everybody`, `contacts` or `nobody`.
  public var lastSeenVisibility: String?
  public var searchable: Bool?
  public var matchable: Bool?
  /// As `lastSeenVisibility`.
  public var callsFrom: String?
  public init(
    name: Change<String> = .keep, status: Change<String> = .keep, metadata: Change<RawObject> = .keep,
    avatarUrl: Change<String> = .keep, contactsMetadata: Change<RawObject> = .keep,
    privateMetadata: Change<RawObject> = .keep, lastSeenVisibility: String? = nil, searchable: Bool? = nil,
    matchable: Bool? = nil, callsFrom: String? = nil
  ) {
    self.callsFrom = callsFrom
    self.name = name
    self.status = status
    self.metadata = metadata
    self.avatarUrl = avatarUrl
    self.contactsMetadata = contactsMetadata
    self.privateMetadata = privateMetadata
    self.lastSeenVisibility = lastSeenVisibility
    self.searchable = searchable
    self.matchable = matchable
  }

  private enum Keys: String, CodingKey {
    case name, status, metadata, avatarUrl, contactsMetadata, privateMetadata, lastSeenVisibility, searchable
    case matchable, callsFrom
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    name = try container.change(.name)
    status = try container.change(.status)
    metadata = try container.change(.metadata)
    avatarUrl = try container.change(.avatarUrl)
    contactsMetadata = try container.change(.contactsMetadata)
    privateMetadata = try container.change(.privateMetadata)
    lastSeenVisibility = try container.decodeIfPresent(String.self, forKey: .lastSeenVisibility)
    searchable = try container.decodeIfPresent(Bool.self, forKey: .searchable)
    matchable = try container.decodeIfPresent(Bool.self, forKey: .matchable)
    callsFrom = try container.decodeIfPresent(String.self, forKey: .callsFrom)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(name, .name)
    try container.encode(status, .status)
    try container.encode(metadata, .metadata)
    try container.encode(avatarUrl, .avatarUrl)
    try container.encode(contactsMetadata, .contactsMetadata)
    try container.encode(privateMetadata, .privateMetadata)
    try container.encodeIfPresent(lastSeenVisibility, forKey: .lastSeenVisibility)
    try container.encodeIfPresent(searchable, forKey: .searchable)
    try container.encodeIfPresent(matchable, forKey: .matchable)
    try container.encodeIfPresent(callsFrom, forKey: .callsFrom)
  }
}

extension KeyedDecodingContainer {
  func change<Value>(_ key: Key) throws -> Change<Value> {
    if !contains(key) { return .keep }
    if try decodeNil(forKey: key) { return .clear }
    return .set(try decode(Value.self, forKey: key))
  }
}

extension KeyedEncodingContainer {
  mutating func encode<Value>(_ change: Change<Value>, _ key: Key) throws {
    switch change {
    case .keep: break
    case .clear: try encodeNil(forKey: key)
    case .set(let value): try encode(value, forKey: key)
    }
  }
}

public struct UserInput: Codable, Hashable, Sendable {
  public var userId: String
  public init(userId: String) { self.userId = userId }
}

/// At most one of `query`, `ids`, `externalId` and `near`.
public struct ListUsersInput: Codable, Hashable, Sendable {
  /// What `field` says it is; absent: everybody.
  public var query: String?
  /// `name`, `id`, `email` or `phone`; absent: the beginning of an id or a part of a name.
  public var field: String?
  /// With commas between.
  public var ids: String?
  public var externalId: String?
  /// Latitude and longitude, with a comma between.
  public var near: String?
  /// Kilometres around `near`.
  public var radius: Int?
  public var cursor: String?
  public var limit: Int?
  public init(
    query: String? = nil, field: String? = nil, ids: String? = nil, externalId: String? = nil, near: String? = nil,
    radius: Int? = nil, cursor: String? = nil, limit: Int? = nil
  ) {
    self.query = query
    self.field = field
    self.ids = ids
    self.externalId = externalId
    self.near = near
    self.radius = radius
    self.cursor = cursor
    self.limit = limit
  }
}

public struct PutContactInput: Codable, Hashable, Sendable {
  public var userId: String
  public var name: String?
  public init(userId: String, name: String? = nil) {
    self.userId = userId
    self.name = name
  }
}
