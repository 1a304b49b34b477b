/// The rules for domainparts (RFC 7622 3.2): an IPv6 literal in brackets, or a name of labels (an IPv4 address looks
/// like one).
///
/// A name is mapped as RFC 5895 2 describes (lower case, width, NFC, ideographic full stops to dots), A-labels are
/// decoded, and every label must then hold only what NR-LDH labels and U-labels may (RFC 7622 3.2.1, RFC 5892), and
/// have at most 63 octets in its encoded form (RFC 1034 3.1).
enum Domainpart {
  static func enforce(_ raw: String) throws(JIDError) -> String {
    guard raw.utf8.count <= AddressLimits.profileInputBytes else { throw .tooLong(.domain) }
    if isPlain(raw) { return raw }
    if raw.utf8.first == UInt8(ascii: "[") { return try enforceLiteral(raw) }

    // The final dot is removed before anything else (RFC 7622 3.2).
    let name = raw.utf8.last == UInt8(ascii: ".") ? String(raw.utf8.dropLast()) ?? raw : raw
    guard !name.isEmpty else { throw .empty(.domain) }
    var labels: [[Unicode.Scalar]] = []
    for label in try map(name).split(separator: ".", omittingEmptySubsequences: false) {
      labels.append(try decode(Array(label)))
    }
    for label in labels {
      try check(label)
      guard isShort(label) else { throw .malformed(.domain) }
    }
    if labels.contains(where: { Bidi.isRightToLeft($0) }) {
      guard labels.allSatisfy({ Bidi.permits($0) }) else { throw .bidi(.domain) }
    }
    let domain = Precis.makeString(labels.joined(separator: ["."]))
    guard domain.utf8.count <= AddressLimits.partBytes else { throw .tooLong(.domain) }
    return domain
  }

  /// Returns whether the name is a JID by itself that needs no rules: labels of ASCII in lower case.
  private static func isPlain(_ name: String) -> Bool {
    let plain = name.utf8.withContiguousStorageIfAvailable { JIDOffsets(normal: UnsafeRawBufferPointer($0)) }
    guard let offsets = plain ?? nil else { return false }
    return offsets.localLength == 0 && Int(offsets.domainEnd) == name.utf8.count
  }

  /// Applies the mapping of RFC 5895 2, repeated until stable.
  private static func map(_ name: String) throws(JIDError) -> [Unicode.Scalar] {
    do {
      return try Precis.settle(Array(name.unicodeScalars)) { scalars in
        var lower: [Unicode.Scalar] = []
        for scalar in scalars {
          if scalar.isLabelCapital { lower.append(scalar) } else { scalar.appendLowercase(to: &lower) }
        }
        var mapped: [Unicode.Scalar] = []
        for scalar in lower { Normalization.appendWidthMapped(scalar, to: &mapped) }
        return Normalization.formC(mapped.map { $0 == "\u{3002}" ? "." : $0 })
      }
    } catch { throw JIDError(error, in: .domain) }
  }

  /// Returns a mapped label, decoded if it is an A-label. The decoded label must need no mapping, or two spellings
  /// would name one host (RFC 5891 5.4).
  private static func decode(_ label: [Unicode.Scalar]) throws(JIDError) -> [Unicode.Scalar] {
    guard label.starts(with: ["x", "n", "-", "-"]) else { return label }
    guard label.count <= AddressLimits.labelBytes, label.allSatisfy({ $0.isASCII }),
      let decoded = Punycode.decode(label.dropFirst(4).map { UInt8(truncatingIfNeeded: $0.value) }),
      decoded.contains(where: { !$0.isASCII }), try map(Precis.makeString(decoded)) == decoded
    else { throw .malformed(.domain) }
    return decoded
  }

