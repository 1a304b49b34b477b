import Basics
import CKeyDerivation
import Crypto
import CryptoExtras
public import Dialogs

/// The reason why keys could not be derived.
public enum SCRAMKeysError: Error, Sendable, Equatable {
  /// The password is empty or longer than `SCRAMKeys.passwordBytesMax`.
  case password
  /// The salt is empty.
  case salt
  /// The iteration count is outside `SCRAMKeys.iterationsAllowed`.
  case iterations
  /// The crypto library refused the derivation.
  case derivation
}

extension SCRAMKeys {
  /// Derives the keys of a prepared password (RFC 5802 3).
  public static func deriveKeys(
    password: String, salt: [UInt8], iterations: Int = iterationsDefault, hash: SCRAMHash
  ) throws(SCRAMKeysError) -> SCRAMKeys {
    guard isInBounds(password) else { throw .password }
    guard !salt.isEmpty else { throw .salt }
    guard iterationsAllowed.contains(iterations) else { throw .iterations }
    let salted = try saltedPassword(Array(password.utf8), salt: salt, iterations: iterations, hash: hash)
    return keys(salted, salt: salt, iterations: iterations, hash: hash)
  }

  /// Derives the keys of a password that a client has salted and hashed itself (`SaltedPassword`, RFC 5802 3). It costs
  /// only three hashes.
  public static func keys(
    saltedPassword: [UInt8], salt: [UInt8], iterations: Int, hash: SCRAMHash
  ) throws(SCRAMKeysError) -> SCRAMKeys {
    guard saltedPassword.count == hash.byteCount else { throw .password }
    guard !salt.isEmpty else { throw .salt }
    guard iterationsAllowed.contains(iterations) else { throw .iterations }
    return keys(SymmetricKey(data: saltedPassword), salt: salt, iterations: iterations, hash: hash)
  }

  /// Whether this processor derives SHA-512 for several passwords at a time; otherwise the library does it, one by one.
  static let lanesAreAvailable = parley_pbkdf2_sha512_x4_is_available()
  /// The number of passwords per derivation: a batch of a multiple of it is cheapest.
  static let laneCount = parley_lane_count

  /// Derives the keys of prepared passwords for every hash, in the order of `passwords` and of `SCRAMHash.allCases`,
  /// each with a random salt of its own. They equal those of `deriveKeys(password:salt:iterations:hash:)` with the same
  /// salt, and an invalid password fails alone; but SHA-512, the most expensive hash, is derived for four passwords at
  /// a time if the processor can (docs/decisions/0007-four-lanes-of-sha-512.md).
  ///
  /// - Parameter inLanes: `false` to use only the library.
  static func deriveKeys(
    of passwords: [String], iterations: Int = iterationsDefault, inLanes: Bool = lanesAreAvailable
  ) -> [Result<[SCRAMKeys], SCRAMKeysError>] {
    let done = inLanes ? keysInLanes(of: passwords, iterations: iterations) : [:]
    return passwords.indices.map { index in
      Result { () throws(SCRAMKeysError) in
        var keys: [SCRAMKeys] = []
        for hash in SCRAMHash.allCases {
          if hash == .sha512, let ready = done[index] {
            keys.append(ready)
          } else {
            keys.append(
              try deriveKeys(password: passwords[index], salt: randomSalt(), iterations: iterations, hash: hash))
          }
        }
        return keys
      }
    }
  }

  /// Returns whether these keys belong to a prepared password, comparing in constant time; `false` for incomplete keys.
  public func verifies(password: String) -> Bool {
    guard isComplete,
      let other = try? Self.deriveKeys(password: password, salt: salt, iterations: iterations, hash: hash)
    else { return false }
    return other.storedKey.isEqualInConstantTime(to: storedKey)
  }

  /// Returns the index of the keys that belong to a prepared password; `nil` if there are none. All keys have the salt
  /// and iterations of the first, so that it costs one derivation; all are compared, in constant time.
  public static func match(password: String, among keys: [SCRAMKeys]) -> Int? {
    guard let first = keys.first, first.isComplete,
      let other = try? deriveKeys(
        password: password, salt: first.salt, iterations: first.iterations, hash: first.hash)
    else { return nil }
    var found: Int?
    for (index, key) in keys.enumerated() where other.storedKey.isEqualInConstantTime(to: key.storedKey) {
      found = index
    }
    return found
  }

  /// Returns keys for a user who does not exist: verifying a password against them costs as much as for a real user and
  /// always fails except by guessing a hash. A name always has the same salt, so that asking twice reveals nothing.
  ///
  /// - Parameters:
  ///   - username: the prepared name asked for.
  ///   - secret: the server's own secret, at least 16 random bytes that stay the same over restarts.
  public static func decoy(
    username: String, secret: [UInt8], iterations: Int = iterationsDefault, hash: SCRAMHash
  ) -> SCRAMKeys {
    let key = SymmetricKey(data: secret)
    func bytes(_ label: String, _ count: Int) -> [UInt8] {
      let code = HMAC<SHA512>.authenticationCode(for: Array("\(label)\0\(hash.rawValue)\0\(username)".utf8), using: key)
      return Array(code.prefix(count))
    }
    return SCRAMKeys(
      hash: hash, salt: bytes("salt", saltByteCount), iterations: iterations,
      storedKey: bytes("stored", hash.byteCount), serverKey: bytes("server", hash.byteCount))
  }

