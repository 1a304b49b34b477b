import Basics
import Dialogs
import XMLStream
import XMPP

/// XEP-0203: the time when a stanza was first sent, added by the server where it delivers later than it received.
/// Forged ones are removed from incoming messages (5, `StanzaIDs.isStripped`).
struct Delay: Feature {
  static let xep = XEP(203, "2.0", "Delayed Delivery")

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.delay)", on: [.server])
  }

  /// Writes a delay.
  ///
  /// - Parameter by: the entity that kept the stanza; `nil` leaves it out.
  static func write(_ time: Timestamp, by: String? = nil, into writer: inout ElementWriter) {
    writer.element(.delay) { writer in
      writer.attribute("from", by)
      time.withBytes { writer.attribute("stamp", $0) }
    }
  }
}
