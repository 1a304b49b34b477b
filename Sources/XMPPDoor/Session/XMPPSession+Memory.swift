import Basics
import Dialogs
import XMPP

/// The memory of what the client has not acknowledged (XEP-0198), and of what is kept for it as long as it is online.
extension XMPPSession {
  /// Counts the stanzas that are stored nowhere else and kept for the client: at each tick, when they have become many more, and
  /// when the client has acknowledged some of them.
  func countUnacknowledged() {
    let bytes = management.outbound.byteCount
    guard bytes > 0, !isEnded else { return forgetUnacknowledged() }
    let holder =
      unacknowledged
      ?? parley.options.memory.unacknowledged.enter("\(party.address)") { [handle] in
        handle.reach { $0?.giveUnacknowledgedUp() }
      }
    unacknowledged = holder
    countedAgainFrom = bytes + DoorLimits.unacknowledgedBytesUncounted
    holder.hold(bytes + management.outbound.count * DoorLimits.keptStanzaBytes)
  }

  func forgetUnacknowledged() {
    countedAgainFrom = DoorLimits.unacknowledgedBytesUncounted
    unacknowledged?.release()
    unacknowledged = nil
  }

  /// Ends the session for others, unless the client has acknowledged everything meanwhile. What it misses is in the archive.
  private func giveUnacknowledgedUp() {
    guard unacknowledged != nil, !isEnded else { return }
    outlet?.fail(StreamError(.resourceConstraint, "the stanzas that are not acknowledged take too much memory"))
    end()
  }

  /// Counts what the session keeps beside what the core knows of: at each tick, where it has become many more bytes, or fewer.
  func countDoorBytes() {
    let bytes =
      held.byteCount + roomsElsewhere.byteCount + self[JingleSessions.open].count * DoorLimits.jingleSessionBytes
    guard abs(bytes - countedDoorBytes) >= DoorLimits.doorBytesStep, !isEnded else { return }
    countedDoorBytes = bytes
    parley.hub.setDoorBytes(bytes, of: handle)
  }
}
