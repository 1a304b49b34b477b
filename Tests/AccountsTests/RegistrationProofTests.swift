import Addresses
import Basics
import Crypto
import DialogsFixtures
import Synchronization
import Testing

@testable import Accounts
@testable import Dialogs

/// Tests of the accounts that people create without an invitation and without a code: the proof of work, and the number of
/// accounts of one network. The challenges of the first tests were computed by a program in Python.
@Suite struct RegistrationProofTests {
  private static let network = "192.0.2.1"
  private final class Counter: Sendable {
    let count = Mutex(0)
  }

  private let now = Timestamp(milliseconds: 1_700_000_000_000)

  private func verifier(
    bits: Int = 8, usedMax: Int = 10, onFull: @escaping @Sendable () -> Void = {}
  ) -> RegistrationProofs {
    RegistrationProofs(bits: bits, usedMax: usedMax, key: SymmetricKey(data: Array(UInt8(0)..<32)), onFull: onFull)
  }

  private func solved(_ challenge: RegistrationChallenge) -> String {
    var number = 0
    while !challenge.isMet(by: Array("\(challenge.text)\(number)".utf8)) { number += 1 }
    return "\(challenge.text)\(number)"
  }

  @Test(arguments: [
    ("localhost", "192.0.2.1", 18, "d8a1e61a58218816c424017ef28c0524", "2e1de", "531771"),
    ("localhost", "192.0.2.1", 8, "d8a1e61a58218816c424017ef28c0524", "de", "258"),
    ("b.example", "192.0.2.1", 18, "6aed7fb42f8d4a05175c315bb89e4df5", "2743d", "24228"),
    ("localhost", "2001:db8::/64", 18, "f1c94ac30c0fe92be26f3ba6b8f76fec", "3e48c", "11953"),
  ])
  func aChallengeAndItsProof(
    _ domain: String, _ network: String, _ bits: Int, _ hash: String, _ target: String, _ number: String
  ) {
    let proofs = verifier(bits: bits)
    let challenge = proofs.challenge(domain, network, end: now.milliseconds + 600_000, number: 0x0123_4567_89ab_cdef)
    let id = "0000018bcfee8fc00123456789abcdef" + hash
    #expect(challenge.id == id)
    #expect(challenge.text == domain + id)
    #expect(challenge.target == target)
    let proof = challenge.text + number
    #expect(challenge.isMet(by: Array(proof.utf8)))
    #expect(!challenge.isMet(by: Array("\(proof)0".utf8)))
    #expect(proofs.take(proof, domain, from: network, now: now) == 0x0123_4567_89ab_cdef)
    #expect(proofs.take(proof, domain, from: network, now: now) == nil)
    proofs.giveBack(0x0123_4567_89ab_cdef)
    #expect(proofs.take(proof, domain, from: network, now: now) == 0x0123_4567_89ab_cdef)
  }

  @Test func aChallengeIsFreshAndLastsTenMinutes() {
    let proofs = verifier()
    let challenge = proofs.challenge("localhost", for: Self.network, now: now)
    #expect(challenge != proofs.challenge("localhost", for: Self.network, now: now))
    let proof = solved(challenge)
    let end = now + .seconds(600)
    #expect(proofs.take(proof, "localhost", from: Self.network, now: end) == nil)
    #expect(proofs.take(proof, "localhost", from: Self.network, now: now + .milliseconds(599_999)) != nil)
  }

  @Test func aProofIsForOneServerOneDomainAndOneNetwork() {
    let proofs = verifier()
    let proof = solved(proofs.challenge("localhost", for: Self.network, now: now))
    #expect(proofs.take(proof, "localhost", from: "192.0.2.2", now: now) == nil)
    #expect(proofs.take(proof, "elsewhere", from: Self.network, now: now) == nil)
    #expect(proofs.take(proof, "local", from: Self.network, now: now) == nil)
    let another = RegistrationProofs(bits: 8)
    #expect(another.take(proof, "localhost", from: Self.network, now: now) == nil)
    #expect(proofs.take(proof, "localhost", from: Self.network, now: now) != nil)
  }

