import Crypto
import CryptoExtras

/// The public form of an internal id: 128 bits that are unpredictable, never repeat and reveal nothing (XEP-0313 3.2,
/// XEP-0359 6). It is the number, its epoch and zeros, encrypted by AES-128 with a key of the realm. It needs
/// no index, and verifies itself: a forged id decrypts to zeros once in 2^32.
public struct PublicID: Hashable, Sendable, CustomStringConvertible {
  public let high: UInt64
  public let low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Returns 128 random bits, which stand for no number.
  public static func random() -> PublicID {
    PublicID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
  }

  /// Creates an id.
  ///
  /// - Parameter bytes: the bytes, of which the first 16 are used, the highest first.
  public init(bytes: [UInt8]) {
    precondition(bytes.count >= 16, "an id has 16 bytes")
    func word(_ from: Int) -> UInt64 {
      var word: UInt64 = 0
      for index in from..<from + 8 { word = word << 8 | UInt64(bytes[index]) }
      return word
    }
    self.init(high: word(0), low: word(8))
  }

  public var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16)
    for index in 0..<8 {
      bytes[index] = UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * index))
      bytes[8 + index] = UInt8(truncatingIfNeeded: low >> UInt64(56 - 8 * index))
    }
    return bytes
  }

  /// Parses 32 lower-case hex digits. It is not generic: every message of an app contains such an id.
  public init?(_ text: String) {
    guard text.utf8.count == 32 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    for byte in text.utf8 {
      let digit: UInt64
      switch byte {
      case 0x30...0x39: digit = UInt64(byte - 0x30)
      case 0x61...0x66: digit = UInt64(byte - 0x61 + 10)
      default: return nil
      }
      high = high << 4 | low >> 60
      low = low << 4 | digit
    }
    self.init(high: high, low: low)
  }

  public var description: String {
    String(unsafeUninitializedCapacity: 32) { buffer in
      for index in 0..<16 {
        buffer[index] = Self.digit(high >> UInt64(60 - 4 * index))
        buffer[16 + index] = Self.digit(low >> UInt64(60 - 4 * index))
      }
      return 32
    }
  }

  private static func digit(_ nibble: UInt64) -> UInt8 {
    let value = UInt8(nibble & 15)
    return value < 10 ? 0x30 + value : 0x61 - 10 + value
  }
}

/// Seals and opens the public ids of a realm. There is one key per purpose, so that an id of one kind never opens as
/// another.
///
///     let sealer = Sealer(realm: realm, purpose: .cursor)
///     let id = sealer.seal(7)  // sealer.open(id) == 7
public struct Sealer: Sendable {
  public enum Purpose: String, Sendable { case entry, dialog, cursor, member }

  private let key: SymmetricKey
  private let first: UInt32
  /// The epochs that followed, the first one first, each with the last number before it.
  private let later: [(after: Int64, epoch: UInt32)]

  public init(realm: Realm, purpose: Purpose) {
    let derived = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: realm.key), info: Array("parley \(purpose.rawValue)".utf8),
      outputByteCount: 16)
    self.key = derived
    first = realm.epoch
    later = realm.laterEpochs.map { epoch in
      switch purpose {
      case .entry, .cursor: (epoch.position.number, epoch.number)
      case .dialog: (epoch.dialog.number, epoch.number)
      // These numbers are not of a sequence, and only valid for the next page.
      case .member: (.min, epoch.number)
      }
    }
  }

  /// Returns the epoch in which a number was assigned.
  private func epoch(of number: Int64) -> UInt32 {
    later.isEmpty ? first : later.last { number > $0.after }?.epoch ?? first
  }

  public func seal(_ number: Int64) -> PublicID {
    var block = [UInt8](repeating: 0, count: 16)
    let epoch = epoch(of: number)
    for index in 0..<4 { block[index] = UInt8(truncatingIfNeeded: epoch >> UInt32(24 - 8 * index)) }
    for index in 0..<8 { block[4 + index] = UInt8(truncatingIfNeeded: number >> Int64(56 - 8 * index)) }
    // The block and the key have fixed sizes, which are valid.
    do { try AES.permute(&block, key: key) } catch { preconditionFailure("AES-128 of one block: \(error)") }
    return PublicID(bytes: block)
  }

  /// Returns the number; `nil` if this is not an id of this realm and purpose, or of an epoch in which the number had
  /// another meaning.
  public func open(_ id: PublicID) -> Int64? {
    var block = id.bytes
    do { try AES.inversePermute(&block, key: key) } catch {
      preconditionFailure("AES-128 of one block: \(error)")
    }
    let opened = PublicID(bytes: block)
    guard opened.low & 0xffff_ffff == 0 else { return nil }
    let number = Int64(bitPattern: opened.high << 32 | opened.low >> 32)
    return UInt32(opened.high >> 32) == epoch(of: number) ? number : nil
  }
}

/// A 64-bit digest (FNV-1a with a final mix) to recognise repeats of one author in one dialog. It is not
/// collision-resistant: an author who causes a collision hides only their own message.
public struct Digest64: Sendable {
  public private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325
  public init() {}
  public mutating func combine(_ bytes: UnsafeRawBufferPointer) {
    var hash = value
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    value = hash
  }
  public mutating func combine(_ text: String) {
    var text = text
    text.withUTF8 { combine(UnsafeRawBufferPointer($0)) }
    value = (value ^ 0xff) &* 0x100_0000_01b3
  }
  public func finish() -> UInt64 {
    var hash = value
    hash ^= hash >> 33
    hash = hash &* 0xff51_afd7_ed55_8ccd
    hash ^= hash >> 33
    return hash
  }
}
