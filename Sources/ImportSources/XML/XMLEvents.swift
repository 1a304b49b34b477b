import CLibXML2

/// The events of a document, by libxml2's push parser: memory depends on the chunks, not on the document.
///
/// A document type is refused: with it come entities, which can be of any size and name any file.
final class XMLEvents {
  enum Event {
    case start(name: String, namespace: String, attributes: [XMLNode.Attribute], line: Int)
    case end
    case text(String)
  }

  private var context: xmlParserCtxtPtr?
  /// The events of the last chunk that were not taken yet.
  private var events: [Event] = []
  private var taken = 0
  private var hasDocumentType = false
  private var problem: String?

  init() {
    var handler = xmlSAXHandler()
    handler.initialized = UInt32(XML_SAX2_MAGIC)
    handler.startElementNs = { context, local, prefix, space, _, _, count, _, attributes in
      XMLEvents.of(context)?.open(local, space, Int(count), attributes)
    }
    handler.endElementNs = { context, _, _, _ in XMLEvents.of(context)?.events.append(.end) }
    handler.characters = { context, text, count in XMLEvents.of(context)?.add(text, count) }
    handler.ignorableWhitespace = { context, text, count in XMLEvents.of(context)?.add(text, count) }
    handler.cdataBlock = { context, text, count in XMLEvents.of(context)?.add(text, count) }
    handler.internalSubset = { context, _, _, _ in XMLEvents.of(context)?.hasDocumentType = true }
    handler.serror = { context, error in
      guard let error, error.pointee.level.rawValue >= XML_ERR_ERROR.rawValue else { return }
      // A namespace that is no absolute URI is none of our business (Prosody writes such attributes).
      if error.pointee.code == XML_WAR_NS_URI.rawValue || error.pointee.code == XML_WAR_NS_URI_RELATIVE.rawValue {
        return
      }
      XMLEvents.of(context)?.note(error.pointee.message)
    }
    context = xmlCreatePushParserCtxt(&handler, Unmanaged.passUnretained(self).toOpaque(), nil, 0, nil)
    context?.pointee.replaceEntities = 1
  }

  deinit { if let context { xmlFreeParserCtxt(context) } }

  /// The current line, from 1.
  var line: Int { context?.pointee.input.map { Int($0.pointee.line) } ?? 1 }

  /// Parses a chunk; an empty one ends the document.
  ///
  /// - Returns: the reason why the document cannot be read any further; `nil` if it can.
  func parse(_ chunk: [UInt8]) -> String? {
    guard let context else { return "libxml2 has no memory" }
    events.removeAll(keepingCapacity: true)
    taken = 0
    let result = chunk.withUnsafeBytes { buffer in
      xmlParseChunk(
        context, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count), chunk.isEmpty ? 1 : 0)
    }
    if hasDocumentType { return "a document type is not allowed" }
    if let problem { return problem }
    return result == 0 ? nil : "it is not well-formed XML"
  }

  /// Returns the next event of the chunk.
  func next() -> Event? {
    guard taken < events.count else { return nil }
    defer { taken += 1 }
    return events[taken]
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> XMLEvents? {
    context.map { Unmanaged<XMLEvents>.fromOpaque($0).takeUnretainedValue() }
  }

  private func open(
    _ local: UnsafePointer<xmlChar>?, _ space: UnsafePointer<xmlChar>?, _ count: Int,
    _ attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
  ) {
    var list: [XMLNode.Attribute] = []
    for index in 0..<count {
      guard let attributes, let start = attributes[index * 5 + 3], let end = attributes[index * 5 + 4] else { continue }
      let value = String(decoding: UnsafeBufferPointer(start: start, count: end - start), as: UTF8.self)
      list.append(
        XMLNode.Attribute(
          name: Self.string(attributes[index * 5]), namespace: Self.string(attributes[index * 5 + 2]), value: value,
          prefix: Self.string(attributes[index * 5 + 1])))
    }
    events.append(.start(name: Self.string(local), namespace: Self.string(space), attributes: list, line: line))
  }

  private func add(_ text: UnsafePointer<xmlChar>?, _ count: Int32) {
    events.append(.text(String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self)))
  }

  private func note(_ message: UnsafeMutablePointer<CChar>?) {
    guard problem == nil else { return }
    let text = message.map { String(cString: $0) } ?? ""
    problem = "it is not well-formed XML (\(text.split(separator: "\n").first.map(String.init) ?? "no reason given"))"
  }

  private static func string(_ pointer: UnsafePointer<xmlChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
  }
}

/// Makes an element of its events.
struct XMLBuilder {
  private var open: [XMLNode]
  private var bytes = 0
  private var nodes = 1
  /// Elements that are left out, as the whole is too large.
  private var skipped = 0
  /// The bound that the element is beyond, for the report; `nil` if there is none. Only the end of such an element is
  /// looked for.
  private(set) var excess: String?

  init(_ root: XMLNode) { open = [root] }

  /// Takes an event; returns the element when it is complete.
  mutating func take(_ event: XMLEvents.Event) -> XMLNode? {
    switch event {
    case .start(let name, let namespace, let attributes, _):
      bytes += attributes.reduce(name.utf8.count) { $0 + $1.value.utf8.count }
      nodes += 1
      check()
      if nodes > ImportLimits.elementNodesMax {
        exceed("it has more than \(ImportLimits.elementNodesMax) elements")
      } else if open.count >= ImportLimits.elementDepthMax {
        exceed("it is nested deeper than \(ImportLimits.elementDepthMax) levels")
      }
      if excess != nil { skipped += 1 } else { open.append(XMLNode(name, namespace, attributes)) }
    case .text(let text):
      bytes += text.utf8.count
      check()
      if skipped == 0, excess == nil, let last = open.indices.last { open[last].children.append(.text(text)) }
    case .end:
      if skipped > 0 {
        skipped -= 1
        return nil
      }
      guard let done = open.popLast() else { return nil }
      guard let last = open.indices.last else { return done }
      open[last].children.append(.node(done))
    }
    return nil
  }

  private mutating func check() {
    if bytes > ImportLimits.elementBytesMax { exceed("it is larger than \(ImportLimits.elementBytesMax) bytes") }
  }

  private mutating func exceed(_ bound: @autoclosure () -> String) { if excess == nil { excess = bound() } }
}

extension XMLNode {
  /// Reads an element that another server has stored as text; `nil` if it is none, or too large.
  ///
  /// - Parameter namespace: the default namespace where it stood.
  init?(parsing text: String, within namespace: String) {
    let events = XMLEvents()
    let whole = "<all xmlns='\(Self.escaped(namespace))'>\(text)</all>"
    guard events.parse(Array(whole.utf8)) == nil, case .start? = events.next() else { return nil }
    guard case .start(let name, let space, let attributes, _)? = events.next() else { return nil }
    var builder = XMLBuilder(XMLNode(name, space, attributes))
    while let event = events.next() {
      guard let node = builder.take(event) else { continue }
      guard builder.excess == nil else { return nil }
      self = node
      return
    }
    return nil
  }
}
