import Basics
import Dialogs
import XMPP

/// XEP-0502: the activity of a public room, in messages per hour of the last day. It is computed by two reads of the
/// log, without counters.
struct RoomActivity: Feature {
  static let xep = XEP(502, "0.1.0", "MUC Activity Indicator")

  static let field = "{urn:xmpp:muc-activity}message-activity"
  /// 4: messages older than 72 hours must not count.
  private static let hours: Int64 = 24

  func register(in table: inout FeatureTable) {}

  /// Returns the messages per hour; called on a reader's thread.
  static func perHour(of room: Room, now: Timestamp, _ reader: any StoreReader) throws -> Double {
    let hour: Int64 = 3_600_000
    let since = max(now.milliseconds - hours * hour, room.createdAt.milliseconds)
    let start = try reader.position(before: Timestamp(milliseconds: since))
    let before = try reader.ordinal(in: room.id, upTo: start)
    // A room of this minute is not as active as its first message would make it.
    let span = max(Double(now.milliseconds - since) / Double(hour), 1)
    return Double(max(0, room.ordinal - before)) / span
  }

  /// Returns the number with two digits, as in the example.
  static func text(_ perHour: Double) -> String {
    let hundredths = Int64((perHour * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }
}
