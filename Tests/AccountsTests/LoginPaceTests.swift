import Addresses
import Basics
import DialogsFixtures
import Dispatch
import Testing

@testable import Accounts
@testable import Dialogs

/// The pace of right passwords and of app passwords, and the turns of what derives keys for them.
@Suite(.timeLimit(.minutes(1))) struct LoginPaceTests {
  private static let home = "192.0.2.1"

  private func code(_ body: () async throws -> Void) async -> String? {
    do { try await body() } catch { return (error as? Problem)?.code }
    return nil
  }

  /// Begins eight derivations of an owner that wait, and runs `body` once the owner has all threads that it may have.
  private func holding(
    _ accounts: Accounts, by owner: ReadOwner?, _ body: () async throws -> Void
  ) async throws {
    let (begun, isBegun) = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    let held = Task {
      await withTaskGroup(of: Void.self) { group in
        for _ in 1...8 {
          group.addTask {
            await ReadOwner.$current.withValue(owner) {
              await accounts.derive {
                isBegun.yield()
                gate.wait()
              }
            }
          }
        }
      }
    }
    let threads = Accounts.Options().threads
    var free = owner == nil ? threads : threads - 1
    for await _ in begun {
      free -= 1
      if free == 0 { break }
    }
    let result = await code(body)
    for _ in 1...8 { gate.signal() }
    await held.value
    #expect(result == nil)
  }

  /// A device that logs in again and again is refused, and leaves the user's other devices and networks theirs.
  @Test func rightPasswordsOfADeviceHaveAPace() async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    _ = try await stage.accounts.register(juliet, password: "r0m30", displayName: nil)
    func logIn(_ device: String?, from network: String = Self.home, _ password: String = "r0m30") async -> String? {
      await code {
        _ = try await stage.accounts.logIn(
          LoginAttempt(of: juliet, from: network, device: nil), password: password, device: device, client: nil)
      }
    }
    for _ in 0..<AccountLimits.deviceLoginRate.burst { #expect(await logIn("telephone") == nil) }
    #expect(await logIn("telephone") == "logins-too-fast")
    // Wrong ones are not charged to it.
    #expect(await logIn("tablet", "wrong") == "wrong-credentials")
    let left = AccountLimits.loginRate.burst - AccountLimits.deviceLoginRate.burst
    for number in 0..<left { #expect(await logIn("tablet\(number)") == nil) }
    #expect(await logIn("another") == "logins-too-fast")
    #expect(await logIn(nil) == "logins-too-fast")
    #expect(await logIn("another", from: "192.0.2.2") == nil)
    stage.clock.set(stage.clock.now.milliseconds + 1_000)
    #expect(await logIn("telephone") == nil)
    #expect(await logIn("telephone") == "logins-too-fast")
    #expect(await logIn("another") == nil)
  }

  /// The device's id is checked before keys are derived.
  @Test func aMalformedDeviceIsRefusedFirst() async throws {
    let stage = try Stage()
    let attempt = LoginAttempt(of: try BareJID("juliet@localhost"), from: Self.home, device: nil)
    let refused = await code {
      _ = try await stage.accounts.logIn(attempt, password: "r0m30", device: "a b", client: nil)
    }
    #expect(refused == "device-id-malformed")
  }

  /// A network whose derivations all wait leaves a thread to others.
  @Test func othersLogInWhileANetworkHasManyDerivations() async throws {
    let stage = try Stage()
    let juliet = try BareJID("juliet@localhost")
    _ = try await stage.accounts.register(juliet, password: "r0m30", displayName: nil)
    try await holding(stage.accounts, by: .network("198.51.100.1")) {
      _ = try await stage.accounts.verify(juliet, password: "r0m30")
    }
  }

  /// The name and the number are checked while no thread is free to derive keys.
  @Test func aTakenNameOfAnAppPasswordCostsNoDerivation() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    _ = try await stage.accounts.makeAppPassword(for: romeo.id, name: "slixmpp")
    try await holding(stage.accounts, by: nil) {
      let refused = await code { _ = try await stage.accounts.makeAppPassword(for: romeo.id, name: "slixmpp") }
      #expect(refused == "name-taken")
    }
  }

  @Test func appPasswordsHaveAPace() async throws {
    let stage = try Stage()
    let romeo = try await stage.user("romeo")
    func make() async throws -> Int64 {
      try await stage.accounts.makeAppPassword(for: romeo.id, name: "slixmpp").password.id
    }
    for _ in 0..<AccountLimits.appPasswordRate.burst {
      try await stage.accounts.removeAppPassword(try await make(), of: romeo.id)
    }
    #expect(await code { _ = try await make() } == "requests-too-fast")
    stage.clock.set(stage.clock.now.milliseconds + 60_000)
    #expect(await code { _ = try await make() } == nil)
  }
}
