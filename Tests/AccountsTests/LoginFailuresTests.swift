import Addresses
import Basics
import DialogsFixtures
import Foundation
import Testing

@testable import Accounts
@testable import Dialogs

/// The bounds on guesses, and the users who are never locked out.
@Suite struct LoginFailuresTests {
  private static let home = "192.0.2.1"
  private let failures = LoginFailures()
  private let romeo: BareJID
  private let juliet: BareJID

  init() throws {
    romeo = try BareJID("romeo@localhost")
    juliet = try BareJID("juliet@localhost")
  }

  private func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_000_000 + seconds * 1_000) }

  private func attempt(_ user: BareJID, _ network: String, _ device: String? = nil) -> LoginAttempt {
    LoginAttempt(of: user, from: network, device: device)
  }

  /// Returns the number of `count` wrong passwords that are verified.
  private func wrong(_ attempt: LoginAttempt, _ count: Int, at now: Timestamp) -> Int {
    (0..<count).filter { _ in
      guard let paid = try? failures.chargedBudget(attempt, now: now) else { return false }
      failures.settle(paid, .wrong, now: now)
      return true
    }.count
  }

  private func logsIn(_ attempt: LoginAttempt, at now: Timestamp) -> Bool {
    guard let paid = try? failures.chargedBudget(attempt, now: now) else { return false }
    failures.settle(paid, .right, now: now)
    return true
  }

  @Test func oneNetworkGuessesSlowly() throws {
    #expect(wrong(attempt(juliet, Self.home), 50, at: time(0)) == 10)
    #expect(wrong(attempt(juliet, Self.home), 50, at: time(605)) == 2)
    // Over all users.
    let tried = try (0..<200).reduce(0) {
      $0 + wrong(attempt(try BareJID("user\($1)@localhost"), Self.home), 1, at: time(605))
    }
    #expect(tried == 98)
    #expect(wrong(attempt(romeo, Self.home), 50, at: time(615)) == 2)
    #expect(wrong(attempt(romeo, "192.0.2.2"), 1, at: time(605)) == 1)
  }

  @Test func manyNetworksTogetherGuessSlowlyAtOneUser() {
    let tried = (0..<1_000).reduce(0) { $0 + wrong(attempt(juliet, "198.51.\($1)"), 5, at: time(0)) }
    #expect(tried == 100)
    // A hundred an hour from then on.
    #expect(wrong(attempt(juliet, "203.0.113.1"), 20, at: time(360)) == 10)
    #expect(wrong(attempt(romeo, "203.0.113.2"), 1, at: time(360)) == 1)
  }

  /// A program that sends an old password every five seconds for a day, and fifty colleagues who mistype twice before
  /// they log in, behind one address, none of whom the server knows: an office after a restart.
  @Test func anOfficeDoesNotFeelIt() throws {
    let stuck = attempt(romeo, Self.home)
    for second in stride(from: Int64(0), to: 86_400, by: 5) { _ = wrong(stuck, 1, at: time(second)) }
    for number in 0..<50 {
      let colleague = attempt(try BareJID("colleague\(number)@localhost"), Self.home)
      #expect(wrong(colleague, 2, at: time(86_400)) == 2)
      #expect(logsIn(colleague, at: time(86_400)))
    }
    #expect(logsIn(attempt(juliet, Self.home), at: time(86_400)))
  }

  /// A right password gives back what the mistakes before it had cost, once, and those of nobody else.
  @Test func whoKnowsThePasswordHasMistypedIt() {
    #expect(wrong(attempt(romeo, Self.home), 10, at: time(0)) == 10)
    #expect(wrong(attempt(juliet, "192.0.2.7"), 9, at: time(0)) == 9)
    #expect(logsIn(attempt(juliet, "192.0.2.7"), at: time(0)))
    #expect(!logsIn(attempt(romeo, Self.home), at: time(0)))
    // What strangers have for her is whole again.
    let tried = (0..<1_000).reduce(0) { $0 + wrong(attempt(juliet, "198.51.\($1)"), 5, at: time(0)) }
    #expect(tried == 100)
  }

  /// One network cannot use up what the strangers of a user have: from elsewhere nobody is locked out by it.
  @Test func oneNetworkLocksNobodyOutElsewhere() {
    for second in stride(from: Int64(0), to: 86_400, by: 5) {
      _ = wrong(attempt(juliet, "198.51.100.1"), 1, at: time(second))
    }
    #expect(logsIn(attempt(juliet, Self.home), at: time(86_400)))
  }

  /// Guesses from many networks, or from her own, do not lock a user out where she is known.
  @Test func aKnownUserIsNotLockedOut() {
    #expect(logsIn(attempt(juliet, Self.home), at: time(0)))
    for network in 0..<1_000 { _ = wrong(attempt(juliet, "198.51.\(network)"), 5, at: time(1)) }
    #expect(wrong(attempt(romeo, Self.home), 50, at: time(1)) == 10)
    #expect(logsIn(attempt(juliet, Self.home), at: time(1)))
    // She is unknown in another network,
    #expect(!logsIn(attempt(juliet, "203.0.113.1"), at: time(1)))
    // and with a device that is known she is not.
    #expect(logsIn(attempt(juliet, Self.home, "phone"), at: time(2)))
    #expect(logsIn(attempt(juliet, "203.0.113.1", "phone"), at: time(2)))
    #expect(!logsIn(attempt(juliet, "203.0.113.2", "made up"), at: time(2)))
    #expect(!logsIn(attempt(romeo, Self.home, "phone"), at: time(2)))
  }

  /// Guesses from her own network spend her budget of that network; her device has a budget of its own.
  @Test func aGuesserInTheSameNetworkIsSlow() {
    #expect(logsIn(attempt(juliet, Self.home, "phone"), at: time(0)))
    #expect(wrong(attempt(juliet, Self.home), 50, at: time(0)) == 20)
    #expect(!logsIn(attempt(juliet, Self.home), at: time(0)))
    #expect(logsIn(attempt(juliet, Self.home, "phone"), at: time(0)))
    // Her own mistakes count, too.
    #expect(wrong(attempt(juliet, "203.0.113.9", "phone"), 50, at: time(0)) == 20)
  }

  /// A right password costs nothing, and neither does one that was not verified.
  @Test func onlyTheWrongIsPaidFor() throws {
    for _ in 0..<200 { #expect(logsIn(attempt(juliet, Self.home), at: time(0))) }
    for _ in 0..<200 {
      failures.settle(try failures.chargedBudget(attempt(romeo, "203.0.113.1"), now: time(0)), .void, now: time(0))
    }
    #expect(wrong(attempt(romeo, "203.0.113.1"), 50, at: time(0)) == 10)
  }

  /// A fleet that comes back at once: none of them has failed.
  @Test func manyRightOnesAtTheSameMomentAreLetIn() {
    let chargedBudgets = (0..<500).compactMap { _ in
      try? failures.chargedBudget(attempt(juliet, Self.home), now: time(0))
    }
    #expect(chargedBudgets.count == 500)
    for chargedBudget in chargedBudgets { failures.settle(chargedBudget, .right, now: time(0)) }
    #expect(logsIn(attempt(romeo, Self.home), at: time(0)))
  }

  /// Guesses that were verified before the first verdict are owed, and paid before the next one is verified.
  @Test func manyWrongOnesAtTheSameMomentAreOwed() {
    let chargedBudgets = (0..<14).compactMap { _ in
      try? failures.chargedBudget(attempt(juliet, Self.home), now: time(0))
    }
    for chargedBudget in chargedBudgets { failures.settle(chargedBudget, .wrong, now: time(0)) }
    #expect(wrong(attempt(juliet, Self.home), 1, at: time(1_200)) == 0)
    #expect(wrong(attempt(juliet, Self.home), 2, at: time(1_510)) == 1)
  }

  /// The password is looked at behind the budget, on a thread that derives keys: guesses at one moment gain at most one
  /// each thread.
  @Test func guessesAtTheSameMomentGainNothing() async throws {
    let stage = try Stage()
    let juliet = try await stage.accounts.register(try BareJID("juliet@localhost"), password: "r0m30", displayName: nil)
    let attempt = attempt(juliet.address, Self.home)
    let looks = try await withThrowingTaskGroup(of: Bool.self) { group in
      for guess in 0..<200 {
        group.addTask {
          do {
            _ = try await stage.accounts.verify(attempt, password: "guess \(guess)")
          } catch let problem as Problem { return problem.code == "wrong-credentials" }
          return false
        }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect((10...10 + ProcessInfo.processInfo.activeProcessorCount).contains(looks))
  }

  @Test func theRefusalSaysWhen() {
    _ = wrong(attempt(juliet, Self.home), 20, at: time(0))
    #expect {
      _ = try failures.chargedBudget(attempt(juliet, Self.home), now: time(0))
    } throws: {
      ($0 as? Problem)?.kind == .tooFast && ($0 as? Problem)?.code == "logins-too-fast"
        && ($0 as? Problem)?.retryAfter == 300
    }
  }

  @Test func aUserWithATokenIsKnown() {
    for network in 0..<1_000 { _ = wrong(attempt(juliet, "198.51.\(network)"), 5, at: time(0)) }
    #expect(!logsIn(attempt(juliet, Self.home), at: time(0)))
    failures.know(attempt(juliet, Self.home, "phone"), now: time(0))
    #expect(logsIn(attempt(juliet, Self.home), at: time(0)))
    #expect(logsIn(attempt(juliet, "203.0.113.1", "phone"), at: time(0)))
    // The bucket of a known place is not refilled when the place is known again.
    #expect(wrong(attempt(juliet, Self.home), 50, at: time(0)) == 20)
    failures.know(attempt(juliet, Self.home), now: time(0))
    #expect(!logsIn(attempt(juliet, Self.home), at: time(0)))
  }

  /// A right token is never asked for its place.
  @Test func wrongTokensAreCounted() {
    let waits = (0..<101).map { _ in failures.wrongToken(from: Self.home, now: time(0)) }
    #expect(waits == Array(repeating: nil, count: 100) + [1])
    // They cost nobody a password.
    #expect(logsIn(attempt(romeo, Self.home), at: time(0)))
  }

  /// Strangers in any number push out strangers only, and not the one whose budget is in use.
  @Test func memoryIsBounded() {
    let failures = LoginFailures(knownMax: 4, strangersMax: 100)
    func spend(_ network: String) -> Bool {
      guard let paid = try? failures.chargedBudget(attempt(juliet, network), now: time(0)) else { return false }
      failures.settle(paid, .wrong, now: time(0))
      return true
    }
    if let paid = try? failures.chargedBudget(attempt(juliet, Self.home), now: time(0)) {
      failures.settle(paid, .right, now: time(0))
    }
    #expect((0..<10_000).filter { spend("198.51.\($0)") }.count == 100)
    #expect(spend(Self.home))
  }

  @Test func aTouchedEntryStays() {
    var recent = Recent<Int, String>(max: 10)
    recent[-1] = "stays"
    for key in 0..<1_000 {
      recent[key] = "goes"
      if key % 4 == 0 { recent.change(-1) { $0 = "stays" } }
      #expect(recent.count <= 10)
    }
    #expect(recent[-1] == "stays")
    #expect(recent[0] == nil)
    #expect(recent[999] == "goes")
  }
}

/// XEP-0480's part of the core.
@Suite struct AddedKeysTests {
  private static let password = "r0m30"

  private static func keys(_ hash: SCRAMHash, _ password: String = password) throws -> SCRAMKeys {
    try SCRAMKeys.deriveKeys(password: password, salt: [1, 2, 3], hash: hash)
  }

  /// The proof that a client derives from the password gives the same keys as the password. The values come from
  /// Python's `hashlib.pbkdf2_hmac` of "r0m30" and the salt 01 02 03.
  @Test func saltedPasswords() throws {
    let salted: [(SCRAMHash, String)] = [
      (
        .sha1,
        "c1affcbc4d6de2509f397fa6c9e6dc7deff1b52f"
      ),
      (
        .sha256,
        "3ddb0fee05d9c610333f08ec649a552db3158960b6788a764389e8c4c368fd37"
      ),
      (
        .sha512,
        "9ed0addb40cc245d327c6cbd68af72bff61eaad9f5a26d9f1a36b060a6fc7eed"
          + "1c42fb5c595464ee9559256bf91b10371c3447dbb105ee97f9e0fb0431918b42"
      ),
    ]
    for (hash, text) in salted {
      let bytes = stride(from: 0, to: text.utf8.count, by: 2).compactMap {
        UInt8(text.dropFirst($0).prefix(2), radix: 16)
      }
      #expect(
        try SCRAMKeys.keys(saltedPassword: bytes, salt: [1, 2, 3], iterations: 4096, hash: hash) == Self.keys(hash))
    }
  }

  @Test(arguments: SCRAMHash.allCases) func wrongLengths(hash: SCRAMHash) {
    #expect(throws: SCRAMKeysError.password) {
      _ = try SCRAMKeys.keys(saltedPassword: [1], salt: [1], iterations: 4096, hash: hash)
    }
    #expect(throws: SCRAMKeysError.salt) {
      _ = try SCRAMKeys.keys(
        saltedPassword: [UInt8](repeating: 1, count: hash.byteCount), salt: [], iterations: 4096, hash: hash)
    }
  }

  @Test func keysAreAddedOnceAndOnlyToThePasswordThatWasProved() async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    let user = try await stage.accounts.register(juliet, password: Self.password, displayName: nil)
    let (old, new) = (try Self.keys(.sha1), try Self.keys(.sha256))
    try await stage.parley.work { try $0.setCredentials([old], for: user.id) }
    #expect(try await stage.accounts.add(new, to: user.id, proved: old))
    #expect(try await stage.accounts.credentials(of: juliet).keys == [old, new])
    // Two devices at once: the first keys stay.
    let other = try SCRAMKeys.deriveKeys(password: Self.password, salt: [9], hash: .sha256)
    #expect(try await stage.accounts.add(other, to: user.id, proved: old))
    #expect(try await stage.accounts.credentials(of: juliet).keys == [old, new])
    // The password was changed meanwhile.
    let changed = try Self.keys(.sha1, "other")
    try await stage.parley.work { try $0.setCredentials([changed], for: user.id) }
    #expect(!(try await stage.accounts.add(new, to: user.id, proved: old)))
    #expect(try await stage.accounts.credentials(of: juliet).keys == [changed])
  }

  /// An account with keys of one hash only logs in with a plain password.
  @Test func aPlainPasswordIsVerifiedWithWhatThereIs() async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    let user = try await stage.accounts.register(juliet, password: Self.password, displayName: nil)
    let old = try Self.keys(.sha1)
    try await stage.parley.work { try $0.setCredentials([old], for: user.id) }
    #expect(try await stage.accounts.verify(juliet, password: Self.password).id == user.id)
  }
}
