import JSON

/// One page of a list. `nextCursor` is absent on the last page.
struct PageBody<Item: Hashable & Sendable & JSONWritable>: Hashable, Sendable, JSONObjectWritable {
  var items: [Item]
  /// An opaque value that fetches the next page.
  var nextCursor: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("items", items)
    writer.member("nextCursor", nextCursor)
  }
}

/// An empty body, sent with status 204.
struct EmptyBody: Hashable, Sendable, JSONObjectWritable {
  func writeMembers(to writer: inout JSONWriter) {}
}
