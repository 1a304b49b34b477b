import Dialogs

extension Array {
  /// Returns the page of at most `limit` elements, and the last of them if more follow: the next page's cursor is made of
  /// it. A list is therefore read with one element more than its limit.
  func page(_ limit: Int) -> (items: ArraySlice<Element>, last: Element?) {
    let items = prefix(limit)
    return (items, count > limit ? items.last : nil)
  }
}

extension [Entry] {
  /// Does the same, and ends the page behind `Limits.pageBytesMax` bytes, with at least one entry. The list is read with that bound.
  func page(_ limit: Int) -> (items: ArraySlice<Entry>, last: Entry?) {
    var bytes = 0
    func fits(_ entry: Entry) -> Bool {
      defer { bytes += entry.byteCount }
      return bytes < Limits.pageBytesMax
    }
    let count = prefix(limit).prefix(while: fits).count
    let items = prefix(count)
    return (items, self.count > count ? items.last : nil)
  }
}

extension RequestContext {
  /// Returns the position in a cursor; `nil` without one.
  func position(ofCursor cursor: String?) throws(Problem) -> Position? {
    guard let cursor else { return nil }
    guard let position = parley.position(ofCursor: cursor, in: realm.id) else { throw .cursorUnknown }
    return position
  }

  /// Returns the last member of the previous page in a cursor; `nil` without one.
  func member(ofCursor cursor: String?, in room: RoomName) throws(Problem) -> UserID? {
    guard let cursor else { return nil }
    guard let user = parley.user(ofMemberCursor: cursor, in: room) else {
      throw Problem(.malformed, "cursor-unknown", "cursor is not one of this list's.", field: "cursor")
    }
    return user
  }
}

extension Problem {
  static let cursorUnknown = Problem(
    .malformed, "cursor-unknown", "cursor is not one of this server's.", field: "cursor")
}
