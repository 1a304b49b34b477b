public import XMLStream

/// What page of a result set is asked for (XEP-0059 2).
///
/// The items asked for are those behind `after` and before `before`, where given. Of these the page holds the first `max`, or,
/// when `isBackward`, the last `max`; in either case they are written in the order of the set.
public struct ResultSetRequest: Payload, Equatable {
  /// How many items at most; 0 asks for the count only (XEP-0059 2.6). Nil leaves it to the server.
  public var max: Int?
  /// The id of the item before the first wanted.
  public var after: String?
  /// The id of the item behind the last wanted.
  public var before: String?
  /// Whether `<before/>` was there at all: the page is counted from the end (XEP-0059 2.3, 2.5).
  public var isBackward: Bool
  /// The place of the first item wanted (XEP-0059 2.5).
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
  /// - Throws: `bad-request` for a number that is none or below zero; `item-not-found` for an anchor too long to be ours.
  public init(_ element: Element) throws(StanzaError) {
    self.init()
    for child in element.children {
      if child.is(.resultSetMax) {
        max = try Self.number(child)
      } else if child.is(.resultSetIndex) {
        index = try Self.number(child)
      } else if child.is(.resultSetAfter) {
        // An empty <after/> is where one stands before the first page: as if absent.
        after = try Self.anchor(child)
      } else if child.is(.resultSetBefore) {
        isBackward = true
        before = try Self.anchor(child)
      }
    }
  }

  /// How many items the page may hold.
  public func limit(default: Int, max most: Int = XMPPLimits.resultSetPageMax) -> Int { min(max ?? `default`, most) }

  public func write(into writer: inout ElementWriter) {
    writer.open(Self.name)
    if let max { writer.element("max", String(max)) }
    if let after { writer.element("after", after) }
    if isBackward { writer.element("before", before ?? "") }
    if let index { writer.element("index", String(index)) }
    writer.close()
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

/// What page was returned (XEP-0059 2.2): goes beside the items.
public struct ResultSetPage: Payload, Equatable {
  /// The id of the first item of the page; nil when it is empty.
  public var first: String?
  /// Its place in the whole set, where that is cheap to know.
  public var firstIndex: Int?
  /// The id of the last item of the page; nil when it is empty.
  public var last: String?
  /// Items of the whole set, where that is cheap to know.
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
    writer.open(Self.name)
    if let first {
      writer.open("first")
      if let firstIndex { writer.attribute("index", firstIndex) }
      writer.text(first)
      writer.close()
    }
    if let last { writer.element("last", last) }
    if let count { writer.element("count", String(count)) }
    writer.close()
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
