/// An event of a reader.
public enum ReaderEvent: Sendable {
  /// The root element of the stream has been opened.
  case opened(StreamHeader)
  /// A child of the root element is complete.
  case element(Element)
  /// The root element has been closed. Further input is ignored.
  case closed
  /// Whitespace between stanzas, a keep-alive (RFC 6120 4.6.1). Comes once per run of whitespace and feed.
  case whitespace
  /// The peer has broken a rule. Further input is ignored, since stream errors are unrecoverable (RFC 6120 4.9.1.1).
  case violation(XMLViolation)
}

/// The decision whether to read on.
public enum ReaderVerdict: Sendable {
  case proceed
  /// Leave the rest of the bytes unread.
  case stop
}

/// Reads one XMPP stream: bytes in, cut anywhere, events out.
///
/// It keeps only an unfinished stanza of the input, bounded by ``ReaderLimits``, and reads every byte once. It is not
/// thread-safe: it belongs to one connection. After a stream restart (RFC 6120 4.3.3) make a new one.
///
///     var reader = ElementReader(limits: .authenticated)
///     reader.feed(bytes) { event in
///         if case .element(let stanza) = event { handle(stanza) }
///         return .proceed
///     }
public struct ElementReader: ~Copyable {
  private var scanner: Scanner

  /// The bounds; may be changed between two feeds. A stanza begun keeps the size cap it began with.
  public var limits: ReaderLimits {
    get { scanner.limits }
    set { scanner.limits = newValue.effective }
  }

  /// Creates a reader of a stream whose header is still to come.
  ///
  /// - Parameter contentNamespace: the content namespace (RFC 6120 4.8.2) that is read as `jabber:client`, wherever it is
  ///   declared behind the header: a stanza then is the same element on the streams of clients, components and servers.
  ///   It is at least as long as `jabber:client`.
  public init(limits: ReaderLimits, contentNamespace: StaticString? = nil) {
    precondition(contentNamespace.map { $0.utf8CodeUnitCount >= XMLNamespace.client.utf8CodeUnitCount } ?? true)
    scanner = Scanner(mode: .stream, limits: limits, content: contentNamespace)
  }

  fileprivate init(limits: ReaderLimits, scope: StreamScope?) {
    scanner = Scanner(mode: .stream, limits: limits, scope: scope)
  }

  /// Reads bytes and reports what they complete, in order, before returning.
  ///
  /// `event` must not touch this reader: to change `limits` in the middle of a feed answer `.stop`, change them, and
  /// feed the rest.
  ///
  /// - Returns: how many bytes were read: all, unless `event` answered `.stop` while the stream goes on. The rest can
  ///   be fed again (or dropped, after STARTTLS, RFC 6120 5.4.3.3).
  @discardableResult
  public mutating func feed(_ bytes: UnsafeRawBufferPointer, _ event: (consuming ReaderEvent) -> ReaderVerdict) -> Int {
    guard bytes.count > 0, let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
    if scanner.hasEnded { return bytes.count }
    let end = start + bytes.count
    var at = start
    scanner.begin(start)
    defer { scanner.pause(at) }
    do throws(XMLViolation) {
      while true {
        let verdict: ReaderVerdict
        switch try scanner.scan(&at, end) {
        case .more: return bytes.count
        case .element(let arena): verdict = event(.element(Element(arena: arena, index: 0)))
        case .whitespace: verdict = event(.whitespace)
        case .opened(let header): verdict = event(.opened(header))
        case .closed:
          _ = event(.closed)
          return bytes.count
        }
        if verdict == .stop { return at - start }
      }
    } catch {
      scanner.fail()
      at = end
      _ = event(.violation(error))
      return bytes.count
    }
  }

  /// Whether the reader may ``hibernate()``: between stanzas with nothing kept. It may not within a stanza, before the
  /// header is complete (except before the first byte), and after the end.
  public var isIdle: Bool { scanner.isIdle }

  /// Returns the stream's declarations, with which it continues later: a few hundred bytes. The reader must be idle
  /// (``isIdle``); its buffers can serve another stream meanwhile (``wake(_:limits:)``).
  public func hibernate() -> HibernatedReader {
    precondition(scanner.isIdle, "only an idle reader can hibernate")
    return HibernatedReader(scope: scanner.scope)
  }

  /// Continues with a hibernated stream instead of its own, in the same buffers.
  public mutating func wake(_ stream: HibernatedReader, limits: ReaderLimits) {
    scanner.restart(limits: limits, scope: stream.scope)
  }

  /// The bytes held on the heap at the moment.
  public var heldBytes: Int { scanner.heldBytes }

  #if DEBUG
    /// The bytes examined so far, for tests of linearity.
    var examined: Int { scanner.examined }
  #endif
}

/// A stream between two stanzas, or before its first byte: one reference.
public struct HibernatedReader: Sendable {
  fileprivate let scope: StreamScope?

  /// A stream whose header is still to come.
  public init() { scope = nil }

  fileprivate init(scope: StreamScope?) { self.scope = scope }

  /// Returns a reader that continues with the same stream.
  public func wake(limits: ReaderLimits) -> ElementReader { ElementReader(limits: limits, scope: scope) }
}

// MARK: - Documents

extension Element {
  /// Parses a whole document. Names without a prefix are in no namespace unless one is declared. For trusted text and
  /// tests: the bounds are those of ``ReaderLimits/authenticated``.
  public init(xml: String) throws(XMLViolation) {
    try self.init(parsing: xml.utf8, defaultNamespace: "")
  }

  /// Parses a whole document, such as one WebSocket message (RFC 7395 3.3), as if it stood where `defaultNamespace` is
  /// the default namespace. The same rules hold as within a stream.
  public init(
    parsing bytes: some Collection<UInt8>, defaultNamespace: String = "jabber:client",
    limits: ReaderLimits = .authenticated
  ) throws(XMLViolation) {
    let result = bytes.withContiguousStorageIfAvailable {
      Self.parse(UnsafeRawBufferPointer($0), defaultNamespace, limits)
    }
    self = try (result ?? Array(bytes).withUnsafeBytes { Self.parse($0, defaultNamespace, limits) }).get()
  }

  private static func parse(
    _ bytes: UnsafeRawBufferPointer, _ defaultNamespace: String, _ limits: ReaderLimits
  ) -> Result<Element, XMLViolation> {
    do throws(XMLViolation) {
      guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
        throw .notWellFormed("no element")
      }
      var scanner = Scanner(mode: .document, limits: limits, scope: StreamScope(defaultNamespace: defaultNamespace))
      var at = start
      var found: Arena?
      scanner.begin(start)
      scanning: while true {
        switch try scanner.scan(&at, start + bytes.count) {
        case .more: break scanning
        case .element(let arena): found = arena
        case .opened, .closed, .whitespace: break
        }
      }
      guard scanner.isComplete, let found else { throw .notWellFormed("unexpected end of the document") }
      return .success(Element(arena: found, index: 0))
    } catch {
      return .failure(error)
    }
  }
}
