import Addresses
import Crypto
import CryptoExtras
import DialogsFixtures
import Foundation
import Testing

@testable import Accounts
@testable import Dialogs

/// SHA-512 of four passwords at once must be what the library makes of each of them.
@Suite struct KeyDerivationTests {
  static let available = ConditionTrait.enabled(
    if: SCRAMKeys.lanesAreAvailable, "without AVX2 nothing is derived in lanes; the library was tested instead")

  /// Random, and the same in every run.
  private struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var word = state
      word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
      word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
      return word ^ (word >> 31)
    }
    mutating func bytes(_ count: Int) -> [UInt8] {
      (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }
  }

  private static func library(_ password: [UInt8], salt: [UInt8], rounds: Int) throws -> SymmetricKey {
    try KDF.Insecure.PBKDF2.deriveKey(
      from: password, salt: salt, using: .sha512, outputByteCount: 64, unsafeUncheckedRounds: rounds)
  }

  /// Holds every lane against the library.
  private static func check(
    _ lengths: some Collection<Int>, saltByteCount: Int, rounds: Int, _ numbers: inout Numbers
  ) throws {
    let passwords = lengths.map { numbers.bytes($0) }
    let salts = lengths.map { _ in numbers.bytes(saltByteCount) }
    let derived = try #require(SCRAMKeys.saltedPasswordsInLanes(passwords, salts: salts, iterations: rounds))
    #expect(derived.count == passwords.count)
    for (lane, key) in derived.enumerated() {
      #expect(
        try key == library(passwords[lane], salt: salts[lane], rounds: rounds),
        "lane \(lane), a password of \(passwords[lane].count) bytes, a salt of \(saltByteCount), \(rounds) rounds")
    }
  }

  #if arch(x86_64) && os(Linux)
    @Test func theLanesAreAvailableWhereTheProcessorHasThem() throws {
      let processor = try String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)
      #expect(SCRAMKeys.lanesAreAvailable == processor.split(whereSeparator: \.isWhitespace).contains("avx2"))
    }
  #endif

  /// All lengths around HMAC's 128 bytes, in an order in which every lane sees short and long ones.
  @Test(available, arguments: [1, 2, 3]) func everyLaneEqualsTheLibrary(rounds: Int) throws {
    var numbers = Numbers(state: UInt64(rounds))
    let lengths = (Array(1...132) + [199, 200, 255, 256, 257, 511, 1022, 1023]).shuffled(using: &numbers)
    for start in stride(from: 0, to: lengths.count, by: SCRAMKeys.laneCount) {
      let group = lengths[start..<start + SCRAMKeys.laneCount]
      try Self.check(group, saltByteCount: SCRAMKeys.saltByteCount, rounds: rounds, &numbers)
    }
    for saltByteCount in 1...64 {
      try Self.check([1, 8, 64, 128], saltByteCount: saltByteCount, rounds: rounds, &numbers)
    }
  }

  @Test(available) func everyLaneEqualsTheLibraryInManyRounds() throws {
    var numbers = Numbers(state: 4096)
    for lengths in [[8, 12, 128, 129], [1, 1023, 20, 9], [127, 33, 16, 64]] {
      try Self.check(lengths, saltByteCount: SCRAMKeys.saltByteCount, rounds: 4096, &numbers)
    }
  }

  @Test(available) func twoAndThreePasswordsLeaveLanesEmpty() throws {
    var numbers = Numbers(state: 2)
    for lengths in [[7, 8], [7, 8, 130]] { try Self.check(lengths, saltByteCount: 16, rounds: 5, &numbers) }
  }

  @Test(available) func samePasswordsDifferBySaltOnly() throws {
    let password = Array("pencil".utf8)
    let derived = try #require(
      SCRAMKeys.saltedPasswordsInLanes(
        [password, password, password, password], salts: [[1], [2], [1], [3]], iterations: 10))
    #expect(derived[0] == derived[2])
    #expect(Set([0, 1, 3].map { derived[$0].withUnsafeBytes { Array($0) } }).count == 3)
  }

  @Test func boundsOfTheLanesAreLeftToTheLibrary() {
    let (password, salt) = ([UInt8](repeating: 0x78, count: 8), [UInt8](repeating: 1, count: 16))
    let pair = [password, password]
    let five = ([[UInt8]](repeating: password, count: 5), [[UInt8]](repeating: salt, count: 5))
    let long = [UInt8](repeating: 1, count: 65)
    #expect(SCRAMKeys.saltedPasswordsInLanes([], salts: [], iterations: 1) == nil)
    #expect(SCRAMKeys.saltedPasswordsInLanes([password], salts: [salt], iterations: 1) == nil)
    #expect(SCRAMKeys.saltedPasswordsInLanes(five.0, salts: five.1, iterations: 1) == nil)
    #expect(SCRAMKeys.saltedPasswordsInLanes(pair, salts: [salt], iterations: 1) == nil)
    #expect(SCRAMKeys.saltedPasswordsInLanes(pair, salts: [salt, [1]], iterations: 1) == nil)
    #expect(SCRAMKeys.saltedPasswordsInLanes(pair, salts: [long, long], iterations: 1) == nil)
    #expect(SCRAMKeys.saltedPasswordsInLanes(pair, salts: [salt, salt], iterations: 0) == nil)
    #expect(SCRAMKeys.saltedPasswordsInLanes(pair, salts: [salt, salt], iterations: -1) == nil)
    #expect(SCRAMKeys.saltedPasswordsInLanes(pair, salts: [salt, salt], iterations: .max) == nil)
  }

  /// Both ways to SHA-512: the second is what a processor without AVX2 takes.
  @Test(arguments: [true, false]) func aBatchIsWhatItsPasswordsAreOneByOne(inLanes: Bool) throws {
    print("a batch's SHA-512: \(inLanes && SCRAMKeys.lanesAreAvailable ? "in four lanes" : "by the library")")
    let bad = ["", String(repeating: "x", count: 1024)]
    let good = ["½ zażółć", "pencil", String(repeating: "y", count: 1023), String(repeating: "z", count: 128)]
    let more = [String(repeating: "w", count: 129), "pencil", "a"]
    // Groups of any size, with what is refused at either end and within.
    let batches = [[], ["pencil"], bad, [bad[0]] + good + bad + more + [bad[1]]]
    for passwords in batches + (1...7).map({ Array((good + more).prefix($0)) }) {
      let results = SCRAMKeys.deriveKeys(of: passwords, iterations: 10, inLanes: inLanes)
      #expect(results.count == passwords.count)
      var salts: Set<[UInt8]> = []
      for (password, result) in zip(passwords, results) {
        guard !bad.contains(password) else {
          #expect(result == .failure(.password))
          continue
        }
        let keys = try result.get()
        #expect(keys.map(\.hash) == SCRAMHash.allCases)
        for own in keys {
          let alone = try SCRAMKeys.deriveKeys(password: password, salt: own.salt, iterations: 10, hash: own.hash)
          #expect(own == alone, "\(own.hash) of a password of \(password.utf8.count) bytes")
          #expect(own.salt.count == SCRAMKeys.saltByteCount)
          #expect(salts.insert(own.salt).inserted)
        }
      }
    }
  }

  @Test func aBadRowOfAnImportFailsAlone() async throws {
    let stage = try Stage()
    let passwords = ["one", "", "three", "four", String(repeating: "x", count: 1024), "six", "seven"]
    let rows = try passwords.enumerated().map { index, password in
      Accounts.NewUser(address: try BareJID("user\(index)@localhost"), password: password, displayName: nil)
    }
    let results = await stage.accounts.importUsers(rows)
    #expect(results.count == rows.count)
    for ((row, password), result) in zip(zip(rows, passwords), results) {
      switch result {
      case .success(let user):
        #expect(user.address == row.address)
        let keys = try await stage.parley.read { try $0.credentials(of: user.id) }
        #expect(Set(keys.map(\.hash)) == Set(SCRAMHash.allCases))
        #expect(keys.allSatisfy { $0.verifies(password: password) })
      case .failure(let problem):
        #expect(problem.code == (password.isEmpty ? "password-empty" : "password-refused"))
        #expect(password.isEmpty || password.utf8.count > SCRAMKeys.passwordBytesMax)
      }
    }
    #expect(results.filter { if case .failure = $0 { true } else { false } }.count == 2)
  }

  @Test(arguments: [true, false]) func roundsOutOfBoundsAreRefused(inLanes: Bool) {
    for iterations in [-1, 0, 10_000_001] {
      let results = SCRAMKeys.deriveKeys(of: ["a", "b", "c", "d"], iterations: iterations, inLanes: inLanes)
      #expect(results.count == 4)
      #expect(results.allSatisfy { $0 == .failure(.iterations) })
    }
  }
}
