// The push scanner for the XML that RFC 6120 11 allows.
//
// Theory. The scanner is a state machine over bytes. Every byte is examined once and then forgotten: its content
// (names, values, text, references resolved, line ends normalised) has gone to the `ArenaBuilder`, everything
// unfinished is in the fields below. So input may be cut anywhere, even within a character or a reference, nothing is
// kept of the input itself, and nothing is scanned twice, whatever a peer sends at whatever pace.
//
// A stream is: an optional byte order mark or whitespace, an optional XML declaration, the start tag of the root (token
// `opened`), then whitespace and elements (token `element`, one block each), then the end tag of the root (token
// `closed`). A document is one element with the same prolog and whitespace behind; whitespace in front of a declaration
// is refused there, as XML 1.0 2.8 demands.
//
//   start -> mark -> start     a byte order mark
//   start -> prolog            whitespace
//   declaration -> prolog      behind `<?`; then whitespace up to the root
//   between                    within the root, outside stanzas
//   markup                     behind `<`; goes to bang, elementName, endName
//   elementName -> tag -> (attributeName -> equals -> quote -> value -> tag)*
//   emptyTag                   behind the `/` of `<a/`
//   content, textBracket       character data of a stanza
//   bang -> cdata, cdataBracket
//   reference...               behind `&`, in content or in a value
//   endName -> endTag
//   opened, complete, closing  a token is due; no byte is needed
//   epilog, closed, failed     the end; a document may be followed by space
//
// While an element is open its record's `extent` is the index of its parent and its `value` the position of its `<`, so
// that there is no stack of elements. The stanza cap is an absolute position (`itemEnd`) that ends the window given to
// the handlers, so that a violation is the same however the input was cut.
//
// It is a struct because a class pays for an exclusivity check at each access to a stored property, which more than
// halved the speed.

typealias Cursor = UnsafePointer<UInt8>

struct Scanner: ~Copyable {
  enum State: UInt8 {
    case start, mark, prolog, declaration
    case between, epilog
    case markup, bang
    case elementName, tag, attributeName, equals, quote, value, emptyTag
    case endName, endTag
    case content, textBracket, cdata, cdataBracket
    case reference, referenceName, referenceNumber, decimal, hexadecimal
    case closed, failed
    // From here on a token is due.
    case opened, complete, closing

    @inline(__always)
    var isTokenDue: Bool { rawValue >= State.opened.rawValue }
  }

  enum Mode {
    /// A root element that stays open; its children are the items.
    case stream
    /// One element, in the scope given.
    case document
  }

  enum Token {
    /// All bytes are used up.
    case more
    case opened(StreamHeader)
    case element(Arena)
    case closed
    case whitespace
  }

  /// The input handled at a time; it bounds the room reserved for its output.
  static let windowBytes = 16_384
  /// The output that may be due from bytes of an earlier window: a reference, a character, two brackets.
  static let windowSlack = 64
  /// The size above which buffers are freed between stanzas; it is above what a window and usual stanzas need, so that
  /// a busy stream keeps them.
  static let keptBytes = 32_768

  let mode: Mode
  var limits: ReaderLimits
  /// The content namespace of the stream that is read as `jabber:client`.
  let content: StaticString?
  var state = State.start
  var builder = ArenaBuilder()
  var bindings = BindingStack()

  /// The declarations of the root; in a document those around it.
  var scope: StreamScope?
  /// Whether the builder and the bindings are loaded from `scope`.
  private var isLoaded = false
  /// Whether a document's element is complete.
  var isOver = false
  /// Whether an XML declaration may come: only a byte order mark came before or, in a stream, whitespace.
  var mayDeclare = false
  /// Whether the root was an empty-element tag.
  var isRootEmpty = false

  /// The elements open within the current item.
  var depth = 0
  /// The record of the innermost open element; `noNode` outside.
  var parent = Scanner.noNode
  /// The record of the element whose start tag is being read.
  var element = 0
  /// The start of the current name or value among the builder's bytes.
  var tokenStart = 0
  /// The place of the colon in the current name; negative if there is none yet.
  var colon = -1
  /// The start of the text since the last tag.
  var textStart = 0
  /// The position of the last `<`.
  var markupStart = 0

