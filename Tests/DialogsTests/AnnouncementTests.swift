import Dialogs
import Testing

/// Announcements and messages of the day of a domain (XEP-0133 4.23, 4.24).
@Suite struct AnnouncementTests {
  @Test func theMessageOfTheDayIsForEachUserOnce() async throws {
    let stage = try Stage()
    let parley = stage.parley
    let romeo = try await stage.user("romeo")
    let realm = try #require(parley.realms.first)
    #expect(parley.messageOfTheDay(in: realm.id) == nil)

    try await parley.setMessageOfTheDay("No duels.", in: realm)
    let message = try #require(parley.messageOfTheDay(in: realm.id))
    // Of many that ask at once one is told.
    let claims = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask { (try? await parley.work { try Parley.claim(message, for: romeo.id, $0) }) ?? false }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(claims == 1)

    // A correction is not told again, a new message is.
    try await parley.setMessageOfTheDay("No duels at all.", again: false, in: realm)
    let corrected = try #require(parley.messageOfTheDay(in: realm.id))
    #expect(corrected.text == "No duels at all.")
    #expect(try await parley.work { try Parley.claim(corrected, for: romeo.id, $0) } == false)
    try await parley.setMessageOfTheDay("No balls.", in: realm)
    let next = try #require(parley.messageOfTheDay(in: realm.id))
    #expect(try await parley.work { try Parley.claim(next, for: romeo.id, $0) })
    try await parley.setMessageOfTheDay(nil, in: realm)
    #expect(parley.messageOfTheDay(in: realm.id) == nil)
  }

  @Test(arguments: ["", " \n ", String(repeating: "x", count: Limits.textCharactersMax + 1)])
  func aTextIsBounded(text: String) async throws {
    let stage = try Stage()
    let realm = try #require(stage.parley.realms.first)
    await #expect(throws: Problem.self) { try await stage.parley.setMessageOfTheDay(text, in: realm) }
    #expect(throws: Problem.self) { try stage.parley.announce(text, in: realm) }
  }
}
