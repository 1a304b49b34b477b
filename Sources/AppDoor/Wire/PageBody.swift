import JSON

/// One page of a list. `nextCursor` is absent on the last one.
struct PageBody<Item: Hashable & Sendable & JSONWritable>: Hashable, Sendable, JSONObjectWritable {
  var items: [Item]
  /// Opaque: give it back to get the next page.
  var nextCursor: String?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("items", items)
    writer.member("nextCursor", nextCursor)
  }
}

/// No body at all: status 204.
struct EmptyBody: Hashable, Sendable, JSONObjectWritable {
  func writeMembers(to writer: inout JSONWriter) {}
}