  /// Whether whitespace has been seen since the last name or value in a tag.
  var isSpaced = false
  /// Whether the current attribute declares a namespace, and its name.
  var isDeclaration = false
  var declared = Node(kind: .attribute)
  /// Whether the current tag has attributes with a prefix.
  var hasPrefixedAttributes = false
  /// The quotation mark that ends the current value.
  var quote: UInt8 = 0
  /// Whether the current reference is in a value, not in content.
  var isInValue = false
  /// The bytes of a UTF-8 sequence still to come, or `carriageReturn`: a line feed that follows belongs to the carriage
  /// return.
  var carry: UInt8 = 0
  /// The start of that sequence.
  var sequenceStart = 0
  /// The progress within `]]`, within `[CDATA[`, within the byte order mark, or within the name of an end tag.
  var progress = 0
  /// The letters or value of the current reference, and its number of digits or letters so far.
  var reference: UInt32 = 0
  var referenceCount = 0

  /// The difference between positions and addresses within one feed.
  private var origin = 0
  /// The position of the next byte, between feeds.
  private var consumed = 0
  /// The position at which the current item has become too long.
  private var itemEnd: Int

  #if DEBUG
    /// The bytes examined, for tests of linearity.
    var examined = 0
  #endif

  static let noNode = -1
  static let carriageReturn: UInt8 = 0xFF

  init(mode: Mode, limits: ReaderLimits, content: StaticString? = nil, scope: StreamScope? = nil) {
    self.mode = mode
    self.content = content
    self.limits = limits.effective
    self.scope = scope
    switch mode {
    case .stream:
      itemEnd = limits.headerBytes
      if scope != nil {
        state = .between
        itemEnd = Int.max
      }
    case .document:
      itemEnd = limits.stanzaBytes
    }
  }

  /// Whether the scanner is between items with nothing kept that `scope` does not hold.
  var isIdle: Bool { state == .between || (state == .start && consumed == 0) }

  /// Whether nothing is read any more.
  var hasEnded: Bool { state == .closed || state == .failed }

  /// Whether a document has been read whole.
  var isComplete: Bool { state == .epilog }

  /// The bytes held on the heap.
  var heldBytes: Int { builder.heldBytes + bindings.heldBytes }

  // MARK: Feeding

  /// Prepares for bytes at `start`; then come calls of `scan`, then `pause`.
  @inline(__always)
  mutating func begin(_ start: Cursor) {
    origin = consumed &- Int(bitPattern: start)
    if !isLoaded { load() }
  }

  /// Notes that the bytes before `at` have been used; the rest of the feed may be gone.
  @inline(__always)
  mutating func pause(_ at: Cursor) {
    consumed = position(at)
    if state == .between, heldBytes > Self.keptBytes { release() }
  }

  /// Begins anew, with the buffers that there are; a scope is that of a stream whose header has been read.
  mutating func restart(limits: ReaderLimits, scope: StreamScope?) {
    var next = Scanner(mode: mode, limits: limits, content: content, scope: scope)
    swap(&next.builder, &builder)
    swap(&next.bindings, &bindings)
    next.builder.removeAll()
    next.bindings.removeAll()
    self = next
  }

  /// Stops reading.
  mutating func fail() {
    state = .failed
    release()
  }

  /// Frees the buffers; only between items.
  private mutating func release() {
    builder = ArenaBuilder()
    bindings = BindingStack()
    isLoaded = false
  }

  private mutating func load() {
    isLoaded = true
    guard let scope else { return }
    builder.byteCount = 0
    _ = scope.bytes.withUnsafeBytes { builder.append(UnsafeRawBufferPointer(rebasing: $0[0..<scope.defaultCount])) }
    bindings.load(scope)
  }

  @inline(__always)
  func position(_ at: Cursor) -> Int { origin &+ Int(bitPattern: at) }

  @inline(__always)
  mutating func examine(_ count: Int) {
    #if DEBUG
      examined += count
    #endif
  }

  // MARK: The loop

  /// Reads from `at` until a token is due or `chunkEnd` is reached. It must not be called once the scanner `hasEnded`.
  mutating func scan(_ at: inout Cursor, _ chunkEnd: Cursor) throws(XMLViolation) -> Token {
    while true {
      let room = max(0, min(min(chunkEnd - at, Self.windowBytes), itemEnd &- position(at)))
      _ = builder.reserve(room &+ Self.windowSlack)
      let end = at + room
      if let token = try scanWindow(&at, end) { return token }
      if position(at) >= itemEnd { throw .limit(scope == nil ? "stream header size" : "stanza size") }
      if at == chunkEnd { return .more }
    }
  }

