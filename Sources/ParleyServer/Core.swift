package import Accounts
import Administration
import AppDoor
import Backends
import Basics
package import Dialogs
import FileStorage
package import Logging
import Peers
import PushServices
import SQLiteStore
package import ServerConfiguration
import ServerMetrics
import XMPPDoor

/// The opened data folder: the store and the core. Its holder has the folder's lock.
package struct Core: Sendable {
  let folder: DataFolder
  /// The names of the key files that were missing when the folder was opened.
  let missingKeys: Set<String>
  let store: any Store
  package let accounts: Accounts
  let webPushKey: WebPush.Key
  /// The bucket; nil if files are in the data folder.
  let bucket: BucketStore?
  /// The writing of backups.
  let backup: DataBackup
  /// The program that replicates the database; nil if there is to be none.
  let follower: LogFollower?

  /// Opens the core for a command, without sign-in and hooks.
  ///
  /// - Parameter createsKeys: Whether missing key files are created, as by `parley init`. Other commands make nothing with the
  ///   keys, and leave a restored folder without them until its copies are there.
  package static func open(
    _ settings: Settings, _ folder: DataFolder, createsKeys: Bool = true, logger: Logger
  ) throws(StartupError) -> Core {
    try open(
      settings, folder, createsKeys: createsKeys, signIn: .none, beforeSend: nil, memory: SessionMemory(),
      inboxBytesMax: Limits.inboxBytesMax, cacheBytesMax: Limits.cacheBytesMax,
      remotePresencesBytesMax: Limits.remotePresencesBytesMax,
      presencesInRoomsBytesMax: Limits.presencesInRoomsBytesMax, beforeSendBytesMax: Limits.beforeSendBytesMax,
      uploadsMax: Limits.uploadsMax, clock: SystemClock(), metrics: Metrics(), traces: nil, logger: logger)
  }

  /// Opens the core.
  ///
  /// - Parameters:
  ///   - createsKeys: Whether missing key files are created.
  ///   - beforeSend: The hook that sees messages before they are committed; nil for none.
  ///   - memory: The memory of all sessions.
  ///   - inboxBytesMax: The bytes of the posts that wait to be committed.
  ///   - cacheBytesMax: The bytes of what the committer remembers of the store.
  ///   - remotePresencesBytesMax: The bytes of the presences of contacts elsewhere.
  ///   - presencesInRoomsBytesMax: The bytes of the presences that all users show in rooms.
  ///   - beforeSendBytesMax: The bytes of the posts that wait for the hook.
  ///   - uploadsMax: The uploads at a time.
  ///   - traces: The spans of requests and stanzas; nil if the server makes none.
  static func open(
    _ settings: Settings, _ folder: DataFolder, createsKeys: Bool, signIn: SignInPolicy, beforeSend: BeforeSendClient?,
    memory: SessionMemory, inboxBytesMax: Int, cacheBytesMax: Int, remotePresencesBytesMax: Int,
    presencesInRoomsBytesMax: Int, beforeSendBytesMax: Int, uploadsMax: Int, clock: any Clock, metrics: Metrics,
    traces: Traces?, logger: Logger
  ) throws(StartupError) -> Core {
    do {
      let missingKeys = KeyFiles.missing(in: folder.path)
      let webPushKey = try folder.webPushKey(creating: createsKeys)
      var storeOptions = SQLiteStore.Options()
      storeOptions.isReplicated = settings.backups.isReplicated
      folder.createDatabase()
      let store = try SQLiteStore(path: folder.database, options: storeOptions, metrics: metrics)
      let bucket = try settings.uploads?.bucket.map {
        try BucketStore($0, spool: folder.blobs, authorities: settings.outgoing.authorities, logger: logger)
      }
      let blobs = try uploads(settings, folder, bucket)
      var options = coreOptions(settings, webPushKey)
      options.memory = memory
      options.inboxBytesMax = inboxBytesMax
      options.cacheBytesMax = cacheBytesMax
      options.remotePresencesBytesMax = remotePresencesBytesMax
      options.presencesInRoomsBytesMax = presencesInRoomsBytesMax
      options.uploadsMax = uploadsMax
      options.blobs = blobs
      options.traces = traces
      if let beforeSend, let settings = settings.beforeSend {
        let policy = BeforeSendPolicy(
          passesUnanswered: settings.passesUnanswered, passesEncrypted: settings.passesEncrypted,
          patience: settings.timeout, bytesMax: beforeSendBytesMax)
        options.beforeSend = BeforeSendOptions(
          policy: policy, beforeSend: beforeSend, rewriting: BeforeSendRewriting())
      }
      let parley = try Parley(store: store, clock: clock, options: options, metrics: metrics, logger: logger)
      beforeSend?.render(by: HookEvents(parley: parley))
      parley.grant(settings.privileges)
      let accounts = try openAccounts(parley, settings, folder, createsKeys: createsKeys, signIn)
      var backupBucket: (@Sendable () -> BackupBucket)?
      if let options = settings.backups.bucket {
        let authorities = settings.outgoing.authorities
        backupBucket = { BackupBucket(options, authorities: authorities, logger: logger) }
      }
      return Core(
        folder: folder, missingKeys: missingKeys, store: store, accounts: accounts, webPushKey: webPushKey,
        bucket: bucket,
        backup: DataBackup(
          parley, files: blobs?.store,
          bucket: backupBucket, folder: folder.path),
        follower: settings.backups.isReplicated ? try store.follower() : nil)
    } catch {
      throw folder.explained(refusal(error, folder))
    }
  }

  /// Returns the options that the settings alone determine.
  private static func coreOptions(_ settings: Settings, _ webPushKey: WebPush.Key) -> Parley.Options {
    var options = Parley.Options(domains: settings.domains.map(\.name))
    options.rooms = { name in settings.domains.first { $0.name == name }?.rooms ?? "conference.\(name)" }
    // A component at this domain is a pubsub service of its own.
    options.pubsub = { name in
      let domain = settings.domains.first { $0.name == name }?.pubsub
      return settings.components.contains { $0.name == domain } ? nil : domain
    }
    options.nodeCreators = settings.nodeCreators
    if let federation = settings.federation { options.giveUp = .seconds(federation.giveUpSeconds) }
    options.remotes = settings.components.map { ($0.name, $0.home) }
    options.admins = settings.admins
    options.reserved = Set(settings.reservedNames.keys)
    options.allowsInvitations = settings.allowsInvitations
    options.guests = settings.guests
    options.sending = settings.sending
    options.threads = settings.threads
    options.networks.isByNetwork = settings.boundsByNetwork
    options.networks.trusted = settings.trustedProxies
    options.services = settings.services
    options.callRinging = settings.callRinging
    options.addresses = PublicAddresses(exceptions: settings.outgoing.networks)
    options.pushes = settings.pushes.policy(webPushKey)
    options.retention = settings.retention
    return options
  }

  /// Returns the policy of uploads, and where they are kept; nil if this server takes none.
  private static func uploads(
    _ settings: Settings, _ folder: DataFolder, _ bucket: BucketStore?
  ) throws -> (policy: BlobPolicy, store: any BlobStore)? {
    guard let uploads = settings.uploads else { return nil }
    let policy = BlobPolicy(
      links: BlobLinks(base: settings.publicURL), bytesMax: uploads.bytesMax,
      userBytesMax: uploads.userBytesMax, userDayBytesMax: uploads.userDayBytesMax,
      lifetime: uploads.lifetime, endsWithMessages: uploads.endWithMessages,
      tools: BlobTools(thumbnails: uploads.thumbnails, scan: uploads.scan, folder: folder.blobs + "/new"))
    return (policy, try bucket ?? BlobFolder(folder.blobs) as any BlobStore)
  }

  private static func openAccounts(
    _ parley: Parley, _ settings: Settings, _ folder: DataFolder, createsKeys: Bool, _ signIn: SignInPolicy
  ) throws -> Accounts {
    var options = Accounts.Options()
    options.signIn = signIn
    options.tokenSecret = try folder.tokenSecret(creating: createsKeys)
    options.accountSecret = try folder.accountSecret(creating: createsKeys)
    options.registration = RegistrationPolicy(
      networkHourMax: settings.boundsByNetwork ? settings.networkAccountsPerHour : nil,
      proofBits: settings.registrationProofBits)
    options.exportForms = [AppExport(), AccountExport()]
    options.threads = settings.threads
    return Accounts(parley, options)
  }

  /// Returns the reason for the operator.
  private static func refusal(_ error: any Error, _ folder: DataFolder) -> StartupError {
    switch error {
    case let refusal as StartupError: refusal
    case let problem as Problem: StartupError(problem.text)
    case let failure as BlobFailure: StartupError(failure.description)
    // The description is one line for the operator: too new, full, locked, unwritable, damaged.
    case let failure as StoreFailure: StartupError(failure.description)
    default: StartupError("the database \(folder.database) cannot be opened: \(error)")
    }
  }

  package var parley: Parley { accounts.parley }

  /// Stops the core and closes the store; returns when all accepted posts are committed and their effects delivered.
  package func close(_ logger: Logger) async {
    await parley.stop()
    do { try store.close() } catch { logger.error("the database was not closed well", metadata: ["error": "\(error)"]) }
  }
}
