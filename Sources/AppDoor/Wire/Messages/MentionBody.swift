import JSON

/// A member of the dialog who is named in a message.
struct MentionBody: Decodable, Hashable, Sendable, JSONObjectWritable {
  var userId: String
  /// Where in `content.text`, in Unicode code points: the first one, from 0. Absent with `end`: nowhere in particular.
  var begin: Int?
  /// One behind the last.
  var end: Int?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("userId", userId)
    writer.member("begin", begin)
    writer.member("end", end)
  }
}
