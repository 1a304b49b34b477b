/// A member of the dialog who is named in a message.
public struct MentionBody: Codable, Hashable, Sendable, JSONWritable {
  public var userId: String
  /// Where in `content.text`, in Unicode code points: the first one, from 0. Absent with `end`: nowhere in particular.
  public var begin: Int?
  /// One behind the last.
  public var end: Int?

  public init(userId: String, begin: Int? = nil, end: Int? = nil) {
    self.userId = userId
    self.begin = begin
    self.end = end
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("userId", userId)
    writer.member("begin", begin)
    writer.member("end", end)
    writer.endObject()
  }
}
