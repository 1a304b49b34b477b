import Testing

@testable import XMLStream

/// A reader's event in a form that can be compared.
enum Seen: Equatable {
  case opened(StreamHeader)
  case element(Element)
  case closed
  case whitespace
  case violation(XMLViolation)

  init(_ event: consuming ReaderEvent) {
    switch consume event {
    case .opened(let header): self = .opened(header)
    case .element(let element): self = .element(element)
    case .closed: self = .closed
    case .whitespace: self = .whitespace
    case .violation(let violation): self = .violation(violation)
    }
  }
}

extension ReaderLimits {
  /// Wide enough never to matter.
  static let wide = ReaderLimits(
    stanzaBytes: 1 << 24, headerBytes: 1 << 20, depth: 10_000, attributes: 255, nameBytes: 60_000,
    namespaceBytes: 60_000, declarations: 10_000)
}

let header =
  "<stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' to='parley.example' version='1.0'>"

/// Returns the events of a new reader for `bytes`, fed `step` bytes at a time. Runs of whitespace count as one, however
/// they were cut.
func read(_ bytes: some Sequence<UInt8>, step: Int = .max, limits: ReaderLimits = .authenticated) -> [Seen] {
  var reader = ElementReader(limits: limits)
  return read(bytes, step: step, by: &reader)
}

func read(_ bytes: some Sequence<UInt8>, step: Int = .max, by reader: inout ElementReader) -> [Seen] {
  var seen: [Seen] = []
  let bytes = Array(bytes)
  var at = 0
  while at < bytes.count {
    let end = step > bytes.count - at ? bytes.count : at + step
    // A copy of its own, so that a reader looking beyond it is found out.
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: end - at, alignment: 1)
    defer { piece.deallocate() }
    piece.copyBytes(from: bytes[at..<end])
    let used = reader.feed(UnsafeRawBufferPointer(piece)) { event in
      let event = Seen(event)
      if event != .whitespace || seen.last != .whitespace { seen.append(event) }
      return .proceed
    }
    #expect(used == end - at)
    at = end
  }
  return seen
}

/// The stanzas of a stream with the usual header.
func stanzas(_ xml: String, limits: ReaderLimits = .authenticated) throws -> [Element] {
  try read((header + xml).utf8, limits: limits).compactMap { seen in
    switch seen {
    case .element(let element): return element
    case .violation(let violation): throw violation
    case .opened, .closed, .whitespace: return nil
    }
  }
}

/// Returns the error with which a reader and a document parser refuse the bytes; nil if they accept them.
func violation(_ bytes: some Collection<UInt8>, limits: ReaderLimits = .authenticated) -> XMLViolation? {
  do throws(XMLViolation) {
    _ = try Element(parsing: bytes, defaultNamespace: "", limits: limits)
    return nil
  } catch {
    return error
  }
}

func violation(_ xml: String, limits: ReaderLimits = .authenticated) -> XMLViolation? {
  violation(xml.utf8, limits: limits)
}

extension XMLViolation {
  /// The kind of the violation, since tests should not fix its text.
  var kind: String { "\(condition)" }
}
