/// One page of a list. `nextCursor` is absent on the last one.
public struct PageBody<Item: Codable & Hashable & Sendable & JSONWritable>: Codable, Hashable, Sendable, JSONWritable {
  public var items: [Item]
  /// Opaque: give it back to get the next page.
  public var nextCursor: String?

  public init(items: [Item], nextCursor: String? = nil) {
    self.items = items
    self.nextCursor = nextCursor
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("items", items)
    writer.member("nextCursor", nextCursor)
    writer.endObject()
  }
}

/// A page of dialogs, with the place in the events where it was taken: events
/// from `cursor` on, applied to the page, lose nothing.
public struct DialogPageBody: Codable, Hashable, Sendable, JSONWritable {
  public var items: [DialogBody]
  public var nextCursor: String?
  public var cursor: String
  /// Over all dialogs, those of other pages too.
  public var totalUnread: Int64
  /// How many of those mention the caller.
  public var totalMentions: Int64

  public init(items: [DialogBody], nextCursor: String?, cursor: String, totalUnread: Int64, totalMentions: Int64) {
    self.items = items
    self.nextCursor = nextCursor
    self.cursor = cursor
    self.totalUnread = totalUnread
    self.totalMentions = totalMentions
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("items", items)
    writer.member("nextCursor", nextCursor)
    writer.member("cursor", cursor)
    writer.member("totalUnread", totalUnread)
    writer.member("totalMentions", totalMentions)
    writer.endObject()
  }
}

/// No body at all: status 204.
public struct EmptyBody: Codable, Hashable, Sendable, JSONWritable {
  public init() {}
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.endObject()
  }
}
