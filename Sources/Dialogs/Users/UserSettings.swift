public import Addresses
public import Basics

// A user's settings, and the visibility of their data. All doors use `view(of:for:)`, so that none shows more than
// another.

/// The users who may see something of a user. Stored: never renumber.
public enum Visibility: UInt8, Hashable, Sendable, CaseIterable {
  /// Only the user.
  case nobody = 0
  /// Users who may see the user's presence (a subscription `from` or `both`).
  case contacts = 1
  /// Every user of the realm.
  case everybody = 2
}

/// A user's settings, which the server stores.
public struct UserSettings: Hashable, Sendable {
  /// The users who may see `lastSeenAt` (XEP-0012). The default is that of XEP-0012 8: those who see presence.
  public var lastSeen = Visibility.contacts
  /// Whether searches and the directory include the user. The id reaches them in any case.
  public var isSearchable = true
  /// Whether users who know their telephone number or mail address find them. Off by default.
  public var isMatchable = false
  /// The users who may call them. The default is their contacts.
  public var callsFrom = Visibility.contacts
  /// The users who may write to them: all, or `contacts`, which are here also those to whom they have written.
  public var messagesFrom = Visibility.everybody
  /// A JSON object for those who see their presence; `nil` means `{}`. At most `Limits.metadataBytesMax`.
  public var contactsMetadata: String?
  /// A JSON object for the user and the app's backend; `nil` means `{}`. At most `Limits.metadataBytesMax`.
  public var privateMetadata: String?
  /// The terms they have accepted last.
  public var terms: TermsAcceptance?

  public init() {}
}

/// The record of a user's acceptance of the app's terms.
public struct TermsAcceptance: Hashable, Sendable {
  /// The app's version of the terms, at most `AccountLimits.termsVersionBytesMax`.
  public let version: String
  public let time: Timestamp
  public init(version: String, time: Timestamp) {
    self.version = version
    self.time = time
  }
}

/// A change of a user's settings; `nil` leaves a field unchanged.
public struct UserSettingsDraft: Hashable, Sendable {
  public var lastSeen: Visibility?
  public var isSearchable: Bool?
  public var isMatchable: Bool?
  public var callsFrom: Visibility?
  public var messagesFrom: Visibility?
  public var contactsMetadata: String??
  public var privateMetadata: String??

  public init(
    lastSeen: Visibility? = nil, isSearchable: Bool? = nil, isMatchable: Bool? = nil, callsFrom: Visibility? = nil,
    messagesFrom: Visibility? = nil, contactsMetadata: String?? = nil, privateMetadata: String?? = nil
  ) {
    self.callsFrom = callsFrom
    self.messagesFrom = messagesFrom
    self.lastSeen = lastSeen
    self.isSearchable = isSearchable
    self.isMatchable = isMatchable
    self.contactsMetadata = contactsMetadata
    self.privateMetadata = privateMetadata
  }

  func applied(to before: UserSettings) -> UserSettings {
    var settings = before
    if let lastSeen { settings.lastSeen = lastSeen }
    if let isSearchable { settings.isSearchable = isSearchable }
    if let isMatchable { settings.isMatchable = isMatchable }
    if let callsFrom { settings.callsFrom = callsFrom }
    if let messagesFrom { settings.messagesFrom = messagesFrom }
    if let contactsMetadata { settings.contactsMetadata = contactsMetadata }
    if let privateMetadata { settings.privateMetadata = privateMetadata }
    return settings
  }
}

extension Visibility: FieldCodable {}

/// The stored settings of a user.
struct StoredUserSettings {
  let user: UserID
  var settings = UserSettings()
}

extension StoredUserSettings: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, lastSeen = "last_seen", isSearchable = "searchable", isMatchable = "matchable",
      contactsMetadata = "contacts_metadata", privateMetadata = "private_metadata", terms, termsTime = "terms_time",
      callsFrom = "calls_from", messagesFrom = "messages_from"
  }
  static let kind = "user_settings"
  static let key: [Field] = [.user]
  var fields: [FieldValue] {
    [
      user.field, settings.lastSeen.field, settings.isSearchable.field, settings.isMatchable.field,
      settings.contactsMetadata.field, settings.privateMetadata.field, (settings.terms?.version).field,
      (settings.terms?.time).field, settings.callsFrom.field, settings.messagesFrom.field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    user = try fields.next()
    settings.lastSeen = try fields.next()
    settings.isSearchable = try fields.next()
    settings.isMatchable = try fields.next()
    settings.contactsMetadata = try fields.next()
    settings.privateMetadata = try fields.next()
    let (version, time): (String?, Timestamp?) = try (fields.next(), fields.next())
    if let version, let time { settings.terms = TermsAcceptance(version: version, time: time) }
    settings.callsFrom = try fields.next()
    settings.messagesFrom = try fields.next()
  }
}

extension RecordReader {
  /// Returns the settings, the default ones if none are stored.
  public func userSettings(of user: UserID) throws -> UserSettings {
    try record(StoredUserSettings.self, .equal(.user, user))?.settings ?? UserSettings()
  }
}

