import Addresses
import Administration
import Basics
import Dialogs
import Foundation
import NIOPosix
import ServerConfiguration
import ServerFixtures
import Testing

@testable import ParleyServer

/// The two ways of a command to the data: the server's socket, and the folder itself.
@Suite struct AdminConnectionTests {
  private func problem(_ body: () async throws -> Void) async throws -> Problem {
    do {
      try await body()
    } catch let problem as Problem {
      return problem
    }
    throw StartupError("no problem")
  }

  @Test func theSocketAnswersAsTheFolderDoes() async throws {
    try await withCore { _, context, settings in
      let socket = try await AdminSocket.listen(
        at: settings.adminSocket, of: settings.data, group: MultiThreadedEventLoopGroup.singleton, context: context,
        logger: quiet)
      let mode = try FileManager.default.attributesOfItem(atPath: settings.adminSocket)[.posixPermissions]
      #expect(mode as? Int == 0o600)

      // The lock is held, so that the command goes to the server.
      let administration = try await AdminConnection.open(settings)
      let added = try await administration.call(
        AddUser.self, AddUser.Input(jid: "alice@localhost", password: "secret", name: "Ä \"quoted\""))
      #expect(added.name == "Ä \"quoted\"")
      let again = try await problem {
        _ = try await administration.call(
          AddUser.self, AddUser.Input(jid: "alice@localhost", password: "secret", name: nil))
      }
      #expect(again.kind == .conflict)
      #expect(again.code == "name-taken")
      let status = try await administration.call(ServerStatus.self, Empty())
      #expect(status.users == 1)
      #expect(status.domains == ["localhost"])
      #expect(status.accepting)
      await administration.close()
      await socket.close()
      #expect(await AdminConnection.server(settings) == nil)
      // The lock names this process as a server, and it is no program of the name: another one has the number.
      #expect(DataFolder.server(of: settings.data) == nil)
    }
  }

  /// A command that names a data folder does not act on the server of another one, whose socket the configuration has.
  @Test func theServerOfAnotherFolderIsNotReached() async throws {
    try await withScratchFolder { folder in
      func settings(_ data: String) throws -> Settings {
        try testSettings(folder, ["data": "\(folder)/\(data)", "admin.socket": "\(folder)/admin.sock"])
      }
      let (here, other, linked) = (try settings("here"), try settings("other"), try settings("linked"))
      let core = try Core.open(here, openFolder(here.data), logger: quiet)
      let context = AdminContext(accounts: core.accounts, startedAt: core.parley.clock.now)
      let socket = try await AdminSocket.listen(
        at: here.adminSocket, of: here.data, group: MultiThreadedEventLoopGroup.singleton, context: context,
        logger: quiet)
      // Another name of the same folder.
      try FileManager.default.createSymbolicLink(atPath: linked.data, withDestinationPath: here.data)
      for settings in [here, linked] {
        let connection = try await AdminConnection.running(settings)
        #expect(try await users(connection) == 0)
        await connection.close()
      }
      let refusal = await #expect(throws: StartupError.self) { _ = try await AdminConnection.running(other) }
      #expect(refusal?.lines[0].contains("has the data folder \(here.data), and \(other.data) is named") == true)
      #expect(await AdminConnection.server(other) == nil)
      try await opened(other, creating: true) { try await add("alice", $0) }
      #expect(try await context.perform(ServerStatus.self, Empty()).users == 0)
      await socket.close()
      await core.close(quiet)
    }
  }

  /// A command in another container than the server sees another folder under the name that both use.
  @Test func aFolderIsTheSameByItsNameOrByItsPlace() throws {
    try withScratchFolder { folder in
      let (path, moved, other) = ("\(folder)/data", "\(folder)/moved", "\(folder)/other")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      let served = ServedFolder(path)
      try FileManager.default.moveItem(atPath: path, toPath: moved)
      for path in [path, other] {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      }
      let same = [path, moved, other, "\(folder)/none"].map { served.isSame(as: ServedFolder($0)) }
      #expect(same == [true, true, false, false])
    }
  }

  /// Where the server is installed, a command of root that made the folder would not be the way.
  @Test func theInstalledServerMakesItsDataFolder() throws {
    try withScratchFolder { folder in
      let (file, data) = (folder + "/parley.yaml", folder + "/data")
      try Files.write([], to: file, mode: 0o644)
      func refusal(_ folder: String, _ unit: ServiceUnit?) throws -> String {
        let arguments = SettingsArguments(file: file, values: [("data", folder, "--data")])
        let settings = try Settings.load(arguments, environment: [:], standardFiles: [])
        return AdminConnection.noData(settings, unit).lines[0]
      }
      let unit = ServiceUnit([
        "[Service]\nExecStart=/usr/bin/parley serve --config \(file)\nEnvironment=PARLEY_DATA=\(data)\n"
      ])
      let maker = "there is no data folder \(data); sudo systemctl start parley makes it"
      #expect(try refusal(data, unit).hasPrefix(maker))
      for (folder, unit) in [(folder + "/other", unit), (data, nil)] as [(String, ServiceUnit?)] {
        #expect(try refusal(folder, unit).contains("; parley serve or parley init makes it"))
      }
    }
  }

