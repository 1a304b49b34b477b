import Accounts
import Testing

@testable import Dialogs

@Suite struct SCRAMKeysTests {
  private static func bytes(_ hex: String) -> [UInt8] {
    var result: [UInt8] = []
    var rest = hex[...]
    while let byte = UInt8(rest.prefix(2), radix: 16) {
      result.append(byte)
      rest = rest.dropFirst(2)
    }
    return result
  }

  /// Salts and password of RFC 5802 5 (QSXCR+Q6sek8bf92) and RFC 7677 3 (W22ZaJ0SNY7soEsUEjb6gQ==), here in hex. The
  /// keys were computed by Python's hashlib and hmac from the formulas of RFC 5802 3: an independent implementation.
  static let vectors: [(hash: SCRAMHash, salt: String, storedKey: String, serverKey: String)] = [
    (
      .sha1, "4125c247e43ab1e93c6dff76", "e9d94660c39d65c38fbad91c358f14da0eef2bd6",
      "0fe09258b3ac852ba502cc62ba903eaacdbf7d31"
    ),
    (
      .sha256, "5b6d99689d12358eeca04b141236fa81",
      "586e5df283e6dceb5c3e791d8b8528ec191e664045ce971792e2e6b5bb13e2a6",
      "c1f3cbc1c13a9d35a14c0990eed97629ea225863e566a4314ab99f3f00e5d9d5"
    ),
    (
      .sha512, "5b6d99689d12358eeca04b141236fa81",
      "e8002e6f7d3ae446119b216933644dc2a2be7869eb918b8459b5e7d7d2ec12606aceef106825cd735170a675fd3611f684affad1dce3f43a0ee43bd590e1dbbe",
      "8d91db6230b5687874fe129bc7206e1858c3ae08e02934f57ac03b6b05a229c459d28ff46f5c9611e6c179256490215ec1ff759cb0df285db89af0f99e613aac"
    ),
  ]

  @Test(arguments: 0..<vectors.count) func keysMatchAnIndependentImplementation(index: Int) throws {
    let vector = Self.vectors[index]
    let keys = try SCRAMKeys.deriveKeys(
      password: "pencil", salt: Self.bytes(vector.salt), iterations: 4096, hash: vector.hash)
    #expect(keys.storedKey == Self.bytes(vector.storedKey))
    #expect(keys.serverKey == Self.bytes(vector.serverKey))
    #expect(keys.isComplete)
  }

  @Test(arguments: SCRAMHash.allCases) func verifiesOnlyItsOwnPassword(hash: SCRAMHash) throws {
    let keys = try SCRAMKeys.deriveKeys(password: "½ zażółć", salt: [1, 2, 3], iterations: 10, hash: hash)
    #expect(keys.verifies(password: "½ zażółć"))
    #expect(!keys.verifies(password: "½ zazółć"))
    #expect(!keys.verifies(password: ""))
  }

  @Test func damagedKeysVerifyNothing() throws {
    let good = try SCRAMKeys.deriveKeys(password: "pencil", salt: [1], iterations: 10, hash: .sha256)
    let short = SCRAMKeys(
      hash: .sha256, salt: good.salt, iterations: 10, storedKey: Array(good.storedKey.dropLast()),
      serverKey: good.serverKey)
    #expect(!short.isComplete)
    #expect(!short.verifies(password: "pencil"))
    let other = SCRAMKeys(
      hash: .sha256, salt: good.salt, iterations: 11, storedKey: good.storedKey, serverKey: good.serverKey)
    #expect(!other.verifies(password: "pencil"))
  }

  @Test func boundsAreErrors() {
    #expect(throws: SCRAMKeysError.password) { try SCRAMKeys.deriveKeys(password: "", salt: [1], hash: .sha1) }
    #expect(throws: SCRAMKeysError.password) {
      try SCRAMKeys.deriveKeys(password: String(repeating: "x", count: 1024), salt: [1], hash: .sha1)
    }
    #expect(throws: SCRAMKeysError.salt) { try SCRAMKeys.deriveKeys(password: "x", salt: [], hash: .sha1) }
    #expect(throws: SCRAMKeysError.iterations) {
      try SCRAMKeys.deriveKeys(password: "x", salt: [1], iterations: 0, hash: .sha1)
    }
    #expect(throws: SCRAMKeysError.iterations) {
      try SCRAMKeys.deriveKeys(password: "x", salt: [1], iterations: 10_000_001, hash: .sha1)
    }
  }

  @Test func decoysAreStableDistinctAndVerifyNothing() {
    let secret = [UInt8](repeating: 7, count: 32)
    let romeo = SCRAMKeys.decoy(username: "romeo", secret: secret, iterations: 10, hash: .sha256)
    #expect(romeo == SCRAMKeys.decoy(username: "romeo", secret: secret, iterations: 10, hash: .sha256))
    #expect(romeo.isComplete)
    #expect(romeo.salt.count == SCRAMKeys.saltByteCount)
    #expect(romeo.salt != SCRAMKeys.decoy(username: "juliet", secret: secret, iterations: 10, hash: .sha256).salt)
    #expect(romeo.salt != SCRAMKeys.decoy(username: "romeo", secret: secret, iterations: 10, hash: .sha1).salt)
    #expect(romeo.salt != SCRAMKeys.decoy(username: "romeo", secret: [1], iterations: 10, hash: .sha256).salt)
    #expect(!romeo.verifies(password: "anything"))
  }
}
