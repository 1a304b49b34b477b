import Basics
import JSON

/// That the caller's place is shared, and until when. Where it is is not told back: it is known only coarsely.
struct LocationBody: Hashable, Sendable, JSONObjectWritable {
  var expiresAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("expiresAt", expiresAt)
  }
}
