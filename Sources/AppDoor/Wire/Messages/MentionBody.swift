import JSON

/// A member of the dialog who is mentioned in a message.
struct MentionBody: Decodable, Hashable, Sendable, JSONObjectWritable {
  var userId: String
  /// The offset of the first character in `content.text`, in Unicode code points from 0. Absent, like `end`, if the
  /// mention has no place in the text.
  var begin: Int?
  /// The offset behind the last character.
  var end: Int?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("userId", userId)
    writer.member("begin", begin)
    writer.member("end", end)
  }
}
