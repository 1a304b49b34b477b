import Basics
import JSON

/// The expiry of the caller's shared location. The location itself is not returned, as it is stored only coarsely.
struct LocationBody: Hashable, Sendable, JSONObjectWritable {
  var expiresAt: Timestamp

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("expiresAt", expiresAt)
  }
}