  /// Returns keys that no password fits: nothing is known to hash to zeros. Salt and iterations are real ones.
  public static func locked(
    hash: SCRAMHash, salt: [UInt8] = randomSalt(), iterations: Int = AccountLimits.scramIterations
  ) -> SCRAMKeys {
    let nothing = [UInt8](repeating: 0, count: hash.byteCount)
    return SCRAMKeys(hash: hash, salt: salt, iterations: iterations, storedKey: nothing, serverKey: nothing)
  }

  /// Keys with the same salt and iterations that no password fits.
  public var locked: SCRAMKeys { Self.locked(hash: hash, salt: salt, iterations: iterations) }
  public var isLocked: Bool { storedKey.allSatisfy { $0 == 0 } }

  private static func isInBounds(_ password: String) -> Bool {
    !password.isEmpty && password.utf8.count <= passwordBytesMax
  }

  public static func randomSalt() -> [UInt8] { .random(count: saltByteCount) }

  /// Returns SHA-512 keys by the index of their password. The library derives, or refuses, the missing ones.
  private static func keysInLanes(of passwords: [String], iterations: Int) -> [Int: SCRAMKeys] {
    guard iterationsAllowed.contains(iterations) else { return [:] }
    // Invalid passwords must not take lanes from valid ones.
    let good = passwords.indices.filter { isInBounds(passwords[$0]) }
    var done: [Int: SCRAMKeys] = [:]
    for start in stride(from: 0, to: good.count, by: laneCount) {
      let group = good[start..<min(start + laneCount, good.count)]
      let salts = group.map { _ in randomSalt() }
      guard
        let salted = saltedPasswordsInLanes(
          group.map { Array(passwords[$0].utf8) }, salts: salts, iterations: iterations)
      else { continue }
      for (lane, index) in group.enumerated() {
        done[index] = keys(salted[lane], salt: salts[lane], iterations: iterations, hash: .sha512)
      }
    }
    return done
  }

  /// Returns PBKDF2-HMAC-SHA-512 of two to four passwords at once, whose salts have one length; `nil` if this processor
  /// cannot do it or a bound is violated, and for a single password, for which the library is faster. Not private, for
  /// the tests that compare it with the library.
  static func saltedPasswordsInLanes(_ passwords: [[UInt8]], salts: [[UInt8]], iterations: Int) -> [SymmetricKey]? {
    guard (2...laneCount).contains(passwords.count), salts.count == passwords.count,
      salts.allSatisfy({ $0.count == salts[0].count }), let rounds = UInt32(exactly: iterations)
    else { return nil }
    // Unused lanes derive something that is ignored.
    var blocks = [UInt8](repeating: 0, count: laneCount * parley_key_block_byte_count)
    for (lane, password) in passwords.enumerated() {
      // A key longer than the hash's block is hashed first (RFC 2104 2).
      let key = password.count > parley_key_block_byte_count ? Array(SHA512.hash(data: password)) : password
      let start = lane * parley_key_block_byte_count
      blocks.replaceSubrange(start..<start + key.count, with: key)
    }
    let spare = [UInt8](repeating: 0, count: (laneCount - salts.count) * salts[0].count)
    var derived = [UInt8](repeating: 0, count: laneCount * parley_derived_key_byte_count)
    guard parley_pbkdf2_sha512_x4(blocks, salts.joined() + spare, salts[0].count, rounds, &derived) else { return nil }
    return passwords.indices.map { lane in
      let start = lane * parley_derived_key_byte_count
      return SymmetricKey(data: derived[start..<start + parley_derived_key_byte_count])
    }
  }

  private static func saltedPassword(
    _ password: [UInt8], salt: [UInt8], iterations: Int, hash: SCRAMHash
  ) throws(SCRAMKeysError) -> SymmetricKey {
    let function: KDF.Insecure.PBKDF2.HashFunction =
      switch hash {
      case .sha1: .insecureSHA1
      case .sha256: .sha256
      case .sha512: .sha512
      }
    do {
      // "Unchecked" because the library requires 210,000 rounds; RFC 5802 leaves the count to the server, and every
      // client pays for it at every login.
      return try KDF.Insecure.PBKDF2.deriveKey(
        from: password, salt: salt, using: function, outputByteCount: hash.byteCount,
        unsafeUncheckedRounds: iterations)
    } catch {
      throw .derivation
    }
  }

  private static func keys(_ salted: SymmetricKey, salt: [UInt8], iterations: Int, hash: SCRAMHash) -> SCRAMKeys {
    switch hash {
    case .sha1: keys(Insecure.SHA1.self, salted, salt: salt, iterations: iterations, hash: hash)
    case .sha256: keys(SHA256.self, salted, salt: salt, iterations: iterations, hash: hash)
    case .sha512: keys(SHA512.self, salted, salt: salt, iterations: iterations, hash: hash)
    }
  }

  private static func keys<H: HashFunction>(
    _: H.Type, _ salted: SymmetricKey, salt: [UInt8], iterations: Int, hash: SCRAMHash
  ) -> SCRAMKeys {
    let clientKey = HMAC<H>.authenticationCode(for: Array("Client Key".utf8), using: salted)
    let serverKey = HMAC<H>.authenticationCode(for: Array("Server Key".utf8), using: salted)
    return SCRAMKeys(
      hash: hash, salt: salt, iterations: iterations,
      storedKey: Array(H.hash(data: Array(clientKey))), serverKey: Array(serverKey))
  }
}
