public import Addresses
import Basics
import Crypto
public import Dialogs
import ServerMetrics
import Synchronization

/// The conditions under which people without an invitation and without a code create accounts.
public struct RegistrationPolicy: Hashable, Sendable {
  /// The accounts of one network in an hour; half of them may be created at once. `nil` for no bound by network.
  public var networkHourMax: Int?
  /// The bits of the proof of work that they give; `nil` if they give none.
  public var proofBits: Int?
  public var needsProof: Bool { proofBits != nil }

  public init(
    networkHourMax: Int? = AccountLimits.networkAccountsPerHour, proofBits: Int? = AccountLimits.proofBits
  ) {
    self.networkHourMax = networkHourMax
    self.proofBits = proofBits
  }
}

/// A challenge to prove work: to find a text that begins with `text`, and whose SHA-256 ends in the bits of `target`.
public struct RegistrationChallenge: Hashable, Sendable {
  /// The domain, and behind it the id.
  public let text: String
  public let id: String
  /// A number in hexadecimal digits, whose highest bit is set.
  public let target: String
  private let value: UInt32
  private let mask: UInt32

  fileprivate init(domain: String, id: String, random: UInt32, bits: Int) {
    let top = UInt32(1) << UInt32(bits - 1)
    mask = top | (top - 1)
    value = (random & mask) | top
    text = domain + id
    self.id = id
    target = String(value, radix: 16)
  }

  func isMet(by proof: [UInt8]) -> Bool {
    let end = Array(SHA256.hash(data: proof)).suffix(4).reduce(UInt32(0)) { ($0 << 8) | UInt32($1) }
    return end & mask == value
  }
}

/// Verifies proofs of work, by which it costs a program time to create accounts, and a person nothing.
///
/// Theory: the proof is the one of XEP-0158 6.2, at both doors: finding it takes some hundred thousand hashes, verifying it
/// takes one. The server keeps nothing of a challenge. Its id has the time at which it ends, a random number, and a keyed
/// hash of both with the domain and the client's network, so that nobody else can use it. The random number of a used
/// challenge is kept until the challenge has ended. The key is the process's own, and ends together with these numbers: at
/// the end of the process, and when there are too many of them.
///
/// In XEP-0158 a proof begins with the server's address alone. Then a table with one text for each target, which is
/// computed within seconds, would answer all challenges. Hence the id has to follow the address here.
final class RegistrationProofs: Sendable {
  private struct State {
    var key: SymmetricKey
    /// The random numbers of used challenges.
    var used: [UInt64: Use] = [:]
  }

  private struct Use {
    /// The time at which the challenge ends.
    let end: Int64
    /// The number of times for which the proof was taken.
    var count = 1
    /// Whether it was given back since.
    var isFree = false
  }

  private let bits: Int
  private let usedMax: Int
  private let onFull: @Sendable () -> Void
  private let state: Mutex<State>

  /// - Parameter onFull: called each time when all challenges end, since there are too many used ones.
  init(
    bits: Int, usedMax: Int = AccountLimits.usedProofsMax, key: SymmetricKey = SymmetricKey(size: .bits256),
    onFull: @escaping @Sendable () -> Void = {}
  ) {
    self.bits = bits
    self.usedMax = usedMax
    self.onFull = onFull
    state = Mutex(State(key: key))
  }

  func challenge(_ domain: String, for network: String, now: Timestamp) -> RegistrationChallenge {
    let end = (now + AccountLimits.proofLifetime).milliseconds
    return challenge(domain, network, end: end, number: .random(in: .min ... .max))
  }

  func challenge(_ domain: String, _ network: String, end: Int64, number: UInt64) -> RegistrationChallenge {
    challenge(domain, network, end: end, number: number, key: state.withLock(\.key))
  }

  private func challenge(
    _ domain: String, _ network: String, end: Int64, number: UInt64, key: SymmetricKey
  ) -> RegistrationChallenge {
    let head = Self.digits(UInt64(bitPattern: end)) + Self.digits(number)
    let hash = Array(
      HMAC<SHA256>.authenticationCode(for: Array("\(domain)\0\(network)\0\(head)".utf8), using: key))
    let random = hash[16..<20].reduce(UInt32(0)) { ($0 << 8) | UInt32($1) }
    return RegistrationChallenge(domain: domain, id: head + Hex.string(hash[..<16]), random: random, bits: bits)
  }

