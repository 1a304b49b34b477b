import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Accounts
@testable import Dialogs

/// Tests of what others see of a user, and of who finds them.
@Suite struct UserSettingsTests {
  private func set(_ stage: Stage, _ party: Party, _ draft: UserSettingsDraft) async throws {
    try await stage.parley.post(.profile(ProfileDraft(settings: draft)), by: party)
  }

  private func lastSeen(_ stage: Stage, of user: Party, for viewer: Party) async throws -> Bool {
    try await stage.parley.read { (reader) throws in
      let found = try #require(try reader.user(user.id))
      return try reader.view(of: found, for: viewer).showsLastSeen
    }
  }

  @Test func whenSomebodyWasThereIsSeenByWhomTheyLet() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let tybalt = try await stage.user("tybalt")
    try await stage.parley.post(.link(juliet.address, name: nil, groups: nil, mutual: true), by: romeo)
    try await stage.parley.post(.leave(stage.clock.now), by: romeo)
    for (visibility, contact, stranger) in [
      (nil, true, false), (Visibility.everybody, true, true), (.nobody, false, false), (.contacts, true, false),
    ] as [(Visibility?, Bool, Bool)] {
      if let visibility { try await set(stage, romeo, UserSettingsDraft(lastSeen: visibility)) }
      #expect(try await lastSeen(stage, of: romeo, for: juliet) == contact)
      #expect(try await lastSeen(stage, of: romeo, for: tybalt) == stranger)
      #expect(try await lastSeen(stage, of: romeo, for: romeo))
    }
    // A blocked user sees nothing, whatever the settings allow.
    try await set(stage, romeo, UserSettingsDraft(lastSeen: .everybody))
    try await stage.parley.post(.block([BlockPattern(JID(tybalt.address))]), by: romeo)
    #expect(try await !lastSeen(stage, of: romeo, for: tybalt))
  }

  @Test func settingsAndProfileChangeTogetherOrNotAtAll() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    let long = String(repeating: "x", count: Limits.metadataBytesMax + 1)
    await #expect(throws: Problem.self) {
      try await stage.parley.post(
        .profile(
          ProfileDraft(
            displayName: .some("Other"), settings: UserSettingsDraft(isSearchable: false, privateMetadata: .some(long)))
        ), by: romeo)
    }
    #expect(try await stage.parley.read { try $0.userSettings(of: romeo.id) } == UserSettings())
    #expect(try await stage.parley.read { try $0.user(romeo.id)?.profile.displayName } == "romeo")
    let receipt = try await stage.parley.post(
      .profile(ProfileDraft(settings: UserSettingsDraft(isSearchable: true))), by: romeo)
    #expect(receipt.isRepeat)
  }

  @Test func termsAreAcceptedOnceAndAVersionAnew() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    try await stage.accounts.accept(terms: "1", by: romeo)
    let first = try await stage.parley.read { try $0.userSettings(of: romeo.id).terms }
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    try await stage.accounts.accept(terms: "1", by: romeo)
    #expect(try await stage.parley.read { try $0.userSettings(of: romeo.id).terms } == first)
    try await stage.accounts.accept(terms: "2", by: romeo)
    #expect(try await stage.parley.read { try $0.userSettings(of: romeo.id).terms?.version } == "2")
    await #expect(throws: Problem.self) { try await stage.accounts.accept(terms: "", by: romeo) }
  }

  // MARK: Phonebooks

  @Test func aPhonebookFindsWhoLetsItAndNobodyElse() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let phone = Identity(.phone, "+39045800000")
    try await stage.accounts.bind(phone, to: romeo)
    let salt = try await stage.accounts.matchSalt(for: juliet)
    #expect(try await stage.accounts.matchSalt(for: romeo) == salt)
    let key = ContactMatch.key(phone.subject, salt: salt)
    func found(by user: Party) async throws -> [UserID] {
      try await stage.accounts.matches([key], for: user).map { $0.view.user.id }
    }
    func byNumber() async throws -> UserID? {
      try await stage.parley.read { try $0.user(findableBy: phone, for: juliet)?.id }
    }
    #expect(try await found(by: juliet) == [])
    #expect(try await byNumber() == nil)
    try await set(stage, romeo, UserSettingsDraft(isMatchable: true))
    #expect(try await found(by: juliet) == [romeo.id])
    #expect(try await byNumber() == romeo.id)
    #expect(try await found(by: romeo) == [])
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    #expect(try await found(by: juliet) == [])
    #expect(try await byNumber() == nil)
  }

  @Test func aDirectoryOfNumbersIsNotLookedUpInADay() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let keys = [[UInt8]](repeating: [0], count: AccountLimits.matchKeysMax)
    await #expect(throws: Problem.self) { try await stage.accounts.matches(keys + [[1]], for: romeo) }
    for _ in 0..<(AccountLimits.matchRate.burst / keys.count) { _ = try await stage.accounts.matches(keys, for: romeo) }
    do {
      _ = try await stage.accounts.matches(Array(keys.prefix(10)), for: romeo)
      Issue.record("more numbers than a day has were looked up")
    } catch {
      #expect(error.kind == .tooFast)
    }
    // Another's count is their own, and the day goes on.
    _ = try await stage.accounts.matches(keys, for: juliet)
    stage.clock.set(stage.clock.now.milliseconds + 86_400_000)
    _ = try await stage.accounts.matches(keys, for: romeo)
    _ = try await stage.accounts.matches(keys, for: romeo)
    await #expect(throws: Problem.self) { try await stage.accounts.matches(keys, for: romeo) }
  }

  // MARK: Nearby

  @Test func aUserWhoSharesALocationFindsOthersWhoDo() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let tybalt = try await stage.user("tybalt")
    let verona = (latitude: 45.4386, longitude: 10.9928)
    func found(by user: Party, kilometres: Int = 5) async throws -> [String] {
      try await stage.accounts.nearby(
        latitude: verona.latitude, longitude: verona.longitude, kilometres: kilometres, limit: 9, for: user
      ).map { "\($0.view.user.name) \($0.kilometres)" }
    }
    func share(_ user: Party, north: Double = 0) async throws {
      _ = try await stage.accounts.share(
        latitude: verona.latitude + north, longitude: verona.longitude, for: AccountLimits.locationLifetime, by: user)
    }
    await #expect(throws: Problem.self) { try await found(by: romeo) }
    try await share(romeo)
    try await share(juliet, north: 0.001)
    try await share(tybalt, north: 0.2)
    #expect(try await found(by: romeo) == ["juliet 1"])
    #expect(try await found(by: romeo, kilometres: 30) == ["juliet 1", "tybalt 23"])
    // Asking from somewhere else tells nothing of there.
    await #expect(throws: Problem.self) {
      try await stage.accounts.nearby(latitude: 52.5, longitude: 13.4, kilometres: 5, limit: 9, for: romeo)
    }
    try await stage.parley.post(.block([BlockPattern(JID(romeo.address))]), by: juliet)
    #expect(try await found(by: romeo) == [])
    #expect(try await found(by: juliet) == [])
    try await stage.parley.post(.unblock([]), by: juliet)
    try await stage.accounts.stopSharing(juliet)
    #expect(try await found(by: romeo) == [])
    stage.clock.set(stage.clock.now.milliseconds + 3_600_000)
    await #expect(throws: Problem.self) { try await found(by: romeo) }
  }

  @Test func theGridIsCoarseEverywhere() throws {
    for (latitude, longitude) in [(0.0, 0.0), (45.44, 10.99), (-33.9, 151.2), (69.6, 18.9), (89.99, 0), (-90, -180)] {
      let cell = try #require(Grid.cell(latitude: latitude, longitude: longitude))
      // Neighbours within the field are the same; its middle is no further than its corner.
      let again = Grid.cell(latitude: latitude, longitude: min(180, longitude + 0.000_01))
      #expect(again.map { Grid.kilometres($0, cell) <= 2 } == true)
      #expect(Grid.kilometres(cell, cell) == 1)
    }
    #expect(Grid.cell(latitude: 90.1, longitude: 0) == nil)
    #expect(Grid.cell(latitude: .nan, longitude: 0) == nil)
    #expect(Grid.cell(latitude: 0, longitude: .infinity) == nil)
    // A field is as wide at 60 degrees as at the equator.
    #expect(Grid.columns(Grid.rows / 2) == 36_000)
    #expect(abs(Grid.columns(Grid.rows / 2 + 6_000) - 18_000) < 5)
  }

  /// Every field whose middle is near enough is in the ranges, over the 180th meridian and at the poles too.
  @Test(arguments: [(45.44, 10.99), (0.0, 179.999), (-17.0, -179.999), (89.9, 100), (-89.99, 0)] as [(Double, Double)])
  func noNearFieldIsLeftOut(place: (Double, Double)) throws {
    let centre = try #require(Grid.cell(latitude: place.0, longitude: place.1))
    let ranges = Grid.around(centre, kilometres: 20)
    for row in max(0, centre.row - 25)...min(Grid.rows - 1, centre.row + 25) {
      let count = Grid.columns(row)
      for column in stride(from: 0, to: count, by: max(1, count / 5_000)) {
        let cell = GridCell(row: row, column: column)
        guard Grid.kilometres(centre, cell) <= 20 else { continue }
        #expect(ranges.contains { $0.row == row && $0.columns.contains(column) }, "\(cell)")
      }
    }
    // No cell is in two ranges.
    for (index, one) in ranges.enumerated() {
      for other in ranges[(index + 1)...] where other.row == one.row {
        #expect(!one.columns.overlaps(other.columns))
      }
    }
  }
}