  @Test func textThatProvesNothingIsRefused() {
    let proofs = verifier()
    let challenge = proofs.challenge("localhost", for: Self.network, now: now)
    let proof = solved(challenge)
    var number = 0
    while challenge.isMet(by: Array("\(challenge.text)\(number)".utf8)) { number += 1 }
    let long = challenge.text + String(repeating: "-", count: AccountLimits.proofBytesMax)
    for text in [
      "", "localhost", challenge.text.uppercased(), String(proof.dropFirst()), "\(challenge.text)\(number)",
      "localhost+\(proof.dropFirst(10))", long, String(proof.prefix(41)), "ö\(proof)",
    ] {
      #expect(proofs.take(text, "localhost", from: Self.network, now: now) == nil, "\(text)")
    }
    #expect(proofs.take(proof, "localhost", from: Self.network, now: now) != nil)
  }

  @Test func usedProofsAreBoundedAndNoneIsUsedTwice() {
    let fulls = Counter()
    let proofs = verifier(usedMax: 3) { fulls.count.withLock { $0 += 1 } }
    func take(_ proof: String, _ time: Timestamp) -> Bool {
      proofs.take(proof, "localhost", from: Self.network, now: time) != nil
    }
    func proof(_ time: Timestamp) -> String { solved(proofs.challenge("localhost", for: Self.network, now: time)) }
    // Those that have ended make room.
    let early = (0..<3).map { _ in proof(now) }
    for each in early { #expect(take(each, now)) }
    let later = now + .seconds(601)
    let some = (0..<4).map { _ in proof(later) }
    for each in some[..<3] { #expect(take(each, later)) }
    #expect(fulls.count.withLock(\.self) == 0)
    // At the bound all that are open end, whether they were used or not.
    let open = proof(later)
    #expect(take(some[3], later))
    #expect(fulls.count.withLock(\.self) == 1)
    for each in some + [open] { #expect(!take(each, later)) }
    #expect(take(proof(later), later))
    // A clock that was set back meanwhile keeps nobody out.
    #expect(take(proof(now), now))
  }

  // MARK: Accounts

  /// Returns the refusal of a registration; `nil` if the account was created.
  private func register(
    _ name: String, on stage: Stage, proof: String? = nil, from network: String = "192.0.2.1"
  ) async throws -> Problem? {
    let address = try BareJID("\(name)@localhost")
    do throws(Problem) {
      _ = try await stage.accounts.registerStranger(
        address, password: "wherefore", displayName: nil, proof: proof, from: network)
      return nil
    } catch { return error }
  }

  /// Returns the proof for the challenge of a refusal.
  private func proof(for refusal: Problem?) throws -> String {
    let refusal = try #require(refusal)
    #expect(refusal.code == "registration-proof-required" && refusal.kind == .forbidden && refusal.field == "proof")
    let (text, target) = (try #require(refusal.challenge), try #require(refusal.target))
    let value = try #require(UInt8(target, radix: 16))
    var number = 0
    while Array(SHA256.hash(data: Array("\(text)\(number)".utf8))).last != value { number += 1 }
    return "\(text)\(number)"
  }

  @Test func anAccountTakesAProofThatNobodyUsesAgain() async throws {
    let stage = try Stage(registration: RegistrationPolicy(proofBits: 8))
    let first = try proof(for: try await register("romeo", on: stage))
    #expect(try await register("romeo", on: stage, proof: first) == nil)
    // A name that is taken is refused before anybody computes.
    #expect(try await register("romeo", on: stage)?.code == "name-taken")
    let second = try proof(for: try await register("juliet", on: stage))
    // A name that was taken meanwhile does not use the proof up, and is refused before the proof is looked at.
    #expect(try await register("romeo", on: stage, proof: second)?.code == "name-taken")
    #expect(try await register("romeo", on: stage, proof: "none")?.code == "name-taken")
    #expect(try await register("juliet", on: stage, proof: second) == nil)
    // Whoever comes with a used one gets another challenge.
    let third = try proof(for: try await register("paris", on: stage, proof: second))
    #expect(try await register("paris", on: stage, proof: third) == nil)
  }

  /// A person is told at once that a name is taken. Whoever asks for many names computes for them, ten with each proof.
  @Test func whoAsksForManyNamesComputesForThem() async throws {
    let stage = try Stage(registration: RegistrationPolicy(proofBits: 8))
    _ = try await stage.user("romeo")
    for _ in 0..<20 { #expect(try await register("romeo", on: stage)?.code == "name-taken") }
    let refusal = try await register("romeo", on: stage)
    #expect(try await register("romeo", on: stage, proof: "none")?.code == "registration-proof-required")
    // Nothing shows whether there is such a name.
    #expect(try await register("nobody", on: stage)?.code == refusal?.code)
    #expect(try await register("romeo", on: stage, from: "192.0.2.2")?.code == "name-taken")
    let first = try proof(for: refusal)
    for _ in 0..<10 { #expect(try await register("romeo", on: stage, proof: first)?.code == "name-taken") }
    let second = try proof(for: try await register("juliet", on: stage, proof: first))
    // The proof remains for another name.
    #expect(try await register("romeo", on: stage, proof: second)?.code == "name-taken")
    #expect(try await register("juliet", on: stage, proof: second) == nil)
    #expect(try await register("paris", on: stage, proof: second)?.code == "registration-proof-required")
  }

  /// What a password is refused for is told first in any case.
  @Test func nobodyComputesForAPasswordThatIsRefused() async throws {
    let stage = try Stage(registration: RegistrationPolicy(proofBits: 8))
    let problem = await #expect(throws: Problem.self) {
      try await stage.accounts.registerStranger(
        try BareJID("romeo@localhost"), password: "a\u{7}b", displayName: nil, proof: nil, from: Self.network)
    }
    #expect(problem?.code == "password-refused")
  }

  @Test func aNetworkHasFewAccounts() async throws {
    let stage = try Stage(registration: RegistrationPolicy(networkHourMax: 10, proofBits: nil))
    for number in 1...5 {
      #expect(try await register("a\(number)", on: stage) == nil)
      // An attempt that fails does not count.
      if number < 5 { #expect(try await register("a1", on: stage)?.code == "name-taken") }
    }
    let refusal = try await register("a6", on: stage)
    #expect(refusal?.code == "registrations-too-fast" && refusal?.retryAfter == 360)
    #expect(
      refusal?.text
        == "Too many new accounts from your network. Try again in 360 seconds, or ask for an invitation.")
    #expect(try await register("b1", on: stage, from: "192.0.2.2") == nil)
    // Invitations and codes are counted elsewhere.
    try stage.accounts.pace(.registration(network: Self.network))
    stage.clock.set(stage.clock.now.milliseconds + 360_000)
    #expect(try await register("a6", on: stage) == nil)
    #expect(try await register("a7", on: stage)?.code == "registrations-too-fast")
  }

  @Test func withoutBoundsByNetworkOnlyAttemptsAreCounted() async throws {
    let stage = try Stage(registration: RegistrationPolicy(networkHourMax: nil, proofBits: nil))
    for number in 1...12 { #expect(try await register("a\(number)", on: stage) == nil) }
  }

  @Test(arguments: [(1, 1), (2, 1), (10, 5), (11, 6)])
  func halfOfAnHoursAccountsAreCreatedAtOnce(_ hourMax: Int, _ burst: Int) {
    let rate = PacedAct.newAccount(network: Self.network, hourMax: hourMax).rate
    #expect(rate.burst == burst)
    #expect(abs(rate.perSecond * 3_600 - Double(hourMax)) < 0.001)
  }
}
