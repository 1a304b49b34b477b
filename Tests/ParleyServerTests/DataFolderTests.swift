import Basics
import Foundation
import Glibc
import ServerConfiguration
import ServerFixtures
import Testing

@testable import ParleyServer

@Suite struct DataFolderTests {
  @Test func oneHolderAtATime() async throws {
    try await withScratchFolder { scratch in
      let path = scratch + "/deep/data"
      do {
        let folder = try await DataFolder.hold(path, for: .serving)
        #expect(folder.isNew)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o700)
        let refusal = await #expect(throws: StartupError.self) { _ = try await DataFolder.hold(path, for: .serving) }
        #expect(refusal?.status == .failure)
        #expect(
          refusal?.lines == [
            "the data folder \(path) is in use by another process (\(getpid())); stop it, or set data to another folder"
          ])
        withExtendedLifetime(folder) {}
      }
      _ = try openFolder(path)
    }
  }

  @Test func aServerWaitsForACommandThatIsUnderWay() async throws {
    try await withScratchFolder { folder in
      var command: DataFolder? = try openFolder(folder, for: .command)
      #expect(command != nil)
      async let server = DataFolder.hold(folder, for: .serving)
      command = nil
      #expect(try await server.path == folder)
    }
  }

  /// A command of root on the data folder of a server that is stopped: the server's user must be able to open all of it.
  /// Only root can give files away; the folder of another user's test belongs to that user already.
  @Test func whatRootCreatesBelongsToTheOwnerOfTheFolder() async throws {
    try await withScratchFolder { scratch in
      let settings = try testSettings(scratch)
      let path = settings.data
      try Files.makeFolder(path, mode: 0o700)
      let owner = geteuid() == 0 ? (user: 65_534, group: 65_533) : (user: Int(geteuid()), group: Int(getegid()))
      #expect(chown(path, uid_t(owner.user), gid_t(owner.group)) == 0)
      let core = try Core.open(settings, openFolder(path), logger: quiet)
      await core.close(quiet)
      var count = 0
      for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
        let found = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
        #expect(found[.ownerAccountID] as? Int == owner.user, "\(name)")
        #expect(found[.groupOwnerAccountID] as? Int == owner.group, "\(name)")
        count += 1
      }
      // The lock, the database, keys, and the folders of files.
      #expect(count > 256)
    }
  }

  @Test func aPlaceThatCannotBeWrittenIsTold() throws {
    let refusal = try #require(throws: StartupError.self) { _ = try openFolder("/proc/parley") }
    #expect(refusal.lines[0].hasPrefix("the data folder /proc/parley cannot be created: "))
    try withScratchFolder { folder in
      try Files.write([], to: folder + "/file", mode: 0o600)
      let refusal = try #require(throws: StartupError.self) { _ = try openFolder(folder + "/file/data") }
      #expect(
        refusal.lines == ["the data folder \(folder)/file/data cannot be created: a part of the path is not a folder"])
    }
  }
}
