import Addresses
import Basics
import Dialogs
import Testing

@testable import XMPPDoor

/// XEP-0352: the signals that wait for an inactive client.
@Suite struct DeferredSignalsTests {
  /// The signals that wait. It is a class so that expectations can change it.
  private final class Waiting {
    var signals = DeferredSignals()
    func hold(_ signal: Signal) -> Bool { signals.hold(signal, .direct) }
    func release() -> [(signal: Signal, form: Form)] {
      var released: [(signal: Signal, form: Form)] = []
      while let next = signals.releaseFirst() { released.append(next) }
      return released
    }
  }

  private func presence(
    _ number: Int, _ availability: Presence.Availability = .online, bytes: Int = 0
  ) throws -> Signal {
    let address = try BareJID("user\(number)@example.org")
    return .presence(
      Presence(
        from: Party(id: UserID(Int64(number)), realm: RealmID(1), address: address), resource: "r",
        availability: availability, extras: [UInt8](repeating: 1, count: bytes), time: Timestamp(milliseconds: 0)))
  }

  private func told(_ released: [(signal: Signal, form: Form)]) -> [String] {
    released.map { item in
      guard case .presence(let presence) = item.signal else { return "other" }
      return "\(presence.from.id.number) \(presence.availability)"
    }
  }

  @Test func theNewestOfEachInTheOrderTheyCame() throws {
    let held = Waiting()
    for (number, availability) in [
      (1, Presence.Availability.away), (2, .online), (1, .offline), (3, .online), (2, .away),
    ] {
      #expect(held.hold(try presence(number, availability)))
    }
    #expect(held.signals.count == 3)
    #expect(told(held.release()) == ["1 offline", "3 online", "2 away"])
    #expect(held.signals.count == 0 && held.release().isEmpty)
  }

  @Test func aSignalThatEndsASessionDoesNotWait() {
    let held = Waiting()
    #expect(!held.hold(.closed(.revoked)))
    #expect(held.signals.count == 0)
  }

  /// At the bound no new sender can wait; those who wait already may replace their signal, at no cost in memory.
  @Test func noMoreSendersThanTheBound() throws {
    let held = Waiting()
    for number in 1...DoorLimits.heldSendersMax { #expect(held.hold(try presence(number))) }
    #expect(!held.hold(try presence(0)))
    for round in 0..<5 {
      for number in 1...DoorLimits.heldSendersMax {
        #expect(held.hold(try presence(number, round % 2 == 0 ? .away : .offline)))
      }
    }
    #expect(held.signals.slots <= 2 * DoorLimits.heldSendersMax + 1)
    let released = told(held.release())
    #expect(released == (1...DoorLimits.heldSendersMax).map { "\($0) away" })
  }

  /// A signal counts in place of the one that it replaces; what is refused changes nothing.
  @Test func noMoreBytesThanTheBound() throws {
    let held = Waiting()
    let half = DoorLimits.heldBytesMax / 2
    for _ in 0..<3 { #expect(held.hold(try presence(1, bytes: half))) }
    #expect(held.hold(try presence(2, bytes: half)))
    #expect(!held.hold(try presence(3, bytes: 1)))
    #expect(!held.hold(try presence(1, .away, bytes: half + 1)))
    #expect(told(held.release()) == ["1 online", "2 online"])
    #expect(!held.hold(try presence(3, bytes: 2 * half + 1)))
    #expect(held.hold(try presence(3, bytes: 2 * half)))
    #expect(told(held.release()) == ["3 online"])
  }

  /// The signals of a room that the client has left are forgotten with their bytes, and no others.
  @Test func aRoomThatWasLeftIsForgotten() throws {
    let held = Waiting()
    let room = RoomName(dialog: DialogID(7), realm: RealmID(1), address: try BareJID("verona@rooms.example.org"))
    let author = Party(id: UserID(1), realm: RealmID(1), address: try BareJID("user1@example.org"))
    let typing = RelayedStanza(
      name: .message(.groupchat), from: author, fromResource: "nick", room: room, to: room.address, toResource: nil,
      id: nil, extras: [UInt8](repeating: 1, count: DoorLimits.heldBytesMax), typing: true)
    #expect(held.hold(.stanza(typing)))
    #expect(!held.hold(try presence(2, bytes: 1)))
    held.signals.forget(DialogID(8))
    #expect(held.signals.count == 1)
    held.signals.forget(room.dialog)
    #expect(held.signals.count == 0)
    #expect(held.hold(try presence(2, bytes: DoorLimits.heldBytesMax)))
  }

  /// Where nothing can be sent, a presence without text waits beside those that have taken all bytes.
  @Test func aShortPresenceWaitsBesideLongOnes() throws {
    let held = Waiting()
    #expect(held.hold(try presence(1, bytes: DoorLimits.heldBytesMax)))
    let (long, short) = (
      try presence(2, bytes: DoorLimits.heldShortBytes + 1), try presence(2, bytes: DoorLimits.heldShortBytes)
    )
    let waits = [long, short].map { held.signals.hold($0, .direct, all: true) }
    #expect(waits == [false, true])
    let isHeldForOthers = held.hold(try presence(3, bytes: 1))
    #expect(!isHeldForOthers)
    #expect(told(held.release()) == ["1 online", "2 online"])
  }
}
