/// The caller's own user: what others see, and what is theirs alone.
public struct MeBody: Codable, Hashable, Sendable, JSONWritable {
  public var user: UserBody
  /// For the user and the app's server.
  public var privateMetadata: RawObject
  /// `everybody`, `contacts` or `nobody`.
  public var lastSeenVisibility: String
  public var searchable: Bool
  public var matchable: Bool
  /// As `lastSeenVisibility`: who may call.
  public var callsFrom: String
  /// The terms that were accepted last.
  public var terms: TermsBody?
  /// The version of the terms that the app wants accepted; absent: none, or it is.
  public var termsRequired: String?
  public var email: String?
  public var phone: String?
  /// There is a password that somebody may know.
  public var hasPassword: Bool
  /// A second factor is asked for.
  public var secondFactor: Bool
  /// When they last signed in with an app.
  public var lastLoginAt: WireTime?

  public init(
    user: UserBody, privateMetadata: RawObject, lastSeenVisibility: String, searchable: Bool, matchable: Bool,
    callsFrom: String, terms: TermsBody?, termsRequired: String?, email: String?, phone: String?, hasPassword: Bool,
    secondFactor: Bool,
    lastLoginAt: WireTime?
  ) {
    self.email = email
    self.phone = phone
    self.hasPassword = hasPassword
    self.secondFactor = secondFactor
    self.lastLoginAt = lastLoginAt
    self.user = user
    self.privateMetadata = privateMetadata
    self.lastSeenVisibility = lastSeenVisibility
    self.searchable = searchable
    self.matchable = matchable
    self.callsFrom = callsFrom
    self.terms = terms
    self.termsRequired = termsRequired
  }

  private enum Keys: String, CodingKey {
    case privateMetadata, lastSeenVisibility, searchable, matchable, callsFrom, terms, termsRequired, email, phone,
      hasPassword,
      secondFactor, lastLoginAt
  }

  /// Members of the user and of this stand side by side.
  public init(from decoder: any Decoder) throws {
    user = try UserBody(from: decoder)
    let container = try decoder.container(keyedBy: Keys.self)
    privateMetadata = try container.decode(RawObject.self, forKey: .privateMetadata)
    lastSeenVisibility = try container.decode(String.self, forKey: .lastSeenVisibility)
    searchable = try container.decode(Bool.self, forKey: .searchable)
    matchable = try container.decode(Bool.self, forKey: .matchable)
    callsFrom = try container.decode(String.self, forKey: .callsFrom)
    terms = try container.decodeIfPresent(TermsBody.self, forKey: .terms)
    termsRequired = try container.decodeIfPresent(String.self, forKey: .termsRequired)
    email = try container.decodeIfPresent(String.self, forKey: .email)
    phone = try container.decodeIfPresent(String.self, forKey: .phone)
    hasPassword = try container.decode(Bool.self, forKey: .hasPassword)
    secondFactor = try container.decode(Bool.self, forKey: .secondFactor)
    lastLoginAt = try container.decodeIfPresent(WireTime.self, forKey: .lastLoginAt)
  }

  public func encode(to encoder: any Encoder) throws {
    try user.encode(to: encoder)
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(privateMetadata, forKey: .privateMetadata)
    try container.encode(lastSeenVisibility, forKey: .lastSeenVisibility)
    try container.encode(searchable, forKey: .searchable)
    try container.encode(matchable, forKey: .matchable)
    try container.encode(callsFrom, forKey: .callsFrom)
    try container.encodeIfPresent(terms, forKey: .terms)
    try container.encodeIfPresent(termsRequired, forKey: .termsRequired)
    try container.encodeIfPresent(email, forKey: .email)
    try container.encodeIfPresent(phone, forKey: .phone)
    try container.encode(hasPassword, forKey: .hasPassword)
    try container.encode(secondFactor, forKey: .secondFactor)
    try container.encodeIfPresent(lastLoginAt, forKey: .lastLoginAt)
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    user.writeMembers(to: &writer)
    writer.member("privateMetadata", privateMetadata)
    writer.member("lastSeenVisibility", lastSeenVisibility)
    writer.member("searchable", searchable)
    writer.member("matchable", matchable)
    writer.member("callsFrom", callsFrom)
    writer.member("terms", terms)
    writer.member("termsRequired", termsRequired)
    writer.member("email", email)
    writer.member("phone", phone)
    writer.member("hasPassword", hasPassword)
    writer.member("secondFactor", secondFactor)
    writer.member("lastLoginAt", lastLoginAt)
    writer.endObject()
  }
}

/// Which terms were accepted, and when.
public struct TermsBody: Codable, Hashable, Sendable, JSONWritable {
  public var version: String
  public var acceptedAt: WireTime

  public init(version: String, acceptedAt: WireTime) {
    self.version = version
    self.acceptedAt = acceptedAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("version", version)
    writer.member("acceptedAt", acceptedAt)
    writer.endObject()
  }
}
