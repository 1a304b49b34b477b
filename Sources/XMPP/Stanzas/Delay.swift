public import Basics
public import XMLStream

/// Delayed delivery (XEP-0203): the time when a stanza was first sent, stated by the entity that kept it.
public struct Delay: Payload, Equatable {
  /// The entity that kept the stanza.
  public var from: String?
  public var stamp: Timestamp
  /// The reason, as text.
  public var reason: String?

  public static let name = Name.delay

  public init(stamp: Timestamp, from: String? = nil, reason: String? = nil) {
    self.stamp = stamp
    self.from = from
    self.reason = reason
  }

  public init(_ element: Element) throws(StanzaError) {
    guard let stamp = try element.timestamp("stamp") else {
      throw StanzaError(.badRequest, "<delay/> lacks the attribute 'stamp'")
    }
    self.init(stamp: stamp, from: element["from"], reason: element.hasText ? element.text : nil)
  }

  public func write(into writer: inout ElementWriter) {
    writer.element(Self.name) { writer in
      writer.attribute("from", from)
      stamp.withBytes { writer.attribute("stamp", $0) }
      if let reason { writer.text(reason) }
    }
  }
}