  private static func digits(_ value: UInt64) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: 16 - text.utf8.count) + text
  }

  /// Uses a proof. Returns its number; `nil` if it proves nothing, has ended, was used, or is for another domain or
  /// network.
  func take(_ proof: String, _ domain: String, from network: String, now: Timestamp) -> UInt64? {
    let bytes = Array(proof.utf8)
    let start = domain.utf8.count
    func number(_ range: Range<Int>) -> UInt64? { UInt64(String(decoding: bytes[range], as: UTF8.self), radix: 16) }
    guard bytes.count >= start + 32, bytes.count <= start + AccountLimits.proofBytesMax,
      let end = number(start..<start + 16).map({ Int64(bitPattern: $0) }), end > now.milliseconds,
      let id = number(start + 16..<start + 32)
    else { return nil }
    let (isTaken, wasFull) = state.withLock { state -> (Bool, Bool) in
      let given = challenge(domain, network, end: end, number: id, key: state.key)
      let beginning = Array(given.text.utf8)
      let before = state.used[id]
      guard before.map({ $0.isFree && $0.count < AccountLimits.proofUsesMax }) ?? true,
        Array(bytes.prefix(beginning.count)).isEqualInConstantTime(to: beginning),
        given.isMet(by: bytes)
      else { return (false, false) }
      if let before {
        state.used[id] = Use(end: before.end, count: before.count + 1)
        return (true, false)
      }
      if state.used.count >= usedMax { state.used = state.used.filter { $0.value.end > now.milliseconds } }
      let isFull = state.used.count >= usedMax
      // With another key nothing depends on the clock, which may be set back.
      if isFull { state = State(key: SymmetricKey(size: .bits256)) } else { state.used[id] = Use(end: end) }
      return (true, isFull)
    }
    if wasFull { onFull() }
    return isTaken ? id : nil
  }

  /// Gives back a proof that led to no account: it is taken `AccountLimits.proofUsesMax` times in all, so that it costs time
  /// to find out which names there are.
  func giveBack(_ id: UInt64) {
    state.withLock { $0.used[id]?.isFree = true }
  }
}

extension Accounts {
  public func registrationChallenge(_ domain: String, for network: String) -> RegistrationChallenge {
    proofs.challenge(domain, for: network, now: parley.clock.now)
  }

  /// Creates an account for somebody who has neither an invitation nor a code.
  ///
  /// - Parameter proof: the proof of work that `options.registration` may need.
  /// - Throws: also `.forbidden` `registration-proof-required`, with a challenge, and `.tooFast`.
  public func registerStranger(
    _ address: BareJID, password: String, displayName: String?, proof: String?, from network: String
  ) async throws(Problem) -> User {
    let policy = options.registration
    try pace(.registration(network: network))
    let act = policy.networkHourMax.map { PacedAct.newAccount(network: network, hourMax: $0) }
    if let act { try pace(act) }
    let row = NewUser(address: address, password: password, displayName: displayName, isRegistering: true)
    var used: UInt64?
    do throws(Problem) {
      if policy.needsProof {
        if let refusal = row.refusal { throw refusal }
        // Nobody computes a proof for an account that they cannot have, unless their network has asked for many names. One
        // proof pays for one derivation of keys, before which a name is refused.
        let refusal = try await refusals(of: [row])[0]
        if let refusal, policy.networkHourMax != nil, mayLearn(.takenName(network: network)) { throw refusal }
        used = try take(proof, row.address.domain, from: network)
        if let refusal { throw refusal }
      }
      return try await register(address, password: password, displayName: displayName)
    } catch {
      // A name that somebody takes meanwhile costs neither another proof nor one of the few accounts.
      if let used { proofs.giveBack(used) }
      if let act { giveBack(act) }
      throw error
    }
  }

  private func mayLearn(_ act: PacedAct) -> Bool { accountPace.take(act, now: parley.clock.now).wait == nil }

  private func take(_ proof: String?, _ domain: String, from network: String) throws(Problem) -> UInt64 {
    guard let proof else {
      throw Problem.proofRequired(
        """
        A new account needs a proof of work, computed from this challenge. Where an older page or app shows this, reload \
        or update it.
        """,
        registrationChallenge(domain, for: network))
    }
    if let id = proofs.take(proof, domain, from: network, now: parley.clock.now) { return id }
    parley.metrics.refused(by: "registration-proofs")
    throw Problem.proofRequired(
      "The proof of work is wrong, too old, or was used. Compute one from this challenge.",
      registrationChallenge(domain, for: network))
  }
}

extension Problem {
  fileprivate static func proofRequired(_ text: String, _ challenge: RegistrationChallenge) -> Problem {
    Problem(
      .forbidden, "registration-proof-required", text, field: "proof", challenge: challenge.text,
      target: challenge.target)
  }
}
