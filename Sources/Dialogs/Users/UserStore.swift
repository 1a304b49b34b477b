public import Addresses
public import Basics

/// Reads realms and users.
public protocol UserReader {
  func realms() throws -> [Realm]
  /// Returns the user of the realm or component with the address's domain.
  func user(_ address: BareJID) throws -> User?
  /// Returns the user at this address as users of a realm see it: of their own realm, of a component attached to it, or
  /// of its federated realm.
  func user(_ address: BareJID, seenFrom realm: RealmID) throws -> User?
  /// Returns the realm to which a remote one is attached; any other is its own.
  func home(of realm: RealmID) throws -> RealmID
  func user(_ id: UserID) throws -> User?
  func party(_ id: UserID) throws -> Party?
  /// Returns users by name, ascending, with names greater than `after`; `matching` is a prefix of the name or a
  /// case-insensitive part of the display name. Deleted users are left out.
  func users(in realm: RealmID, matching: String?, after: String?, limit: Int) throws -> [User]
  /// Returns the number of users as in `users`, without guests.
  func userCount(in realm: RealmID) throws -> Int
  /// Returns the guests of all realms that are not deleted.
  func guests() throws -> [UserID]
  /// Returns the time of the user's last login with an app; `nil` if there was none.
  func lastLogin(of user: UserID) throws -> Timestamp?
}

/// Changes realms and users.
public protocol UserWriter {
  func insertRealm(domain: String, rooms: String, key: [UInt8], epoch: UInt32) throws -> Realm
  /// Creates a realm whose users live elsewhere (`RealmID.isRemote`). Its ids are those of `home`, to which it is
  /// attached.
  func insertRealm(remote domain: String, home: Realm) throws -> Realm
  /// Changes the domain of the realm's rooms; called before anything is read.
  func setRooms(_ domain: String, of realm: RealmID) throws
  /// Creates a user; in a federated realm the address is of any domain elsewhere. Throws `StoreConflict` if it is or
  /// was taken.
  func insertUser(_ address: BareJID, in realm: RealmID, profile: Profile, createdAt: Timestamp) throws -> User
  /// Creates a guest, like `insertUser`.
  func insertGuest(_ address: BareJID, in realm: RealmID, createdAt: Timestamp) throws -> User
  /// Updates state, profile, lastSeenAt and delivered.
  func update(_ user: User) throws
  /// Moves the position forward only: a client that lags does not undo what another has confirmed.
  func setDelivered(_ position: Position, for user: UserID) throws
  func setLastSeen(_ time: Timestamp, for user: UserID) throws
  /// Makes a guest an ordinary user.
  func endGuest(_ user: UserID) throws
  func setLastLogin(_ time: Timestamp, of user: UserID) throws
  /// Removes a piece of a deleted user's data, beside the records of `StoreWriter.eraseRecords`: contacts, blocks, nodes, values, drafts,
  /// scheduled messages, stars, calls, mentions, settings of dialogs, suspended sessions, push registrations, what waits in the outbox,
  /// memberships, affiliations with and subscriptions to nodes of others, and notifications of backends. In rooms the membership is
  /// deleted, and a ban stays. Files of purpose `profile` and awaited ones expire; files in dialogs remain, like the messages, unless
  /// `endingFiles`. What is removed already is not looked for again behind `place`, and a removal may begin at the first place again.
  ///
  /// - Parameter limit: about how many rows are removed or looked at; one with a large value counts as several.
  func eraseData(
    of user: UserID, endingFiles: Bool, at place: ErasurePlace, limit: Int
  ) throws -> ErasedPiece
}
