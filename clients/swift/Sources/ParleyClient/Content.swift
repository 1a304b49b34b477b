/// What a message contains. Show ``text`` for a ``type`` that you do not know.
public struct Content: Codable, Hashable, Sendable {
  public var type: ContentType
  public var text: String
  public var attachments: [Attachment]?
  /// Everything else: `lat`, `lng`, `kind`, `payload`, …
  public var members: JSONObject

  public subscript(_ name: String) -> JSONValue? { members[name] }

  init(type: ContentType, text: String, attachments: [Attachment]? = nil, members: JSONObject = [:]) {
    (self.type, self.text, self.attachments, self.members) = (type, text, attachments, members)
  }

  public init(from decoder: any Decoder) throws {
    let known = try decoder.container(keyedBy: Known.self)
    type = try known.decode(ContentType.self, forKey: .type)
    text = try known.decodeIfPresent(String.self, forKey: .text) ?? ""
    attachments = try known.decodeIfPresent([Attachment].self, forKey: .attachments)
    members = try JSONObject(from: decoder)
    for key in Known.allCases { members[key.rawValue] = nil }
  }

  public func encode(to encoder: any Encoder) throws {
    try members.encode(to: encoder)
    var known = encoder.container(keyedBy: Known.self)
    try known.encode(type, forKey: .type)
    try known.encode(text, forKey: .text)
    try known.encodeIfPresent(attachments, forKey: .attachments)
  }

  private enum Known: String, CodingKey, CaseIterable { case type, text, attachments }
}
