public import Addresses
public import Basics
public import XMLStream

/// An element of a stanza that the program handles as a value: read with the field reader below and written with an
/// `ElementWriter`.
///
///     struct Nick: Payload {
///         static let name = Name("nick", NS.nick)
///         var text: String
///         init(_ element: Element) throws(StanzaError) { text = element.text }
///         func write(into writer: inout ElementWriter) { writer.element(Self.name) { $0.text(text) } }
///     }
public protocol Payload: Sendable {
  /// The name of the element.
  static var name: Name { get }
  /// Reads the element. Throws the exact stanza error for its sender.
  init(_ element: Element) throws(StanzaError)
  /// Writes the element in the writer's scope.
  func write(into writer: inout ElementWriter)
}

/// The field reader: a missing or invalid field becomes `bad-request` (RFC 6120 8.3.3.1) with a text naming the field,
/// so that features state their needs in one word each.
extension Element {
  /// Returns a required attribute.
  public func required(_ attribute: StaticString) throws(StanzaError) -> String {
    guard let value = self[attribute] else { throw missing(attribute: attribute) }
    return value
  }

  /// Returns a required attribute that must not be empty.
  public func requiredNonEmpty(_ attribute: StaticString) throws(StanzaError) -> String {
    let value = try required(attribute)
    guard !value.isEmpty else { throw wrong(attribute, "is empty") }
    return value
  }

  /// Returns a required child.
  public func required(_ child: Name) throws(StanzaError) -> Element {
    guard let element = first(child) else {
      throw StanzaError(.badRequest, "<\(local)/> lacks the element <\(child.local)/>")
    }
    return element
  }

  /// Returns a whole number in decimal (XML Schema `integer`); `nil` if the attribute is absent.
  public func integer(_ attribute: StaticString) throws(StanzaError) -> Int? {
    guard let parsed = withAttribute(attribute, { Decimal.signed($0) }) else { return nil }
    guard let value = parsed else { throw wrong(attribute, "is no whole number") }
    return value
  }

  /// Returns an XML Schema `unsignedInt`; `nil` if the attribute is absent.
  public func unsigned(_ attribute: StaticString) throws(StanzaError) -> UInt32? {
    guard let parsed = withAttribute(attribute, { Decimal.unsigned32($0) }) else { return nil }
    guard let value = parsed else { throw wrong(attribute, "is no number from 0 to 4294967295") }
    return value
  }

  /// Returns an XML Schema `boolean`: `true`, `1`, `false`, `0`; `nil` if the attribute is absent.
  public func boolean(_ attribute: StaticString) throws(StanzaError) -> Bool? {
    if has(attribute, equalTo: "true") || has(attribute, equalTo: "1") { return true }
    if has(attribute, equalTo: "false") || has(attribute, equalTo: "0") { return false }
    guard withAttribute(attribute, { _ in true }) == nil else { throw wrong(attribute, "is no boolean") }
    return nil
  }

  /// Returns an address; `nil` if the attribute is absent.
  /// - Throws: `jid-malformed` (RFC 6120 8.3.3.8).
  public func jid(_ attribute: StaticString) throws(StanzaError) -> JID? {
    guard let parsed = withAttribute(attribute, { JID(parsing: $0) }) else { return nil }
    guard let value = parsed else {
      throw StanzaError(.jidMalformed, "the attribute '\(attribute)' of <\(local)/> is no address")
    }
    return value
  }

  /// Returns a required address.
  /// - Throws: `bad-request` if it is missing, `jid-malformed` if it is invalid.
  public func requiredJID(_ attribute: StaticString) throws(StanzaError) -> JID {
    guard let value = try jid(attribute) else { throw missing(attribute: attribute) }
    return value
  }

  /// Returns a time (XEP-0082 DateTime); `nil` if the attribute is absent.
  public func timestamp(_ attribute: StaticString) throws(StanzaError) -> Timestamp? {
    guard let parsed = withAttribute(attribute, { Timestamp($0) }) else { return nil }
    guard let value = parsed else { throw wrong(attribute, "is no date and time of XEP-0082") }
    return value
  }

  /// Returns the payload of a type among the children; `nil` if there is none.
  /// - Throws: `bad-request` for several, and what the payload throws.
  public func payload<P: Payload>(_: P.Type) throws(StanzaError) -> P? {
    guard let child = try only(P.name) else { return nil }
    return try P(child)
  }

  /// Returns a payload among the children that must be there.
  /// - Throws: `bad-request` if it is missing; else as `payload`.
  public func requiredPayload<P: Payload>(_ type: P.Type) throws(StanzaError) -> P {
    guard let found = try payload(type) else {
      throw StanzaError(.badRequest, "<\(local)/> lacks the element <\(P.name.local)/>")
    }
    return found
  }

  /// Returns a child that is there once at most; `nil` if it is missing.
  /// - Throws: `bad-request` for several: whichever was taken, the others would be lost.
  public func only(_ child: Name) throws(StanzaError) -> Element? {
    var found: Element?
    for element in children where element.is(child) {
      guard found == nil else { throw StanzaError(.badRequest, "<\(local)/> has more than one <\(child.local)/>") }
      found = element
    }
    return found
  }

  private func missing(attribute: StaticString) -> StanzaError {
    StanzaError(.badRequest, "<\(local)/> lacks the attribute '\(attribute)'")
  }

  private func wrong(_ attribute: StaticString, _ fault: String) -> StanzaError {
    StanzaError(.badRequest, "the attribute '\(attribute)' of <\(local)/> \(fault)")
  }
}

/// Reads decimal numbers from bytes, without making a `String`. Surrounding white space is allowed, as in XML Schema.
enum Decimal {
  static func signed(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var digits = trimmed(bytes)
    guard let sign = digits.first else { return nil }
    let isNegative = sign == UInt8(ascii: "-")
    if isNegative || sign == UInt8(ascii: "+") { digits = digits.dropFirst() }
    guard let magnitude = magnitude(digits) else { return nil }
    if isNegative { return magnitude <= UInt64(Int.max) ? -Int(magnitude) : nil }
    return Int(exactly: magnitude)
  }

  static func unsigned32(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
    var digits = trimmed(bytes)
    if digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
    guard let magnitude = magnitude(digits) else { return nil }
    return UInt32(exactly: magnitude)
  }

  private static func magnitude(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
    guard !digits.isEmpty else { return nil }
    var value: UInt64 = 0
    for digit in digits {
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
      guard !overflow, !carry else { return nil }
      value = sum
    }
    return value
  }

  private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
    var slice = bytes[...]
    while let first = slice.first, isSpace(first) { slice = slice.dropFirst() }
    while let last = slice.last, isSpace(last) { slice = slice.dropLast() }
    return slice
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
