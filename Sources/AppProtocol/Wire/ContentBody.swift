/// What a message says: a type, a text that any client can show, and whatever
/// else the type has, beside them in the same object.
public struct ContentBody: Codable, Hashable, Sendable, JSONWritable {
  /// The types that a client may meet. Those of the second line bring a file: sent, `attachments` is a list of ids, and
  /// received, of `AttachmentBody`. Those of the third are other clients' or the server's and cannot be sent; of `deleted`
  /// ones nothing else is left.
  public enum Kind: String, Codable, Sendable, CaseIterable {
    case text, location, contact, sticker, custom
    case image, video, audio, file
    case encrypted, system, call
    case deleted
  }

  public var type: String
  /// What to show; where the type is not known to a client, all there is to show.
  public var text: String
  /// The type's own members; never `type`, `text` or `metadata`.
  public var fields: RawObject

  public init(type: String, text: String, fields: RawObject = .empty) {
    self.type = type
    self.text = text
    self.fields = fields
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("type", type)
    writer.member("text", text)
    writer.members(of: fields)
    writer.endObject()
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    try container.encode(type, forKey: AnyKey("type"))
    try container.encode(text, forKey: AnyKey("text"))
    guard case .object(let members) = fields.value else { return }
    for member in members { try container.encode(member.value, forKey: AnyKey(member.name)) }
  }
}

extension ContentBody: DirectInput {
  public init(_ members: InputMembers) throws {
    type = try members.text("type")
    text = try members.textIfPresent("text") ?? ""
    fields = members.others(than: ("type", "text"))
  }
}
