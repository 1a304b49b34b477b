import Addresses
import AppProtocol
import Dialogs
import NIOCore

/// An entry as app sessions get it: encoded once, shared by everybody. Only
/// `prevCursor`, which depends on the viewer, comes behind it.
final class EventForm: Sendable {
  /// The frame without its last member and its closing brace; nil: the entry is
  /// no event (a stanza that only XMPP knows what to do with).
  let head: ByteBuffer?
  /// For a message: the `Message` alone, what its author is answered.
  let message: ByteBuffer?
  let cursor: String

  private init(head: ByteBuffer?, message: ByteBuffer?, cursor: String) {
    self.head = head
    self.message = message
    self.cursor = cursor
  }

  static func of(_ entry: Entry, _ rendering: Rendering) -> EventForm {
    entry.forms.form(for: .app) { make(entry, rendering) }
  }

  private static func make(_ entry: Entry, _ rendering: Rendering) -> EventForm {
    let cursor = rendering.cursor(entry.position)
    let domain = entry.author.address.domain
    switch entry.fact {
    case .message:
      guard let message = rendering.message(entry) else { return EventForm(head: nil, message: nil, cursor: cursor) }
      var alone = JSONWriter(capacity: 512)
      message.write(to: &alone)
      var writer = JSONWriter(capacity: alone.bytes.count + 160)
      open(.messageCreated, entry, cursor, &writer)
      writer.beginObject()
      writer.name("message")
      writer.raw(alone.bytes[...])
      writer.endObject()
      return EventForm(head: ByteBuffer(bytes: writer.bytes), message: ByteBuffer(bytes: alone.bytes), cursor: cursor)
    case .marker(let marker):
      return form(.markerUpdated, entry, cursor, rendering.marker(marker.mark, of: entry.author))
    case .contact(let change):
      return form(
        .contactUpdated, entry, cursor,
        ContactUpdatedBody(contact: rendering.contact(change.contact, domain: domain), removed: change.removed))
    case .blocks(let change):
      return form(
        .blockUpdated, entry, cursor,
        BlockUpdatedBody(
          blocks: change.patterns.map { rendering.block($0, domain: domain) }, blocked: change.act == .block))
    case .profile(let profile):
      return form(.userUpdated, entry, cursor, UserUpdatedBody(user: rendering.user(entry.author, profile)))
    case .dialogOpened:
      let dialog = rendering.dialog(entry.dialog, entry.author, entry.peer, createdAt: entry.time)
      return form(.dialogCreated, entry, cursor, DialogCreatedBody(dialog: dialog))
    }
  }

  private static func form(_ name: EventName, _ entry: Entry, _ cursor: String, _ body: some JSONWritable) -> EventForm
  {
    var writer = JSONWriter()
    open(name, entry, cursor, &writer)
    body.write(to: &writer)
    return EventForm(head: ByteBuffer(bytes: writer.bytes), message: nil, cursor: cursor)
  }

  /// Up to the name of `data`; the object stays open for `prevCursor`.
  private static func open(_ name: EventName, _ entry: Entry, _ cursor: String, _ writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("type", name.rawValue)
    writer.member("cursor", cursor)
    writer.member("time", WireTime(entry.time))
    writer.name("data")
  }

  /// The whole frame for one viewer; nil where there is none.
  func frame(after prevCursor: String) -> ByteBuffer? {
    guard let head else { return nil }
    var frame = ByteBufferAllocator().buffer(capacity: head.readableBytes + prevCursor.utf8.count + 18)
    frame.writeImmutableBuffer(head)
    frame.writeStaticString(",\"prevCursor\":\"")
    frame.writeString(prevCursor)
    frame.writeStaticString("\"}")
    return frame
  }
}
