import Basics
public import Dialogs
import Logging
import Synchronization

/// Accounts and logins: the one place where passwords and tokens are verified, for both doors and the command line.
///
/// A password is never stored, only SCRAM keys of it; a token is never stored, only its SHA-256, or for an XMPP
/// client's a nonce (`TokenSecret`). All comparisons of secrets take constant time. An unknown user costs as much as a
/// known one, so that names cannot be probed.
public final class Accounts: Sendable {
  /// The core with the users.
  public let parley: Parley
  public let options: Options
  let tokens = TokenCache()
  let loginFailures = LoginFailures()
  let accountPace = AccountPace()
  /// The paces of right passwords. They are separate, since any number of device ids of one user must not displace other buckets, as
  /// those of codes.
  let loginPace = AccountPace()
  let codeGuesses = CodeGuesses()
  let proofs: RegistrationProofs
  let codeQueue = Mutex(CodeQueue())
  let tasks = TaskRegistry()
  let startedAt: Timestamp
  private let common: Mutex<Set<SCRAMHash>>
  private let derivers: SharedThreads<ReadOwner>

  public struct Options: Sendable {
    /// The ways to sign in besides a password.
    public var signIn = SignInPolicy.none
    /// The secret of the tokens of XMPP clients. They end with the process unless it is the same over restarts.
    public var tokenSecret = TokenSecret.random()
    /// The secret that hashes one-time codes and seals second factors; the same over restarts, like `tokenSecret`.
    public var accountSecret = TokenSecret.random()
    public var registration = RegistrationPolicy()
    /// The formats of an export of a user's data.
    public var exportForms: [any ExportForm] = []
    /// The threads that derive keys.
    public var threads = 2

    public init() {}
  }

  public init(_ parley: Parley, _ options: Options = Options()) {
    self.parley = parley
    self.options = options
    startedAt = parley.clock.now
    let logger = parley.logger
    proofs = RegistrationProofs(bits: options.registration.proofBits ?? AccountLimits.proofBits) {
      logger.warning("all challenges of registration end, since too many have been used")
    }
    derivers = SharedThreads(label: "parley.deriver", count: max(1, options.threads))
    common = Mutex((try? parley.store.read { try $0.commonHashes() }) ?? Set(SCRAMHash.allCases))
  }

  /// The hashes of which every account has keys, at the start and after each import of keys. Accounts that were made here
  /// have all of them; another server has kept one, and XEP-0480 adds the others with time.
  public var commonHashes: Set<SCRAMHash> { common.withLock(\.self) }

  func countHashes() async throws(Problem) {
    let found = try await parley.read { try $0.commonHashes() }
    common.withLock { $0 = found }
  }

  /// The secret from which decoys of unknown users are derived; the same over restarts.
  public var decoySecret: [UInt8] { parley.realmTable.all.first?.key ?? [] }

  /// Runs key derivation and other work that would block a lane for milliseconds, in the turn of the task's owner (`ReadOwner`):
  /// those that one network or user asks for do not delay the logins of others.
  func derive<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    let owner = ReadOwner.current
    return await withCheckedContinuation { continuation in
      derivers.run(for: owner, in: owner?.network) { continuation.resume(returning: body()) }
    }
  }

  /// Runs the same in the turn of an owner, and passes the result to `then` on the lane.
  public func derive<Value: Sendable>(
    for owner: ReadOwner, on lane: Lane, _ body: @escaping @Sendable () -> Value,
    then: @escaping @Sendable (Value) -> Void
  ) {
    derivers.run(for: owner, in: owner.network) {
      let value = body()
      lane.run { then(value) }
    }
  }

  /// Stores an outbox event for the realm's hooks, in the transaction in which it happens.
  func note(_ kind: OutboxEvent.Kind, of user: UserID, in realm: RealmID, _ writer: any StoreWriter) throws {
    try parley.registries.hooks.note(kind, of: user, detail: 0, in: realm, at: parley.clock.now, writer)
  }
}
