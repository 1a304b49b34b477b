/// A name of the DNS, in the form of its messages (RFC 1035 3.1). Names that differ only in the case of ASCII letters
/// are one name (RFC 4343 3): letters are kept small.
public struct DomainName: Hashable, Sendable {
  /// The labels, each after its length, and the root's empty one.
  let bytes: [UInt8]

  /// The name above all others; as the target of an SRV record it means that there is no such service (RFC 2782).
  public static let root = DomainName(bytes: [0])

  /// Parses a name of ASCII letters, digits, `-` and `_`, with or without the root's final dot; labels in other scripts
  /// must be A-labels already. `nil` for other characters, labels of no or more than 63 bytes, and names of more than
  /// 255 (RFC 1035 2.3.4).
  public init?(_ text: String) {
    let absolute = text.hasSuffix(".") ? text.dropLast() : text[...]
    let labels = absolute.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard !absolute.isEmpty, labels.allSatisfy({ $0.allSatisfy(Self.isPlain) }) else { return nil }
    self.init(labels: labels.map { Array($0) })
  }

  /// Makes a name of labels with any bytes; `nil` for lengths that no name has.
  init?(labels: [[UInt8]]) {
    var bytes: [UInt8] = []
    for label in labels {
      guard (1...63).contains(label.count) else { return nil }
      bytes.append(UInt8(truncatingIfNeeded: label.count))
      bytes += label.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
    guard bytes.count < 255 else { return nil }
    self.bytes = bytes + [0]
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the name below this one, as in `_xmpp-server._tcp` below a domain; `nil` where it would be too long.
  public func below(_ labels: String...) -> DomainName? {
    DomainName(labels: labels.map { Array($0.utf8) } + self.labels)
  }

  public var isRoot: Bool { bytes.count == 1 }

  /// The zone of the name: its last two labels, as domains of one zone are mostly one owner's.
  var zone: DomainName { DomainName(labels: Array(labels.suffix(2))) ?? self }

  private var labels: [[UInt8]] {
    var labels: [[UInt8]] = []
    var rest = bytes[...]
    while let count = rest.popFirst(), count > 0 {
      labels.append(Array(rest.prefix(Int(count))))
      rest = rest.dropFirst(Int(count))
    }
    return labels
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

/// The written form has no final dot; bytes that are no part of host names are `\DDD` (RFC 1035 5.1).
extension DomainName: CustomStringConvertible {
  public var description: String {
    if isRoot { return "." }
    return labels.map { label in
      label.map { byte in
        if Self.isPlain(byte) { return String(Unicode.Scalar(byte)) }
        let digits = String(byte)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
      }.joined()
    }.joined(separator: ".")
  }
}
