/// Whether a user is here, over all their devices, in both protocols.
public struct PresenceBody: Codable, Hashable, Sendable, JSONWritable {
  /// RFC 6121 4.7.2.1; `offline` for nobody there.
  public enum Availability: String, Codable, Sendable, CaseIterable {
    case online, chat, away, extendedAway, doNotDisturb, offline
  }
  public var userId: String
  public var online: Bool
  public var availability: Availability
  public var status: String?
  /// When the last device left; absent while online.
  public var lastSeenAt: WireTime?

  public init(userId: String, online: Bool, availability: Availability, status: String?, lastSeenAt: WireTime?) {
    self.userId = userId
    self.online = online
    self.availability = availability
    self.status = status
    self.lastSeenAt = lastSeenAt
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("userId", userId)
    writer.member("online", online)
    writer.member("availability", availability.rawValue)
    writer.member("status", status)
    writer.member("lastSeenAt", lastSeenAt)
    writer.endObject()
  }
}