extension StoreWriter {
  /// Inserts or replaces the settings. The user's match keys exist only with `isMatchable`.
  public func put(_ settings: UserSettings, of user: UserID) throws {
    try put(StoredUserSettings(user: user, settings: settings))
    try refreshMatchKeys(of: user)
  }
}

/// A user as one viewer may see them.
public struct UserView: Hashable, Sendable {
  public let user: User
  /// Whether the viewer may see when the user was last available, which the hub knows before the store does
  /// (`Hub.lastSeen`).
  public let showsLastSeen: Bool
  /// The metadata for contacts; `nil` if there are none, or the viewer may not see them.
  public let contactsMetadata: String?

  public init(user: User, showsLastSeen: Bool, contactsMetadata: String?) {
    self.user = user
    self.showsLastSeen = showsLastSeen
    self.contactsMetadata = contactsMetadata
  }
}

extension UserSettings {
  static func sees(_ visibility: Visibility, _ isContact: Bool) -> Bool {
    switch visibility {
    case .nobody: false
    case .contacts: isContact
    case .everybody: true
    }
  }
}

extension StoreReader {
  /// Returns whether either of two users blocks the other: then they do not find each other.
  public func isBlocked(_ one: User, _ other: Party) throws -> Bool {
    let (first, second) = (JID(one.address), JID(other.address))
    return try blocks(of: one.id).contains { $0.matches(second) }
      || blocks(of: other.id).contains { $0.matches(first) }
  }

  /// Returns a user of the viewer's app, or one elsewhere whom the viewer knows: a contact, or somebody they share a
  /// private dialog with. Nobody else elsewhere is found.
  ///
  /// - Parameter realm: the federated realm of the viewer's home. A contact there is not stored before they say something.
  public func user(_ address: BareJID, knownTo viewer: Party, elsewhere realm: RealmID) throws -> User? {
    let user = try user(address, seenFrom: viewer.realm)
    if let user, user.realm == viewer.realm { return user }
    let isContact = try contact(of: viewer.id, address)?.subscription.isInRoster == true
    if let user { return try isContact || dialog(between: viewer.id, and: user.id) != nil ? user : nil }
    guard isContact, !address.hasDomain(viewer.address.domain) else { return nil }
    return User(
      id: Party(remote: address, realm: realm).id, realm: realm, address: address, state: .active,
      createdAt: Timestamp(milliseconds: 0), profile: Profile(), lastSeenAt: nil, delivered: .zero)
  }

  /// Returns a user as `viewer` may see them. To a user whom they block they appear as never online (XEP-0191 3.3).
  public func view(of user: User, for viewer: Party) throws -> UserView {
    if user.state == .deleted { return UserView(user: user, showsLastSeen: false, contactsMetadata: nil) }
    let settings = try userSettings(of: user.id)
    if user.id == viewer.id {
      return UserView(user: user, showsLastSeen: true, contactsMetadata: settings.contactsMetadata)
    }
    let address = JID(viewer.address)
    if try blocks(of: user.id).contains(where: { $0.matches(address) }) {
      return UserView(user: user, showsLastSeen: false, contactsMetadata: nil)
    }
    let isContact = try contact(of: user.id, viewer.address)?.subscription.from == true
    return UserView(
      user: user, showsLastSeen: UserSettings.sees(settings.lastSeen, isContact),
      contactsMetadata: isContact ? settings.contactsMetadata : nil)
  }

  /// Returns the user of a mail address or telephone number; `nil` if there is none, they are not matchable, or not for
  /// this viewer.
  public func user(findableBy identity: Identity, for viewer: Party) throws -> User? {
    guard let id = try user(of: identity, in: viewer.realm), try userSettings(of: id).isMatchable,
      let user = try user(id), user.state == .active, try !isBlocked(user, viewer)
    else { return nil }
    return user
  }
}

extension Judge {
  func check(_ draft: UserSettingsDraft) throws(Problem) {
    for (field, value) in [
      ("contactsMetadata", draft.contactsMetadata ?? nil), ("privateMetadata", draft.privateMetadata ?? nil),
    ] {
      if let value, value.utf8.count > Limits.metadataBytesMax {
        throw Problem(
          .tooLarge, "metadata-too-long", "\(field) has at most \(Limits.metadataBytesMax) bytes.", field: field)
      }
    }
  }

  /// Stores changed settings. Returns `false` if they are equal.
  mutating func set(_ draft: UserSettingsDraft, of user: Party) throws -> Bool {
    let before = try writer.userSettings(of: user.id)
    let settings = draft.applied(to: before)
    if settings == before { return false }
    // The salt of the keys must exist before the first of them.
    if settings.isMatchable { _ = try ContactMatch.salt(of: user.realm, writer) }
    try writer.put(settings, of: user.id)
    if settings.messagesFrom != before.messagesFrom { setMessagesFrom(settings.messagesFrom, of: user) }
    return true
  }
}