  @Test func aCommandWithoutADataFolderSaysSo() async throws {
    try await withScratchFolder { folder in
      let settings = try testSettings(folder)
      let refusal = await #expect(throws: StartupError.self) { _ = try await AdminConnection.open(settings) }
      #expect(refusal?.lines[0].hasPrefix("there is no data folder \(folder)/data") == true)
      #expect(!FileManager.default.fileExists(atPath: folder + "/data"))

      // Neither does a folder of something else get a database.
      try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: false)
      let other = await #expect(throws: StartupError.self) { _ = try await AdminConnection.open(settings) }
      #expect(other?.lines[0].hasPrefix("there is no database in the data folder \(folder)/data") == true)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/data") == [])
      // A lock is what a start leaves that failed before the database was there.
      _ = try openFolder(settings.data)
      let failed = await #expect(throws: StartupError.self) { _ = try await AdminConnection.open(settings) }
      #expect(failed?.lines == other?.lines)

      do {
        let importing = try await AdminConnection.open(settings, creating: true)
        await importing.close()
      }
      let known = try await AdminConnection.open(settings)
      await known.close()
    }
  }

  private func add(_ name: String, _ connection: AdminConnection) async throws {
    _ = try await connection.call(
      AddUser.self, AddUser.Input(jid: "\(name)@localhost", password: "secret words", name: nil))
  }

  private func users(_ connection: AdminConnection) async throws -> Int {
    try await connection.call(ServerStatus.self, Empty()).users
  }

  /// What is tried on a copy is decided by what is here, and leaves nothing behind.
  @Test func aCopyOfTheDataChangesNothing() async throws {
    try await withScratchFolder { folder in
      let settings = try testSettings(folder)
      let empty = try AdminConnection.copy(of: settings, until: Cancellation())
      try await add("alice", empty)
      #expect(try await users(empty) == 1)
      #expect(empty.folder != settings.data && FileManager.default.fileExists(atPath: empty.folder))
      await empty.close()
      #expect(!FileManager.default.fileExists(atPath: empty.folder))
      #expect(!FileManager.default.fileExists(atPath: settings.data))

      try await opened(settings, creating: true) { try await add("alice", $0) }
      let before = try FileManager.default.contentsOfDirectory(atPath: settings.data).sorted()
      let copy = try AdminConnection.copy(of: settings, until: Cancellation())
      let taken = try await problem { try await add("alice", copy) }
      #expect(taken.code == "name-taken")
      try await add("bob", copy)
      #expect(try await users(copy) == 2)
      await copy.close()
      #expect(try FileManager.default.contentsOfDirectory(atPath: settings.data).sorted() == before)
      #expect(try await opened(settings) { try await users($0) } == 1)
    }
  }

  /// A mistake in the domain is found without a server and by one that runs with it, where nobody could log in.
  @Test func usersOfADomainThatIsNotServedAreNamed() async throws {
    try await withScratchFolder { folder in
      let right = try testSettings(folder, ["domain": "chat.example.org"])
      #expect(await AdminConnection.doubts(right) == [])
      for name in ["alice", "bob"] {
        try await opened(right, creating: true) { connection in
          _ = try await connection.call(
            AddUser.self, AddUser.Input(jid: "\(name)@chat.example.org", password: "secret words", name: nil))
        }
      }
      #expect(await AdminConnection.doubts(right) == [])
      let listed = try testSettings(folder, ["domain": "other.example", "domains": "chat.example.org"])
      #expect(await AdminConnection.doubts(listed) == [])

      let wrong = try testSettings(folder, ["domain": "chat.exmaple.org"])
      let doubt =
        "The data folder has 2 users of chat.example.org, which is not served: it is neither domain (chat.exmaple.org) nor "
        + "one of domains. They cannot log in. Correct domain, or add chat.example.org to domains."
      #expect(await AdminConnection.doubts(wrong) == [doubt])
      let core = try Core.open(wrong, openFolder(wrong.data), logger: quiet)
      let context = AdminContext(accounts: core.accounts, startedAt: core.parley.clock.now)
      let socket = try await AdminSocket.listen(
        at: wrong.adminSocket, of: wrong.data, group: MultiThreadedEventLoopGroup.singleton, context: context,
        logger: quiet)
      let ofServer = await AdminConnection.doubts(wrong)
      let ofOther = await AdminConnection.doubts(right)
      let status = try await context.perform(ServerStatus.self, Empty())
      await socket.close()
      await core.close(quiet)
      #expect(ofServer == [doubt])
      // What is checked is the configuration of the check. The domain with the mistake has no users.
      #expect(ofOther == [])
      #expect(status.unserved == [doubt] && status.users == 0)
    }
  }

  /// Keys are for the server. A restored folder that is looked at stays without them until their copies are put there.
  @Test func aCommandCreatesNoKeys() async throws {
    try await withScratchFolder { folder in
      let settings = try testSettings(folder)
      func keys() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: settings.data).filter { $0.hasSuffix(".key") }.sorted()
      }
      try await opened(settings, creating: true) { try await add("alice", $0) }
      #expect(try await opened(settings) { try await users($0) } == 1)
      #expect(try keys() == [])
      // A first start has nothing to report, as nothing was made with other keys.
      #expect(try await started(settings) { try await $0.keyDoubts() } == [])
      #expect(try keys() == ["accounts.key", "tokens.key", "webpush.key"])
    }
  }

  @Test func aKeyThatDoesNotFitWhatIsStoredIsReported() async throws {
    try await withScratchFolder { folder in
      let settings = try testSettings(folder)
      let foreign = "accounts.key in the data folder is not the key"
      // The file may be the right one again while the server runs.
      let read =
        "in the data folder at its start is not the one with which they were set up, and it does not read a copy"
      let address = try BareJID(local: "alice", domain: "localhost")
      try await opened(settings, creating: true) { try await add("alice", $0) }
      let status = try await started(settings) { core in
        let user = try #require(try await core.parley.read { try $0.user(address) }).id
        let factor = SecondFactor(
          user: user, sealedSecret: [1], isOn: true, lastStep: 0, createdAt: core.parley.clock.now)
        let device = PushDevice(
          id: "browser", provider: .webpush, token: "https://push.example/1", registeredAt: core.parley.clock.now)
        let registration = PushRegistration(
          user: user, target: .device(device), resource: "", pushed: .zero, enabled: .zero)
        try await core.parley.work { writer in
          _ = try writer.put(factor)
          try writer.put(registration)
        }
        let context = AdminContext(accounts: core.accounts, startedAt: core.parley.clock.now)
        return try await context.perform(ServerStatus.self, Empty())
      }
      #expect(status.lostSecondFactors?.contains(read) == true)
      let present = await AdminConnection.doubts(settings)
      #expect(present.count == 1 && present.first?.contains(foreign) == true)
      for name in ["accounts.key", "webpush.key"] {
        try FileManager.default.removeItem(atPath: "\(settings.data)/\(name)")
      }
      let missing = await AdminConnection.doubts(settings)
      #expect(missing.count == 2)
      #expect(missing.first?.contains("accounts.key is missing in the data folder") == true)
      #expect(missing.last?.hasPrefix("1 device gets no Web Push") == true)
      #expect(KeyFiles.removed(from: settings.data).count == 2)
      // The start says what it has created, and the next one what does not fit.
      let first = try await started(settings) { try await $0.keyDoubts() }
      #expect(first.count == 2 && first.allSatisfy { $0.contains("this start has created another") })
      #expect(KeyFiles.removed(from: settings.data) == [])
      let second = try await started(settings) { try await $0.keyDoubts() }
      #expect(second.count == 1 && second.first?.contains(read) == true)
    }
  }

  /// Opens the core as a server does for the body alone: the end of its life frees the lock.
  private func started<Result: Sendable>(
    _ settings: Settings, _ body: (Core) async throws -> Result
  ) async throws -> Result {
    let core = try Core.open(settings, openFolder(settings.data), logger: quiet)
    let result = try await body(core)
    await core.close(quiet)
    return result
  }

  /// Opens the data folder for the body alone: the end of the connection's life frees the lock.
  private func opened<Result: Sendable>(
    _ settings: Settings, creating: Bool = false, _ body: (AdminConnection) async throws -> Result
  ) async throws -> Result {
    let connection = try await AdminConnection.open(settings, creating: creating)
    let result = try await body(connection)
    await connection.close()
    return result
  }

  @Test func aCopyIsMadeWhileTheServerUsesTheData() async throws {
    try await withCore { core, context, settings in
      _ = try await context.perform(
        AddUser.self, AddUser.Input(jid: "alice@localhost", password: "secret words", name: nil))
      let copy = try AdminConnection.copy(of: settings, until: Cancellation())
      try await add("bob", copy)
      #expect(try await users(copy) == 2)
      await copy.close()
      #expect(try await context.perform(ServerStatus.self, Empty()).users == 1)
    }
  }
}
