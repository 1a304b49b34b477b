import Basics
import Dialogs
import XMLStream
import XMPP

/// XEP-0202: the server's time. Its offset is always zero: the server's place is private (6), and it has no user to
/// whom local time would mean something.
struct EntityTime: Feature {
  static let xep = XEP(202, "2.0", "Entity Time")
  static let time = Name("time", NS.time)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.time)", on: [.server])
    table.iq(.get, Self.time, to: [.server]) { turn, _ in
      turn.reply { Self.write(turn.parley.clock.now, into: &$0) }
    }
  }

  static func write(_ now: Timestamp, into writer: inout ElementWriter) {
    writer.element(time) { writer in
      writer.element("tzo") { $0.raw("+00:00") }
      writer.element("utc") { writer in
        now.withBytes { writer.text($0) }
      }
    }
  }
}
