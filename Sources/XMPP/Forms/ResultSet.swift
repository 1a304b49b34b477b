public import XMLStream

/// The page of a result set that is requested (XEP-0059 2).
///
/// The requested items are those behind `after` and before `before`, where given. The page holds the first `max` of
/// these, or, if `isBackward`, the last `max`; in either case they are written in the order of the set.
public struct ResultSetRequest: Payload, Equatable {
  /// The most items; 0 requests the count only (XEP-0059 2.6), and `nil` leaves it to the server.
  public var max: Int?
  /// The id of the item before the first one requested.
  public var after: String?
  /// The id of the item behind the last one requested.
  public var before: String?
  /// Whether `<before/>` was there at all: the page is counted from the end (XEP-0059 2.3, 2.5).
  public var isBackward: Bool
  /// The place of the first requested item (XEP-0059 2.5).
  public var index: Int?

  public static let name = Name.resultSet

  public init(
    max: Int? = nil, after: String? = nil, before: String? = nil, isBackward: Bool = false, index: Int? = nil
  ) {
    self.max = max
    self.after = after
    self.before = before
    self.isBackward = isBackward || before != nil
    self.index = index
  }

  /// Reads `<set/>`.
  /// - Throws: `bad-request` for an invalid or negative number; `item-not-found` for an anchor too long to be this
  ///   server's.
  public init(_ element: Element) throws(StanzaError) {
    self.init()
    for child in element.children {
      if child.is(.resultSetMax) {
        max = try Self.number(child)
      } else if child.is(.resultSetIndex) {
        index = try Self.number(child)
      } else if child.is(.resultSetAfter) {
        // An empty <after/> is the place before the first page: as if absent.
        after = try Self.anchor(child)
      } else if child.is(.resultSetBefore) {
        isBackward = true
        before = try Self.anchor(child)
      }
    }
  }

  /// Returns the most items that the page may hold.
  public func limit(default: Int, max most: Int = XMPPLimits.resultSetPageMax) -> Int { min(max ?? `default`, most) }

  public func write(into writer: inout ElementWriter) {
    writer.element(Self.name) { writer in
      if let max { writer.element("max", String(max)) }
      if let after { writer.element("after", after) }
      if isBackward { writer.element("before", before ?? "") }
      if let index { writer.element("index", String(index)) }
    }
  }

  private static func number(_ element: Element) throws(StanzaError) -> Int {
    guard let value = element.withText({ Decimal.signed($0) }), value >= 0 else {
      throw StanzaError(.badRequest, "<\(element.local)/> is no number")
    }
    return value
  }

  private static func anchor(_ element: Element) throws(StanzaError) -> String? {
    guard element.withText({ $0.count }) <= XMPPLimits.resultSetAnchorBytesMax else {
      throw StanzaError(.itemNotFound, "<\(element.local)/> names no item")
    }
    let text = element.text
    return text.isEmpty ? nil : text
  }
}

/// The page that is returned (XEP-0059 2.2), beside the items.
public struct ResultSetPage: Payload, Equatable {
  /// The id of the first item of the page; `nil` if it is empty.
  public var first: String?
  /// The place of that item in the whole set, where that is cheap to know.
  public var firstIndex: Int?
  /// The id of the last item of the page; `nil` if it is empty.
  public var last: String?
  /// The number of items of the whole set, where that is cheap to know.
  public var count: Int?

  public static let name = Name.resultSet

  public init(first: String? = nil, firstIndex: Int? = nil, last: String? = nil, count: Int? = nil) {
    self.first = first
    self.firstIndex = firstIndex
    self.last = last
    self.count = count
  }

  /// Reads `<set/>` of a response.
  public init(_ element: Element) throws(StanzaError) {
    self.init()
    for child in element.children {
      if child.is(.resultSetFirst) {
        first = child.text
        firstIndex = try child.integer("index")
      } else if child.is(.resultSetLast) {
        last = child.text
      } else if child.is(.resultSetCount) {
        guard let value = child.withText({ Decimal.signed($0) }) else {
          throw StanzaError(.badRequest, "<count/> is no number")
        }
        count = value
      }
    }
  }

  public func write(into writer: inout ElementWriter) {
    writer.element(Self.name) { writer in
      if let first {
        writer.element("first") { writer in
          if let firstIndex { writer.attribute("index", firstIndex) }
          writer.text(first)
        }
      }
      if let last { writer.element("last", last) }
      if let count { writer.element("count", String(count)) }
    }
  }
}

extension Name {
  static let resultSetAfter = Name("after", NS.resultSet)
  static let resultSetBefore = Name("before", NS.resultSet)
  static let resultSetCount = Name("count", NS.resultSet)
  static let resultSetFirst = Name("first", NS.resultSet)
  static let resultSetIndex = Name("index", NS.resultSet)
  static let resultSetLast = Name("last", NS.resultSet)
  static let resultSetMax = Name("max", NS.resultSet)
}
