/// JID escaping (XEP-0106): localparts made of foreign identifiers that hold characters a localpart may not.
///
/// It applies to localparts only. Servers compare and route the escaped form (XEP-0106 5.1); it is unescaped only to be
/// shown or handed to a foreign system.
public enum JIDEscaping {
  /// Returns the escaped form of a foreign identifier (XEP-0106 4.2, 5.2).
  ///
  /// A backslash is escaped only where the input would otherwise read as an escape sequence. Capital hexadecimal digits
  /// count there too, because a localpart is mapped to lower case afterwards and would then become one.
  ///
  /// "\20" must not begin or end a localpart (XEP-0106 5.1), so a space there stays a space, and making a JID of the
  /// result fails with `JIDError.disallowed`; removing it instead would let two identifiers meet in one address.
  public static func escape(_ foreign: String) -> String {
    let bytes = Array(foreign.utf8)
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "\\"):
        if let first = bytes.dropFirst(index + 1).first, let second = bytes.dropFirst(index + 2).first,
          unescaped(first, (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(second) ? second | 0x20 : second) != nil
        {
          out += escapedBackslash
        } else {
          out.append(byte)
        }
      case UInt8(ascii: " "):
        out += index == 0 || index == bytes.count - 1 ? [byte] : Array(#"\20"#.utf8)
      default:
        if JIDOffsets.isExcludedFromLocal(byte) {
          out += [UInt8(ascii: "\\"), digit(byte >> 4), digit(byte & 15)]
        } else {
          out.append(byte)
        }
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Returns the foreign identifier of an escaped localpart (XEP-0106 4.3). Sequences outside the table, in capitals,
  /// or "\20" at either end stay as they are.
  public static func unescape(_ localpart: String) -> String {
    let bytes = Array(localpart.utf8)
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\\"), index + 2 < bytes.count,
        let byte = unescaped(bytes[index + 1], bytes[index + 2]),
        byte != UInt8(ascii: " ") || (index > 0 && index + 3 < bytes.count)
      {
        out.append(byte)
        index += 3
      } else {
        out.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: out, as: UTF8.self)
  }

  private static let escapedBackslash = Array(#"\5c"#.utf8)

  /// Returns the character for two hexadecimal digits in the table of XEP-0106 4.3; case is significant.
  private static func unescaped(_ first: UInt8, _ second: UInt8) -> UInt8? {
    switch (first, second) {
    case (UInt8(ascii: "2"), UInt8(ascii: "0")): UInt8(ascii: " ")
    case (UInt8(ascii: "2"), UInt8(ascii: "2")): UInt8(ascii: "\"")
    case (UInt8(ascii: "2"), UInt8(ascii: "6")): UInt8(ascii: "&")
    case (UInt8(ascii: "2"), UInt8(ascii: "7")): UInt8(ascii: "'")
    case (UInt8(ascii: "2"), UInt8(ascii: "f")): UInt8(ascii: "/")
    case (UInt8(ascii: "3"), UInt8(ascii: "a")): UInt8(ascii: ":")
    case (UInt8(ascii: "3"), UInt8(ascii: "c")): UInt8(ascii: "<")
    case (UInt8(ascii: "3"), UInt8(ascii: "e")): UInt8(ascii: ">")
    case (UInt8(ascii: "4"), UInt8(ascii: "0")): UInt8(ascii: "@")
    case (UInt8(ascii: "5"), UInt8(ascii: "c")): UInt8(ascii: "\\")
    default: nil
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
