import Basics
import JSON

/// A user's presence over all their devices, in both protocols.
struct PresenceBody: Hashable, Sendable, JSONObjectWritable {
  /// The availability (RFC 6121 4.7.2.1); `offline` without any session.
  enum Availability: String, Decodable, Sendable, CaseIterable {
    case online, chat, away, extendedAway, doNotDisturb, offline
  }
  var userId: String
  var online: Bool
  var availability: Availability
  var status: String?
  /// The time when the last device disconnected; absent while online.
  var lastSeenAt: Timestamp?

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("userId", userId)
    writer.member("online", online)
    writer.member("availability", availability.rawValue)
    writer.member("status", status)
    writer.member("lastSeenAt", lastSeenAt)
  }
}
