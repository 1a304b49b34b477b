public import Basics

/// The storage of the log and of everything else durable. Implementations know tables; they know no protocol and make
/// no decisions.
///
/// Every function throws the engine's errors; the core wraps them once.
///
///     let head = try store.read { try $0.head().position }
public protocol Store: Sendable {
  /// Reads a consistent snapshot for the time of `body`. It blocks the calling thread; never call it on an event loop.
  /// Many may run at once, also while the committer writes.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result
  /// Runs one transaction. If `body` throws, nothing of it remains. One at a time; called by the committer.
  ///
  /// - Parameter synced: Whether it returns only when the transaction is durable. One that is not synced is as visible as
  ///   others, and the end of the process does not undo it; a loss of power may, until the next one that is synced,
  ///   even one that changes nothing, makes it durable too.
  func write<Result>(synced: Bool, _ body: (any StoreWriter) throws -> Result) throws -> Result
  /// Writes a consistent copy of everything into the file at `path`, which is empty or missing, and syncs it, while
  /// reading and writing go on. It blocks for as long as that takes, or until `cancellation` is set, when it throws. A
  /// store whose engine has its own means for this throws a `Problem` of kind `unsupported` that names them.
  func copy(to path: String, until cancellation: Cancellation) throws
  func close() throws
}

extension Store {
  /// Runs one transaction, which is durable when this returns.
  public func write<Result>(_ body: (any StoreWriter) throws -> Result) throws -> Result {
    try write(synced: true, body)
  }
}

public protocol StoreReader:
  RecordReader, UserReader, ContactReader, NodeReader, LogReader, RoomReader, FileReader, PushReader, StreamReader,
  EditReader, PinReader, PerUserMessageReader, HookReader, ScheduledMessageReader, DialogListReader,
  MessageSearchReader,
  DirectoryReader, AccountTaskReader, OutboxReader, RetentionReader
{}

/// The writing side of a store, inside the one transaction of a batch.
public protocol StoreWriter:
  StoreReader, RecordWriter, UserWriter, ContactWriter, NodeWriter, LogWriter, RoomWriter, FileWriter, PushWriter,
  StreamWriter, PinWriter, PerUserMessageWriter, HookWriter, ScheduledMessageWriter, OutboxWriter, RetentionWriter,
  AnyObject
{
  /// A number that is the same as before if and only if nothing has been written since.
  var changedRows: Int64 { get }
}

extension StoreWriter {
  /// Removes the records of a deleted user of which each has few: with these the account could be used. `UserWriter.eraseData` removes
  /// the rest.
  public func eraseRecords(of user: UserID) throws {
    try remove(Credential.self, .equal(.user, user))
    try remove(BoundIdentity.self, .equal(.user, user))
    try remove(Grant.self, .equal(.user, user))
    try remove(Client.self, .equal(.user, user))
    try removeAppPasswords(of: user)
    try removeSecondFactor(of: user)
    try remove(PasswordReset.self, .equal(.user, user))
    try remove(RealmCode.self, .equal(.user, user))
    if let realm = try party(user)?.realm {
      try remove(Invite.self, .equal(.realm, realm), .equal(.inviter, user))
    }
    try remove(StoredUserSettings.self, .equal(.user, user))
    try remove(UserNote.self, .equal(.user, user))
    try remove(Administrator.self, .equal(.user, user))
    try remove(ContactGroupMember.self, .equal(.user, user))
    try remove(SharedContactsVersion.self, .equal(.user, user))
    try remove(MatchKey.self, .equal(.user, user))
    try remove(RealmLocation.self, .equal(.user, user))
  }
}

extension StoreReader {
  public func items(in node: String, of owner: UserID, newest: Bool, limit: Int) throws -> [NodeItem] {
    try items(in: node, of: owner, after: .zero, before: .end, newest: newest, limit: limit)
  }
}

/// A conflict of an address that is or was taken: localparts are never reused.
public struct StoreConflict: Error, Sendable {
  public init() {}
}