  /// Checks that a label is an NR-LDH or U-label (RFC 5890 2.3.1, RFC 5891 4.2.3).
  private static func check(_ label: [Unicode.Scalar]) throws(JIDError) {
    guard let first = label.first, first != "-", label.last != "-" else { throw .malformed(.domain) }
    var isASCII = true
    for (index, scalar) in label.enumerated() {
      isASCII = isASCII && scalar.isASCII
      guard scalar.isAllowedInLabel else { throw .disallowed(.domain, scalar) }
      switch scalar.isASCII ? .valid : scalar.derivedProperty {
      case .contextJ, .contextO:
        guard ContextRule.permits(label, at: index) else { throw .disallowed(.domain, scalar) }
      case .valid, .freeform, .space, .disallowed: break
      }
    }
    if isASCII { return }
    if first.isMark { throw .disallowed(.domain, first) }
    // In a name, "--" in this place announces an encoding, which a decoded label cannot have.
    if label.count >= 4, label[2] == "-", label[3] == "-" { throw .malformed(.domain) }
  }

  /// Returns whether a label is short enough in its encoded form, which has an octet at least for each scalar.
  private static func isShort(_ label: [Unicode.Scalar]) -> Bool {
    guard label.count <= AddressLimits.labelBytes else { return false }
    return label.allSatisfy { $0.isASCII }
      || "xn--".utf8.count + Punycode.encode(label).utf8.count <= AddressLimits.labelBytes
  }

  // MARK: IP literals

  /// Enforces `"[" IPv6address [ "%25" zone ] "]"` (RFC 6874 2). The future address formats of RFC 3986 3.2.2 are
  /// refused: none exists. Letters become lower case; the zone, which names an interface of one machine, stays as it
  /// is.
  private static func enforceLiteral(_ raw: String) throws(JIDError) -> String {
    let bytes = Array(raw.utf8)
    guard bytes.count <= AddressLimits.partBytes, bytes.count > 2, bytes.last == UInt8(ascii: "]") else {
      throw .malformed(.domain)
    }
    let inner = bytes[1..<bytes.count - 1]
    let address = inner.prefix { $0 != UInt8(ascii: "%") }
    let zone = inner.dropFirst(address.count)
    guard isIPv6(address), zone.isEmpty || isZone(zone) else { throw .malformed(.domain) }
    let lower = address.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    return "[\(String(decoding: lower, as: UTF8.self))\(String(decoding: zone, as: UTF8.self))]"
  }

  /// Returns whether bytes match `"%25" 1*( unreserved / pct-encoded )` (RFC 6874 2).
  private static func isZone(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.starts(with: "%25".utf8), bytes.count > 3 else { return false }
    var rest = bytes.dropFirst(3)
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
        break
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst(), let low = rest.popFirst(), isHexadecimal(high), isHexadecimal(low) else {
          return false
        }
      default: return false
      }
    }
    return true
  }

  /// Returns whether bytes match `IPv6address` (RFC 3986 3.2.2): eight groups, or fewer around one "::", the last two
  /// possibly as IPv4.
  private static func isIPv6(_ bytes: ArraySlice<UInt8>) -> Bool {
    let colon = UInt8(ascii: ":")
    var groups = 0
    var hasGap = false
    var rest = bytes
    if rest.starts(with: [colon, colon]) {
      hasGap = true
      rest = rest.dropFirst(2)
    }
    while !rest.isEmpty {
      let group = rest.prefix { $0 != colon }
      rest = rest.dropFirst(group.count)
      if rest.isEmpty, group.contains(UInt8(ascii: ".")) {
        guard isIPv4(group) else { return false }
        groups += 2
        break
      }
      guard (1...4).contains(group.count), group.allSatisfy(isHexadecimal) else { return false }
      groups += 1
      if rest.isEmpty { break }
      rest = rest.dropFirst()
      if rest.first == colon {
        guard !hasGap else { return false }
        hasGap = true
        rest = rest.dropFirst()
      } else if rest.isEmpty {
        return false  // a single colon at the end
      }
    }
    return hasGap ? groups <= 7 : groups == 8
  }

  /// Returns whether bytes are four decimal numbers up to 255, without leading zeros (RFC 3986 3.2.2, `dec-octet`).
  private static func isIPv4(_ bytes: ArraySlice<UInt8>) -> Bool {
    let numbers = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return numbers.count == 4
      && numbers.allSatisfy { digits in
        (1...3).contains(digits.count) && (digits.count == 1 || digits.first != UInt8(ascii: "0"))
          && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
          && digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 255
      }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }
}
