import Addresses
import Basics
import Foundation
import HTTPPort
import Logging
import NIOEmbedded
import SQLiteStore
import Synchronization
import Testing

@testable import Accounts
@testable import AppDoor
@testable import Dialogs

/// Lists that may be long: their requests take a place, and one whose client has the list does not read it.
@Suite struct LongListTests {
  final class Scene: Sendable {
    let folder: URL
    let store: SQLiteStore
    let parley: Parley
    let door: AppDoor
    let romeo: Party
    let juliet: Party

    init() async throws {
      folder = FileManager.default.temporaryDirectory.appendingPathComponent("parley-lists-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      store = try SQLiteStore(path: folder.path + "/parley.db")
      let logger = Logger(label: "lists") { _ in SwiftLogNoOpLogHandler() }
      let parley = try Parley(
        store: store, clock: SystemClock(), options: Parley.Options(domains: ["localhost"]), logger: logger)
      self.parley = parley
      door = AppDoor(
        accounts: Accounts(parley), settings: AppDoor.Settings(version: "0", registration: false, publicURL: nil),
        loops: NIOAsyncTestingEventLoop(), lane: { _ in Lane { $0() } }, nextSessionID: { SessionID(1) },
        logger: logger)
      romeo = try await Self.user("romeo", parley)
      juliet = try await Self.user("juliet", parley)
    }

    deinit {
      try? store.close()
      try? FileManager.default.removeItem(at: folder)
    }

    private static func user(_ name: String, _ parley: Parley) async throws -> Party {
      let (address, realm, now) = (try BareJID("\(name)@localhost"), parley.realms[0].id, parley.clock.now)
      let user = try await parley.work {
        try $0.insertUser(address, in: realm, profile: Profile(displayName: name), createdAt: now)
      }
      return Party(id: user.id, realm: user.realm, address: user.address)
    }

    /// Returns what a user is answered, Romeo if it is `nil`, and whether the request has a place.
    func ask(
      _ operation: OperationEntry, _ parameters: [String: String] = [:], holding held: String? = nil,
      by user: Party? = nil
    ) async throws -> (answer: OperationEntry.Answer, hasPlace: Bool) {
      let user = user ?? romeo
      let place = ReadPlace(door.readPlaces, for: .user(user.id))
      defer { place.end() }
      let call = RequestContext(
        door: door, caller: Accounts.Caller(user: user, grant: 1, device: "phone"), realm: parley.realms[0],
        address: "192.0.2.1", host: nil, isSecure: true, readPlace: place, isHeld: { $0 == held },
        whenClientLeaves: { _ in })
      var input = OperationInput()
      input.parameters = parameters
      let answer = try await operation.perform(input, call)
      return (answer, place.isTaken.withLock { $0 })
    }
  }

  @Test func aLongListTakesAPlace() async throws {
    let scene = try await Scene()
    let lists: [(OperationEntry, [String: String])] = [
      (OperationEntry(ListContacts.self), [:]), (OperationEntry(ListBlocks.self), [:]),
      (OperationEntry(ListUsers.self), [:]), (OperationEntry(ListUsers.self), ["ids": "juliet"]),
    ]
    for (operation, parameters) in lists {
      let asked = try await scene.ask(operation, parameters)
      #expect(asked.hasPlace, "\(operation.name) \(parameters)")
    }
  }

  /// Requests that came together were let in before the first of them was charged.
  @Test func aRequestWhoseUserOwesStanzasByItsTurnIsRefused() async throws {
    let scene = try await Scene()
    let (parley, search) = (scene.parley, OperationEntry(SearchMessages.self))
    _ = try await scene.ask(search, ["query": "light"])
    let now = parley.clock.now
    // More than come back while the test runs.
    parley.sending.budget(of: scene.romeo, from: nil, now: now).owe(stanzas: 1_000_000, now: now)
    let problem = await #expect(throws: Problem.self) { _ = try await scene.ask(search, ["query": "light"]) }
    #expect(problem?.code == "requests-too-fast")
    _ = try await scene.ask(search, ["query": "light"], by: scene.juliet)
  }

  private func tag(of answer: OperationEntry.Answer) -> String? {
    if case .json(_, _, let tag) = answer { tag } else { nil }
  }

  /// The tag changes with whatever the list shows, and the list is not read for whoever has it.
  @Test func whoHasTheContactsDoesNotReadThem() async throws {
    let scene = try await Scene()
    let (parley, romeo, juliet) = (scene.parley, scene.romeo, scene.juliet)
    let (nurse, realm) = (try BareJID("nurse@elsewhere.example"), parley.realms[0].id)
    let both = [romeo.address, juliet.address]
    let sales = ContactGroupIntent.put(realm, name: "sales", displayName: nil, hasEveryone: nil)
    try await parley.post(.contactGroup(sales), by: Parley.nobody)
    let changes: [(Intent, Party)] = [
      (.contact(address: nurse, name: nil, groups: []), romeo),
      (.contact(address: nurse, name: "Nurse", groups: []), romeo),
      (.contact(address: nurse, name: "Nurse", groups: ["Verona"]), romeo),
      // A request is no item of the roster.
      (.subscription(.subscribe, to: romeo.address, stanza: nil), juliet),
      (.subscription(.unsubscribe, to: romeo.address, stanza: nil), juliet),
      (.removeContact(nurse), romeo),
      (.contactGroup(.change(realm, name: "sales", adding: both, removing: [])), Parley.nobody),
      (.contactGroup(.put(realm, name: "sales", displayName: "Sales", hasEveryone: nil)), Parley.nobody),
      (.contactGroup(.delete(realm, name: "sales")), Parley.nobody),
    ]
    let list = OperationEntry(ListContacts.self)
    var tags: Set<String> = []
    for step in 0...changes.count {
      let whole = try await scene.ask(list)
      let tag = try #require(self.tag(of: whole.answer))
      #expect(tags.insert(tag).inserted, "step \(step)")
      let held = try await scene.ask(list, holding: tag)
      if case .held(let known) = held.answer {
        #expect(known == tag && !held.hasPlace, "step \(step)")
      } else {
        Issue.record("step \(step): the list is read")
      }
      if step < changes.count { try await parley.post(changes[step].0, by: changes[step].1) }
    }
  }

  /// The members of a contact group have the same version, and lists that differ: a browser where one logs in after the other
  /// sends the tag of the first.
  @Test func aTagIsOfOneUser() async throws {
    let scene = try await Scene()
    let (parley, realm) = (scene.parley, scene.parley.realms[0].id)
    let both = [scene.romeo.address, scene.juliet.address]
    let intents: [ContactGroupIntent] = [
      .put(realm, name: "sales", displayName: nil, hasEveryone: nil),
      .change(realm, name: "sales", adding: both, removing: []),
    ]
    for intent in intents { try await parley.post(.contactGroup(intent), by: Parley.nobody) }
    let (romeo, juliet) = (scene.romeo.id, scene.juliet.id)
    let versions = try await parley.read { [try $0.rosterVersion(of: romeo), try $0.rosterVersion(of: juliet)] }
    #expect(versions[0] == versions[1])
    let list = OperationEntry(ListContacts.self)
    let first = try await scene.ask(list)
    let tag = try #require(self.tag(of: first.answer))
    let second = try await scene.ask(list, holding: tag, by: scene.juliet)
    guard case .json(_, let bytes, let other) = second.answer else {
      Issue.record("Juliet is answered that she has Romeo's list")
      return
    }
    #expect(other != tag)
    #expect(String(decoding: bytes, as: UTF8.self).contains("romeo@localhost"))
  }
}
