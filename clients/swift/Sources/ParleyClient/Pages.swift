/// One page of a list. Pass ``nextCursor`` as `cursor` for the next; the last page has none.
public struct Page<Item: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
  public var items: [Item]
  public var nextCursor: String?
}

/// The newest messages of a dialog, with what else it shows when it is opened.
struct OpenedDialog: Codable, Sendable {
  var items: [Message]
  var nextCursor: String?
  var dialog: Dialog
  var markers: Page<Marker>
  var users: Page<User>
}
