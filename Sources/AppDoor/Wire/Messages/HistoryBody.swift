import JSON

/// A page of a dialog's messages, with what else was asked for.
struct HistoryBody: Hashable, Sendable, JSONObjectWritable {
  var items: [MessageBody]
  /// An opaque value that fetches the next page.
  var nextCursor: String?
  var opened = OpenedDialogBody()

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("items", items)
    writer.member("nextCursor", nextCursor)
    opened.writeMembers(to: &writer)
  }
}

/// The parts that an opened dialog shows besides its messages, each part as the operation for it alone would answer.
struct OpenedDialogBody: Hashable, Sendable, JSONObjectWritable {
  enum Part: String, Sendable, CaseIterable { case dialog, members, pins, markers, users }

  var dialog: DialogBody?
  /// The first `Limits.pageMax` members; absent in a private dialog.
  var members: PageBody<MemberBody>?
  var pins: PageBody<MessageBody>?
  /// The markers of the others, where members are told them.
  var markers: PageBody<MarkerBody>?
  /// The authors of the page and the included members, as far as the caller may know them.
  var users: PageBody<UserBody>?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("dialog", dialog)
    writer.member("members", members)
    writer.member("pins", pins)
    writer.member("markers", markers)
    writer.member("users", users)
  }
}
