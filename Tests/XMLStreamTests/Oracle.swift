import CLibXML2

/// The events that libxml2 makes of a document: its push parser with SAX2 events,
/// namespaces on, no tree of its own.
///
/// Where libxml2 (2.9.14) is known to differ from what the scanner must do, and
/// how the comparison allows for it:
/// - It accepts what RFC 6120 11.1 forbids: comments, processing instructions,
///   DTDs. The handlers below note it as `usesForbidden`; the scanner has to
///   refuse it.
/// - Namespace faults (unbound prefix, `a:b:c`, two attributes of one expanded
///   name, `xmlns:z=''`) return code 0 and deliver events; only
///   `ctxt->nsWellFormed` tells. The errors are counted here instead, because
/// - `nsWellFormed` also falls for a namespace name that is no absolute URI
///   (codes 99, 100), which Namespaces in XML 1.0 2.2 only deprecates.
/// - When pushed it leaves the line ends of CDATA sections as they are, against
///   XML 1.0 2.11; `addCDATA` makes up for it.
/// - It honours other encodings and accepts `version='1.1'`: the caller leaves
///   documents out that begin with a declaration and are refused as
///   unsupported-encoding.
final class Oracle {
  private(set) var canonical = Canonical()
  private(set) var usesForbidden = false
  private var namespaceErrors = 0

  struct Verdict {
    /// The tree, if the document is well-formed and namespace-well-formed.
    let tree: String?
    /// A feature that XMPP forbids was met.
    let usesForbidden: Bool
  }

  /// Parses a document that stands in the scope of nothing.
  static func parse(_ bytes: [UInt8]) -> Verdict {
    let oracle = Oracle()
    var handler = xmlSAXHandler()
    handler.initialized = UInt32(XML_SAX2_MAGIC)
    handler.startElementNs = { context, local, prefix, space, _, _, attributeCount, _, attributes in
      Oracle.of(context)?.open(local, prefix, space, Int(attributeCount), attributes)
    }
    handler.endElementNs = { context, _, _, _ in Oracle.of(context)?.canonical.close() }
    handler.characters = { context, text, count in Oracle.of(context)?.add(text, count) }
    handler.ignorableWhitespace = { context, text, count in Oracle.of(context)?.add(text, count) }
    handler.cdataBlock = { context, text, count in Oracle.of(context)?.addCDATA(text, count) }
    handler.comment = { context, _ in Oracle.of(context)?.usesForbidden = true }
    handler.processingInstruction = { context, _, _ in Oracle.of(context)?.usesForbidden = true }
    handler.internalSubset = { context, _, _, _ in Oracle.of(context)?.usesForbidden = true }
    handler.serror = { context, error in
      guard let error, error.pointee.domain == Int32(XML_FROM_NAMESPACE.rawValue) else { return }
      let deprecated = [Int32(XML_WAR_NS_URI.rawValue), Int32(XML_WAR_NS_URI_RELATIVE.rawValue)]
      if !deprecated.contains(error.pointee.code) { Oracle.of(context)?.namespaceErrors += 1 }
    }
    let own = Unmanaged.passUnretained(oracle).toOpaque()
    guard let context = xmlCreatePushParserCtxt(&handler, own, nil, 0, nil) else {
      return Verdict(tree: nil, usesForbidden: false)
    }
    defer { xmlFreeParserCtxt(context) }
    // Otherwise `&amp;` in an attribute comes out as `&#38;`, to be parsed
    // again by who makes a tree.
    context.pointee.replaceEntities = 1
    _ = bytes.withUnsafeBytes { buffer in
      xmlParseChunk(context, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count), 0)
    }
    xmlParseChunk(context, nil, 0, 1)
    return withExtendedLifetime(oracle) {
      Verdict(
        tree: context.pointee.wellFormed == 1 && oracle.namespaceErrors == 0 ? oracle.canonical.text : nil,
        usesForbidden: oracle.usesForbidden)
    }
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> Oracle? {
    context.map { Unmanaged<Oracle>.fromOpaque($0).takeUnretainedValue() }
  }

  private func open(
    _ local: UnsafePointer<xmlChar>?, _ prefix: UnsafePointer<xmlChar>?, _ space: UnsafePointer<xmlChar>?, _ count: Int,
    _ attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
  ) {
    var list: [(namespace: String, local: String, value: String)] = []
    for index in 0..<count {
      guard let attributes, let start = attributes[index * 5 + 3], let end = attributes[index * 5 + 4] else { continue }
      let value = String(decoding: UnsafeBufferPointer(start: start, count: end - start), as: UTF8.self)
      list.append((Self.string(attributes[index * 5 + 2]), Self.string(attributes[index * 5]), value))
    }
    canonical.open(Self.string(space), Self.string(local), list)
  }

  private func add(_ text: UnsafePointer<xmlChar>?, _ count: Int32) {
    canonical.characters(String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self))
  }

  private func addCDATA(_ text: UnsafePointer<xmlChar>?, _ count: Int32) {
    let bytes = UnsafeBufferPointer(start: text, count: Int(count))
    var normalised: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      if byte == 0x0A, index > 0, bytes[index - 1] == 0x0D { continue }
      normalised.append(byte == 0x0D ? 0x0A : byte)
    }
    canonical.characters(String(decoding: normalised, as: UTF8.self))
  }

  private static func string(_ pointer: UnsafePointer<xmlChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
  }
}
