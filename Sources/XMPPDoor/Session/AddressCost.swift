import XMLStream

/// The cost of the addresses in a long request, such as one that blocks many or sets affiliations: their normal form (RFC 7622 3) takes
/// an event loop several times as long outside ASCII, and for encoded labels of a domain, as all else of the request.
enum AddressCost {
  /// Returns the stanzas as which a request counts beside itself. What of it is an address shows only later, so all its bytes outside ASCII
  /// count; a request that has some kilobytes of them in other texts is rare.
  static func stanzas(of request: Element) -> Int {
    if request.heldBytes < DoorLimits.longRequestBytes { return 0 }
    let bytes = request.withDecodedBytes { bytes in
      var count = 0
      // The last four bytes, letters in lower case.
      var last: UInt32 = 0
      for byte in bytes {
        count += Int(byte >> 7)
        last = last << 8 | UInt32(byte | 0x20)
        if last == encodedLabel { count += DoorLimits.encodedLabelBytes }
      }
      return count
    }
    return bytes / DoorLimits.addressBytesPerStanza
  }

  /// The beginning of an A-label, `xn--` (RFC 5890 2.3.2.1).
  private static let encodedLabel: UInt32 = 0x786E_2D2D
}
