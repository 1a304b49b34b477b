import Dialogs
import DialogsFixtures
import Testing

/// Announcements and messages of the day of a domain (XEP-0133 4.23, 4.24).
@Suite struct AnnouncementTests {
  @Test func theMessageOfTheDayIsForEachUserOnce() async throws {
    let stage = try Stage()
    let parley = stage.parley
    let romeo = try await stage.user("romeo")
    let realm = try #require(parley.realms.first)
    #expect(Announcements(parley).messageOfTheDay(in: realm.id) == nil)

    try await Announcements(parley).setMessageOfTheDay("No duels.", in: realm)
    let message = try #require(Announcements(parley).messageOfTheDay(in: realm.id))
    // One of many concurrent requests gets the announcement.
    let claims = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask { (try? await parley.work { try Announcements.claim(message, for: romeo.id, $0) }) ?? false }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(claims == 1)

    // A correction is not told again, a new message is.
    try await Announcements(parley).setMessageOfTheDay("No duels at all.", again: false, in: realm)
    let corrected = try #require(Announcements(parley).messageOfTheDay(in: realm.id))
    #expect(corrected.text == "No duels at all.")
    #expect(try await parley.work { try Announcements.claim(corrected, for: romeo.id, $0) } == false)
    try await Announcements(parley).setMessageOfTheDay("No balls.", in: realm)
    let next = try #require(Announcements(parley).messageOfTheDay(in: realm.id))
    #expect(try await parley.work { try Announcements.claim(next, for: romeo.id, $0) })
    try await Announcements(parley).setMessageOfTheDay(nil, in: realm)
    #expect(Announcements(parley).messageOfTheDay(in: realm.id) == nil)
  }

  @Test(arguments: ["", " \n ", String(repeating: "x", count: Limits.textCharactersMax + 1)])
  func aTextIsBounded(text: String) async throws {
    let stage = try Stage()
    let realm = try #require(stage.parley.realms.first)
    await #expect(throws: Problem.self) { try await Announcements(stage.parley).setMessageOfTheDay(text, in: realm) }
    #expect(throws: Problem.self) { try Announcements(stage.parley).send(text, in: realm) }
  }
}
