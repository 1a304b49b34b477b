import JSON

/// The content of a message: a type, a text that any client can show, and the type's other members, beside them in the
/// same object.
struct ContentBody: Hashable, Sendable, JSONObjectWritable {
  /// The types that a client may receive. Those of the second line contain files: on sending, `attachments` is a list
  /// of ids, on receiving, of `AttachmentBody`. Those of the third line come from other clients or the server and
  /// cannot be sent; `deleted` has no other content.
  enum Kind: String, Sendable, CaseIterable {
    case text, location, contact, sticker, custom
    case image, video, audio, file
    case encrypted, system, call
    case deleted
  }

  var type: String
  /// The text to show; all there is for clients that do not know the type.
  var text: String
  /// The type's own members; never `type`, `text` or `metadata`.
  var fields: RawObject = .empty

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("type", type)
    writer.member("text", text)
    writer.members(of: fields)
  }
}

extension ContentBody: DirectInput {
  init(_ members: InputMembers) throws {
    type = try members.text("type")
    text = try members.textIfPresent("text") ?? ""
    fields = members.others(than: ("type", "text"))
  }
}
