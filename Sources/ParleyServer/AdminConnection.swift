import Accounts
import Addresses
package import Administration
package import Basics
import Dialogs
import Glibc
import Logging
import SQLiteStore
package import ServerConfiguration

/// A command's access to the data: through the running server that holds the data folder, by opening the folder if none
/// runs, or through a server elsewhere. The operations are the same.
package final class AdminConnection: Sendable {
  private enum Way: Sendable {
    case server(AdminClient)
    case folder(Core, AdminContext, Logger)
    case remote(RemoteClient)
  }

  private let way: Way
  let folder: String
  /// Whether the folder is removed at the end.
  private let isTemporary: Bool

  private init(_ way: Way, folder: String, isTemporary: Bool = false) {
    self.way = way
    self.folder = folder
    self.isTemporary = isTemporary
  }

  /// Opens a connection, and waits a while for a folder that another command holds or for a server that is starting.
  ///
  /// - Parameter creating: Whether a missing database is created, as an import does; otherwise it is an error, since a
  ///   command that is run in another folder than the server would work on data that no server has.
  package static func open(_ settings: Settings, creating: Bool = false) async throws(StartupError) -> AdminConnection {
    if !creating, !DataFolder.isUsed(settings.data) { throw noData(settings) }
    let client = AdminClient(path: settings.adminSocket)
    let end = ContinuousClock.now + ServerLimits.lockWait
    var other: String?
    while true {
      switch try DataFolder.open(settings.data, for: .command) {
      case .opened(let folder):
        if !creating, folder.isNew { throw noData(settings) }
        let logger = ServerLog(level: .warning).logger("parley")
        let core = try Core.open(settings, folder, createsKeys: false, logger: logger)
        return AdminConnection(.folder(core, context(core, settings), logger), folder: settings.data)
      case .held(let holder):
        switch await listener(client, settings) {
        case .ofFolder: return AdminConnection(.server(client), folder: settings.data)
        case .ofOther(let folder): other = folder
        case .none: other = nil
        }
        guard ContinuousClock.now < end else {
          throw StartupError(
            "the data folder \(settings.data) is in use by another process"
              + (holder.map { " (\($0.process))" } ?? "") + ", which does not answer at \(settings.adminSocket)"
              + (other.map { ": the server there has the data folder \($0)" } ?? ""))
        }
        try? await Task.sleep(for: ServerLimits.lockPollInterval)
      }
    }
  }

  private static func context(_ core: Core, _ settings: Settings) -> AdminContext {
    AdminContext(
      accounts: core.accounts, startedAt: SystemClock.now, publicURL: settings.pages, backups: core.backup
    )
    .acting(AuditActor(.folder, name: "uid \(getuid())", origin: "process \(getpid())"))
  }

  /// Opens a copy of the database, whether a server uses it or not, or an empty one if there is none. What is done there
  /// leaves nothing behind: `close` removes the copy, and the data folder stays as it is.
  ///
  /// - Parameters:
  ///   - creating: Whether a missing database is an empty one; otherwise it is an error.
  ///   - cancellation: Ends the copying, which takes long for a large database.
  package static func copy(
    of settings: Settings, creating: Bool = true, until cancellation: Cancellation
  ) throws(StartupError) -> AdminConnection {
    if !creating, !DataFolder.isUsed(settings.data) { throw noData(settings) }
    let copy = try temporaryFolder()
    do throws(StartupError) {
      try copyDatabase(of: settings, into: copy, until: cancellation)
      guard case .opened(let folder) = try DataFolder.open(copy, for: .command) else {
        throw StartupError("the temporary folder \(copy) is in use by another process")
      }
      let logger = ServerLog(level: .warning).logger("parley")
      let core = try Core.open(settings, folder, createsKeys: false, logger: logger)
      return AdminConnection(.folder(core, context(core, settings), logger), folder: copy, isTemporary: true)
    } catch {
      Folder.remove(copy)
      throw error
    }
  }

  /// Creates a folder that only this user can enter, where the engine's temporary files are, too.
  private static func temporaryFolder() throws(StartupError) -> String {
    let variables: [String] = ["SQLITE_TMPDIR", "TMPDIR"]
    let named = variables.compactMap { name in getenv(name).map { String(cString: $0) } }
    let outer = named.first { !$0.isEmpty } ?? "/var/tmp"
    var name = Array("\(outer)/parley-copy-XXXXXX".utf8CString)
    let made = name.withUnsafeMutableBufferPointer { buffer -> String? in
      guard let start = buffer.baseAddress, let path = mkdtemp(start) else { return nil }
      return String(cString: path)
    }
    guard let made else {
      throw StartupError(
        "a temporary folder in \(outer) cannot be created: \(Files.reason(errno)); TMPDIR names another")
    }
    return made
  }

  private static func copyDatabase(
    of settings: Settings, into folder: String, until cancellation: Cancellation
  ) throws(StartupError) {
    let database = DataFolder.database(of: settings.data)
    do {
      if try Files.isMissing(database) { return }
      try SQLiteStore.copy(
        database, to: DataFolder.database(of: folder), isShared: DataFolder.server(of: settings.data) != nil,
        isReplicated: settings.backups.isReplicated, until: cancellation)
    } catch let failure as Files.Failure {
      throw StartupError(
        "\(database) cannot be read: \(failure.reason)"
          + DataFolder.remedy(failure.code, settings.data, in: settings.data))
    } catch StoreFailure.full {
      throw StartupError(
        "no space is left for a copy of \(database) in \(folder); set TMPDIR to a folder on a larger disk")
    } catch let failure as StoreFailure {
      if cancellation.isSet { throw StartupError("the copying of \(database) was interrupted") }
      throw DataFolder.explained(StartupError(failure.description), in: settings.data)
    } catch {
      throw StartupError("\(database) cannot be copied: \(error)")
    }
  }

  /// Returns the error of a command for which there are no data.
  ///
  /// - Parameter unit: The installed unit. Its server makes its own data folder, for the right user.
  static func noData(_ settings: Settings, _ unit: ServiceUnit? = ServiceUnit.installed()) -> StartupError {
    let isOfUnit = unit.map { unit in
      let data = unit.variables[Keys.shared.data.environmentName].map { Files.absolute($0) }
      return unit.starts(settings.file) && (data ?? settings.data) == settings.data
    }
    let maker = isOfUnit == true ? "sudo systemctl start parley" : "parley serve or parley init"
    return StartupError(
      (Files.exists(settings.data) ? "there is no database in the" : "there is no") + " data folder \(settings.data); "
        + "\(maker) makes it, or set data to the one that is meant")
  }

  /// Creates a connection to a server elsewhere, with an app key. The first call connects.
  ///
  /// - Parameters:
  ///   - keySource: The file or the variable that has the key, for errors.
  ///   - authorities: A PEM file of authorities that are trusted besides the system's.
  package static func remote(
    _ url: String, key: String, keySource: String, authorities: String?
  ) throws(StartupError) -> AdminConnection {
    let logger = ServerLog(level: .warning).logger("parley")
    let client = try RemoteClient(
      url: url, key: key, keySource: keySource, authorities: authorities, logger: logger)
    return AdminConnection(.remote(client), folder: "")
  }

  private static func noServer(_ folder: String) -> String {
    "no server is running on the data folder \(folder); start it (systemctl start parley, or parley serve), "
      + "or set data to the folder of the one that runs"
  }

  /// Returns a connection to the running server.
  ///
  /// - Throws: A `StartupError` with the reason why none answers and the next step.
  package static func running(_ settings: Settings) async throws(StartupError) -> AdminConnection {
    let client = AdminClient(path: settings.adminSocket)
    let socket = settings.adminSocket
    switch await listener(client, settings) {
    case .ofFolder: return AdminConnection(.server(client), folder: settings.data)
    case .ofOther(let folder):
      throw StartupError(
        "the server at \(socket) has the data folder \(folder), and \(settings.data) is named: leave that out to reach "
          + "this server, or set admin.socket to the socket of the other one")
    case .none: break
    }
    let reason: String
    if access(socket, W_OK) != 0, errno == EACCES {
      let owner = SystemUser.owner(of: socket) ?? SystemUser.owner(of: settings.data)
      reason = "permission denied; use the command as the server's user" + (owner.map { ", \($0.name)" } ?? "")
    } else if let holder = DataFolder.server(of: settings.data) {
      reason =
        "process \(holder) runs on the data folder \(settings.data), and has another admin.socket, is starting, or is "
        + "stopping; its log says more (journalctl -u parley)"
    } else if !DataFolder.isUsed(settings.data) {
      reason = noData(settings).description
    } else {
      reason = noServer(settings.data)
    }
    throw StartupError("no server answers at \(socket): \(reason)")
  }

  /// Returns a connection to a running server; nil if none is running on the data folder.
  package static func server(_ settings: Settings) async -> AdminConnection? {
    let client = AdminClient(path: settings.adminSocket)
    guard case .ofFolder = await listener(client, settings) else { return nil }
    return AdminConnection(.server(client), folder: settings.data)
  }

  /// Returns why the operator should look at addresses and domains that the configuration names, and at key files. Where no
  /// server runs, the data folder is read and not changed: neither its lock is taken nor its schema migrated. A folder that
  /// cannot be read so is a doubt about the addresses only, which somebody has written; the log of the next start names the
  /// rest.
  package static func doubts(_ settings: Settings) async -> [String] {
    let (names, domains) = (settings.reservedNames, settings.domains.map(\.name))
    let checked = names.isEmpty ? "The users in the data folder" : "The accounts of \(keys(names))"
    let file = DataFolder.database(of: settings.data)
    do {
      if let running = await server(settings) {
        let input = CheckNames.Input(
          names: Dictionary(uniqueKeysWithValues: names.map { ($0.key.description, $0.value) }), domains: domains)
        return try await running.call(CheckNames.self, input) + KeyFiles.removed(from: settings.data)
      }
      if try Files.isMissing(file) {
        return names.map { Accounts.Doubt($0.key, namedBy: $0.value, .missing).text }.sorted()
      }
      let found = try SQLiteStore.look(at: file) {
        try Accounts.doubts(about: names, $0).map(\.text) + Accounts.unserved(besides: domains, $0)
          + KeyFiles.doubts(in: settings.data, $0)
      }
      if let found { return found }
      if names.isEmpty { return [] }
      return ["\(checked) were not checked: the data folder is of an earlier release. The next start checks them."]
    } catch let failure as Files.Failure {
      // Users who may not enter the folder check the configuration alone.
      if failure.code == EACCES, names.isEmpty { return [] }
      return ["\(checked) could not be checked: \(failure.path): \(failure.reason)"]
    } catch {
      return ["\(checked) could not be checked: \(error)"]
    }
  }

  private static func keys(_ names: [BareJID: String]) -> String { Set(names.values).sorted().joined(separator: ", ") }

  /// The server that listens at the admin socket: of the data folder that is meant, or of another one.
  private enum Listener {
    case none, ofFolder
    case ofOther(String)
  }

  /// Returns the server that listens. One that answers with failures counts as that of the folder, since it holds the
  /// folder. It is another one's only if the configuration names both a data folder and a socket: otherwise the socket is
  /// in the folder, or whichever server is at the socket is meant.
  private static func listener(_ client: AdminClient, _ settings: Settings) async -> Listener {
    let served: ServedFolder?
    do {
      served = try await client.folder()
    } catch AdminClient.Failure.absent {
      return .none
    } catch {
      return .ofFolder
    }
    let origin = settings.effective.first { $0.key == Keys.shared.data.name }?.origin
    guard let folder = served, settings.adminSocket != settings.data + "/admin.sock",
      origin != Origin.standard.description, !folder.isSame(as: ServedFolder(settings.data))
    else { return .ofFolder }
    return .ofOther(folder.path)
  }

  /// Calls an operation.
  ///
  /// - Throws: A `Problem` if the operation was refused, a `StartupError` if it could not be called.
  package func call<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: Operation.Input
  ) async throws -> Operation.Output {
    switch way {
    case .remote(let client): return try await client.call(operation, input)
    case .folder(_, let context, _):
      if operation.needsServer { throw StartupError(Self.noServer(folder)) }
      return try await context.perform(operation, input)
    case .server(let client):
      do {
        return try await client.call(operation, input)
      } catch AdminClient.Failure.absent {
        throw StartupError("the server of \(folder) is gone")
      } catch AdminClient.Failure.broken(let reason) {
        throw StartupError("the server of \(folder) does not answer as expected: \(reason)")
      }
    }
  }

  package func close() async {
    if case .folder(let core, _, let logger) = way { await core.close(logger) }
    if isTemporary { Folder.remove(folder) }
  }
}
