/// The places of the parts of a normalised JID, in octets of its text.
struct JIDOffsets: Hashable, Sendable {
  /// The octets of the localpart; 0 if there is none.
  var localLength: UInt16
  /// The end of the domainpart; equal to the text's length if there is no resourcepart.
  var domainEnd: UInt16

  var domainStart: Int { localLength == 0 ? 0 : Int(localLength) + 1 }

  /// Finds the parts of a JID that is already in normal form and within ASCII: lower-case letters, digits and the
  /// punctuation each part allows. `nil` means only that the full rules must decide.
  ///
  /// Nearly every address on the wire is of this kind, and it is checked once per stanza: so this is one pass over the
  /// octets without tables or allocation.
  init?(normal bytes: UnsafeRawBufferPointer) {
    let count = bytes.count
    guard count <= AddressLimits.jidBytes else { return nil }
    let dot = UInt8(ascii: ".")
    let hyphen = UInt8(ascii: "-")

    // The text before the first "/" is a domainpart, or, if an "@" follows, a localpart: both are checked at once.
    var at: Int?
    var isLocal = true
    var isDomain = true
    var previous = dot
    var labelStart = 0
    var index = 0
    while index < count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "/") { break }
      if byte == UInt8(ascii: "@") {
        guard at == nil, index > 0, index <= AddressLimits.partBytes, isLocal else { return nil }
        at = index
        isDomain = true
        previous = dot
        labelStart = index + 1
      } else {
        if at == nil { isLocal = isLocal && Self.isPlainLocal(byte) }
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): break
        // Two hyphens may be an A-label ("xn--"), which the full rules decode.
        case hyphen: isDomain = isDomain && previous != dot && previous != hyphen
        case dot:
          isDomain = isDomain && previous != dot && previous != hyphen && index - labelStart <= AddressLimits.labelBytes
          labelStart = index + 1
        default: isDomain = false
        }
        previous = byte
      }
      index += 1
    }
    let domainEnd = index
    let domainStart = at.map { $0 + 1 } ?? 0
    guard isDomain, previous != dot, previous != hyphen, domainEnd - labelStart <= AddressLimits.labelBytes,
      domainEnd - domainStart <= AddressLimits.partBytes
    else {
      return nil
    }

    if index < count {
      index += 1
      guard index < count, count - index <= AddressLimits.partBytes, bytes[index] != UInt8(ascii: " ") else {
        return nil
      }
      while index < count {
        guard (0x20...0x7E).contains(bytes[index]) else { return nil }
        index += 1
      }
    }
    // Both fit: a JID has at most `AddressLimits.jidBytes` octets.
    self.localLength = UInt16(truncatingIfNeeded: at ?? 0)
    self.domainEnd = UInt16(truncatingIfNeeded: domainEnd)
  }

  /// Finds the parts of a JID that was in normal form when it was stored, by its separators. Returns `nil` if a part is empty or too long
  /// or has a control character, or if there is a space outside the resourcepart.
  init?(stored text: String.UTF8View) {
    let bare = text.prefix { $0 != UInt8(ascii: "/") }
    let local = bare.firstIndex(of: UInt8(ascii: "@")).map { bare[..<$0] }
    let domain = local.map { bare[bare.index(after: $0.endIndex)...] } ?? bare
    func isPart(_ part: Substring.UTF8View, from first: UInt8) -> Bool {
      (1...AddressLimits.partBytes).contains(part.count) && part.allSatisfy { $0 >= first && $0 != 0x7F }
    }
    guard local.map({ isPart($0, from: 0x21) }) ?? true, isPart(domain, from: 0x21),
      bare.endIndex == text.endIndex || isPart(text[text.index(after: bare.endIndex)...], from: 0x20)
    else { return nil }
    self.init(localLength: local?.count ?? 0, domainEnd: bare.count)
  }

  init(localLength: Int, domainEnd: Int) {
    self.localLength = UInt16(truncatingIfNeeded: localLength)
    self.domainEnd = UInt16(truncatingIfNeeded: domainEnd)
  }

  /// Returns whether a byte is printable ASCII, no capital and none of the eight characters of RFC 7622 3.3.1.
  private static func isPlainLocal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): false
    case 0x21...0x7E: !isExcludedFromLocal(byte)
    default: false
    }
  }

  /// Returns whether a byte is one of the eight characters that PRECIS allows in an identifier and XMPP forbids in a
  /// localpart (RFC 7622 3.3.1).
  static func isExcludedFromLocal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "/"), UInt8(ascii: ":"),
      UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "@"):
      true
    default: false
    }
  }
}
