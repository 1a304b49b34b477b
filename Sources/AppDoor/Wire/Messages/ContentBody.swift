import JSON

/// What a message says: a type, a text that any client can show, and whatever
/// else the type has, beside them in the same object.
struct ContentBody: Hashable, Sendable, JSONObjectWritable {
  /// The types that a client may meet. Those of the second line bring a file: sent, `attachments` is a list of ids, and
  /// received, of `AttachmentBody`. Those of the third are other clients' or the server's and cannot be sent; of `deleted`
  /// ones nothing else is left.
  enum Kind: String, Sendable, CaseIterable {
    case text, location, contact, sticker, custom
    case image, video, audio, file
    case encrypted, system, call
    case deleted
  }

  var type: String
  /// What to show; where the type is not known to a client, all there is to show.
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