  /// Reads one window. Returns `nil` if it is used up, or if its end has to be found anew.
  private mutating func scanWindow(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) -> Token? {
    while at < end || state.isTokenDue {
      switch state {
      case .content: try scanContent(&at, end)
      case .markup: try scanMarkup(&at, end)
      case .elementName: try scanElementName(&at, end)
      case .tag: try scanTag(&at, end)
      case .attributeName: try scanAttributeName(&at, end)
      case .equals: try scanEquals(&at, end)
      case .quote: try scanQuote(&at, end)
      case .value: _ = try scanValue(&at, end)
      case .emptyTag: try scanEmptyTag(&at)
      case .endName: try scanEndName(&at, end)
      case .endTag: try scanEndTag(&at, end)
      case .textBracket: try scanTextBracket(&at)
      case .bang: try scanBang(&at)
      case .cdata: try scanCDATA(&at, end)
      case .cdataBracket: scanCDATABracket(&at)
      case .reference, .referenceName, .referenceNumber, .decimal, .hexadecimal: try scanReference(&at)
      case .between:
        let from = at
        while at < end, isWhitespace(at.pointee) { at += 1 }
        examine(at - from)
        if at > from { return .whitespace }
        guard at.pointee == Byte.less else { throw .notWellFormed("character data between stanzas") }
        itemEnd = position(at) &+ limits.stanzaBytes
        beginMarkup(&at)
        return nil
      case .start: try scanStart(&at)
      case .mark: try scanMark(&at)
      case .declaration: try scanDeclaration(&at)
      case .prolog, .epilog: try scanOutside(&at, end)
      case .closed, .failed: return nil
      case .opened: return .opened(finishHeader())
      case .complete: return .element(finishItem())
      case .closing:
        state = .closed
        release()
        return .closed
      }
    }
    return nil
  }

  @inline(__always)
  mutating func beginMarkup(_ at: inout Cursor) {
    markupStart = position(at)
    at += 1
    state = .markup
  }

  // MARK: Tokens

  /// Returns the block of the complete element, and makes everything ready for the next.
  @inline(__always)
  private mutating func finishItem() -> Arena {
    let arena = builder.finish()
    builder.nodeCount = 0
    builder.byteCount = scope?.defaultCount ?? 0
    bindings.reset()
    itemEnd = Int.max
    switch mode {
    case .stream: state = .between
    case .document:
      state = .epilog
      isOver = true
    }
    return arena
  }

  /// Handles the complete start tag of the root: its bindings become the scope.
  private mutating func finishHeader() -> StreamHeader {
    let header = Element(arena: builder.finish(), index: 0)
    // The header tells its namespaces as they were sent; what follows has them as they are read.
    let scope = StreamScope(root: header, bindings: bindings, builder: builder)
    self.scope =
      content == nil ? scope : StreamScope(root: header, bindings: bindings, builder: builder, content: content)
    builder.nodeCount = 0
    bindings = BindingStack()
    load()
    itemEnd = Int.max
    state = isRootEmpty ? .closing : .between
    return scope.header(header)
  }

  // MARK: Around the root element

  private mutating func scanStart(_ at: inout Cursor) throws(XMLViolation) {
    switch at.pointee {
    case Byte.less:
      beginMarkup(&at)
      mayDeclare = true
    case 0xEF where progress == 0: state = .mark
    case 0xFE, 0xFF, 0x00: throw .unsupportedEncoding  // UTF-16 or UTF-32
    default:
      // A client that ends `<auth/>` with a line break has it read here, behind the restart of the stream (RFC 6120
      // 6.4.6). XML 1.0 2.8 lets nothing precede a declaration; 11.7 lets whitespace stand between first-level elements,
      // and the Go library of go-sendxmpp sends it.
      mayDeclare = mode == .stream && progress == 0
      state = .prolog
    }
  }

  /// Reads a byte order mark, which RFC 6120 11.6 forbids to send; it does no harm.
  private mutating func scanMark(_ at: inout Cursor) throws(XMLViolation) {
    examine(1)
    guard at.pointee == (progress == 0 ? 0xEF : progress == 1 ? 0xBB : 0xBF) else {
      throw .notWellFormed("text before the root element")
    }
    at += 1
    progress += 1
    if progress == 3 { state = .start }
  }

  private mutating func scanOutside(_ at: inout Cursor, _ end: Cursor) throws(XMLViolation) {
    while at < end {
      examine(1)
      if at.pointee == Byte.less {
        beginMarkup(&at)
        return
      }
      guard isWhitespace(at.pointee) else { throw .notWellFormed("text outside the root element") }
      at += 1
    }
  }
}
