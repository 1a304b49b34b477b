import Crypto

/// The hash of a SCRAM mechanism. The raw values are stored; they never change.
public enum SCRAMHash: UInt8, Sendable, CaseIterable {
  case sha1 = 1
  case sha256 = 2
  case sha512 = 3

  /// The length of a key of this hash, in bytes.
  public var byteCount: Int {
    switch self {
    case .sha1: Insecure.SHA1Digest.byteCount
    case .sha256: SHA256Digest.byteCount
    case .sha512: SHA512Digest.byteCount
    }
  }
}

/// The stored form of a password (RFC 5802 3): a salt, an iteration count and two keys from which the password cannot
/// be recovered. One value serves SCRAM logins (two HMACs each) and plain passwords (one derivation each).
///
/// `deriveKeys` and `verifies(password:)` cost about half a millisecond per 4,096 iterations: call them off the event
/// loop. Passwords are taken as given; prepare them first with the OpaqueString profile (RFC 8265 4.2), the same way on
/// every path.
public struct SCRAMKeys: Sendable, Equatable {
  public let hash: SCRAMHash
  public let salt: [UInt8]
  /// The number of hash iterations.
  public let iterations: Int
  /// H(ClientKey), which verifies a client's knowledge of the password (RFC 5802 3).
  public let storedKey: [UInt8]
  /// The key that proves the server's knowledge of the keys (RFC 5802 3).
  public let serverKey: [UInt8]

  /// The default, and the least that a server should announce for SHA-1 (RFC 5802 5.1) and SHA-256 (RFC 7677 4): a
  /// login from a telephone pays for it too.
  public static let iterationsDefault = 4096
  /// The bounds of an iteration count. The upper one keeps a hostile import from stalling every login of its users.
  public static let iterationsAllowed = 1...10_000_000
  /// 16 bytes: no two users of any server share a salt.
  public static let saltByteCount = 16
  /// The longest password; longer ones are refused before any hashing. RFC 4616 2 requires at least 255 bytes.
  public static let passwordBytesMax = 1023

  /// Creates keys as stored. Nothing is checked: see `isComplete`.
  public init(hash: SCRAMHash, salt: [UInt8], iterations: Int, storedKey: [UInt8], serverKey: [UInt8]) {
    self.hash = hash
    self.salt = salt
    self.iterations = iterations
    self.storedKey = storedKey
    self.serverKey = serverKey
  }

  /// Whether the keys have the lengths of their hash; `false` means damaged or foreign data.
  public var isComplete: Bool {
    storedKey.count == hash.byteCount && serverKey.count == hash.byteCount
      && !salt.isEmpty && Self.iterationsAllowed.contains(iterations)
  }
}

extension SCRAMHash: FieldCodable {}

/// The keys of a user's password for one mechanism.
struct Credential {
  let user: UserID
  let keys: SCRAMKeys
}

extension Credential: Record {
  enum Field: String, CaseIterable, Sendable {
    case user, hash, salt, iterations, storedKey = "stored_key", serverKey = "server_key"
  }
  static let kind = "credentials"
  static let key: [Field] = [.user, .hash]
  var fields: [FieldValue] {
    [
      user.field, keys.hash.field, keys.salt.field, keys.iterations.field, keys.storedKey.field, keys.serverKey.field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    user = try fields.next()
    keys = try SCRAMKeys(
      hash: fields.next(), salt: fields.next(), iterations: fields.next(), storedKey: fields.next(),
      serverKey: fields.next())
  }
}

extension RecordReader {
  /// Returns the hashes of which the most users have keys: all of them, unless some came from servers that keep one.
  public func commonHashes() throws -> Set<SCRAMHash> {
    let counts = try SCRAMHash.allCases.map { ($0, try count(Credential.self, .equal(.hash, $0))) }
    let most = counts.map(\.1).max()
    return Set(counts.filter { $0.1 == most }.map(\.0))
  }

  /// Returns the keys of the user's password, by hash.
  public func credentials(of user: UserID) throws -> [SCRAMKeys] {
    try records(Credential.self, .equal(.user, user)).map(\.keys)
  }
}

extension RecordWriter {
  /// Replaces all keys of the user's password.
  public func setCredentials(_ keys: [SCRAMKeys], for user: UserID) throws {
    try remove(Credential.self, .equal(.user, user))
    for keys in keys { try put(Credential(user: user, keys: keys)) }
  }
}
