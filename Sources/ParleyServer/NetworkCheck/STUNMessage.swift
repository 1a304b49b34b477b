import Basics
import Crypto

/// A message of STUN (RFC 8489 5) and TURN (RFC 8656): a type, a transaction, attributes.
struct STUNMessage: Hashable, Sendable {
  /// Method and class together.
  enum Kind: UInt16, Sendable {
    case bindingRequest = 0x0001
    case bindingSuccess = 0x0101
    case bindingError = 0x0111
    case allocateRequest = 0x0003
    case allocateSuccess = 0x0103
    case allocateError = 0x0113
    case refreshRequest = 0x0004
    case refreshSuccess = 0x0104
    case refreshError = 0x0114
  }

  /// The attributes that this side uses (RFC 8489 18.3, RFC 8656 18).
  enum Attribute: UInt16, Sendable {
    case username = 0x0006
    case messageIntegrity = 0x0008
    case errorCode = 0x0009
    case lifetime = 0x000D
    case realm = 0x0014
    case nonce = 0x0015
    case relayedAddress = 0x0016
    case requestedTransport = 0x0019
    case mappedAddress = 0x0020
  }

  let kind: Kind
  /// 12 bytes.
  let transaction: [UInt8]
  /// The known attributes in their order.
  private var attributes: [(type: Attribute, value: [UInt8])] = []

  private static let cookie: [UInt8] = [0x21, 0x12, 0xA4, 0x42]

  init(_ kind: Kind, transaction: [UInt8] = .random(count: 12)) {
    self.kind = kind
    self.transaction = transaction
  }

  subscript(_ type: Attribute) -> [UInt8]? { attributes.first { $0.type == type }?.value }

  func text(_ type: Attribute) -> String? { self[type].map { String(decoding: $0, as: UTF8.self) } }

  mutating func add(_ type: Attribute, _ value: [UInt8]) { attributes.append((type, value)) }

  // MARK: Bytes

  var bytes: [UInt8] { Self.bytes(kind, transaction, attributes, length: nil) }

  /// Returns the bytes with a code of integrity behind the other attributes (14.5), by the long-term credentials of 9.2.2.
  func bytes(signedBy username: String, password: String, realm: String) -> [UInt8] {
    let key = Insecure.MD5.hash(data: Array("\(username):\(realm):\(password)".utf8))
    let unsigned = Self.bytes(kind, transaction, attributes, length: 24)
    let code = HMAC<Insecure.SHA1>.authenticationCode(for: unsigned, using: SymmetricKey(data: key))
    return Self.bytes(kind, transaction, attributes + [(.messageIntegrity, Array(code))], length: nil)
  }

  /// - Parameter length: The bytes that the header counts besides the attributes that are there.
  private static func bytes(
    _ kind: Kind, _ transaction: [UInt8], _ attributes: [(type: Attribute, value: [UInt8])], length: Int?
  ) -> [UInt8] {
    var body: [UInt8] = []
    for (type, value) in attributes {
      body += big(type.rawValue) + big(UInt16(clamping: value.count)) + value
      while body.count % 4 != 0 { body.append(0) }
    }
    return big(kind.rawValue) + big(UInt16(clamping: body.count + (length ?? 0))) + cookie + transaction + body
  }

  private static func big(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xff)] }

  /// Reads a datagram; nil if it is no message of a known kind.
  init?(_ bytes: [UInt8]) {
    func number(_ at: Int) -> UInt16 { UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1]) }
    guard bytes.count >= 20, let kind = Kind(rawValue: number(0)), Int(number(2)) == bytes.count - 20,
      Array(bytes[4..<8]) == Self.cookie
    else { return nil }
    self.init(kind, transaction: Array(bytes[8..<20]))
    var at = 20
    while at < bytes.count {
      guard at + 4 <= bytes.count else { return nil }
      let (type, length) = (number(at), Int(number(at + 2)))
      guard at + 4 + length <= bytes.count else { return nil }
      if let type = Attribute(rawValue: type) { add(type, Array(bytes[at + 4..<at + 4 + length])) }
      at += 4 + (length + 3) / 4 * 4
    }
  }

  // MARK: Values

  /// The code and the reason of an error (14.8).
  var error: (code: Int, reason: String)? {
    guard let value = self[.errorCode], value.count >= 4 else { return nil }
    return (Int(value[2] & 7) * 100 + Int(value[3]), Line.safe(String(decoding: value.dropFirst(4), as: UTF8.self)))
  }

  /// Returns the address and port of an attribute like XOR-MAPPED-ADDRESS (14.2).
  func address(_ type: Attribute) -> (address: IPAddress, port: Int)? {
    guard let value = self[type], value.count == 8 || value.count == 20 else { return nil }
    let mask = Self.cookie + transaction
    let plain = zip(value[4...], mask).map { $0 ^ $1 }
    guard let address = plain.withUnsafeBytes({ IPAddress(bytes: $0) }) else { return nil }
    return (address, Int(value[2] ^ mask[0]) << 8 | Int(value[3] ^ mask[1]))
  }

  static func == (a: Self, b: Self) -> Bool { a.bytes == b.bytes }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
