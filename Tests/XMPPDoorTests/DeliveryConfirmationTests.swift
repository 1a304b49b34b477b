import Dialogs
import Testing

@testable import XMPPDoor

/// The messages that a client has confirmed, of those it was sent.
@Suite struct DeliveryConfirmationTests {
  private final class Walk {
    var value: DeliveryConfirmation
    init(_ value: DeliveryConfirmation = DeliveryConfirmation()) { self.value = value }
    func confirm(_ number: Int64) -> Bool { value.confirm(Position(number)) }
    func begin(_ id: String) -> DeliveryConfirmation.Request? { value.begin(id) }
    func tick() -> DeliveryConfirmation.Request? { value.tick()?.request }
    func answered(_ id: String) -> Position? { value.answered(id) }
    func due(after count: Int = 1) -> Position? { value.due(after: count) }
  }

  @Test func anAnswerConfirmsWhatStoodBeforeTheRequest() {
    let walk = Walk()
    walk.value.tell(Position(4))
    #expect(walk.begin("a") == .version)
    #expect(walk.begin("b") == nil, "one at a time")
    walk.value.tell(Position(7))
    #expect(walk.answered("b") == nil)
    #expect(walk.answered("a") == Position(4))
    #expect(walk.answered("a") == nil)
    #expect(walk.confirm(4))
    #expect(walk.value.isOwed)
    #expect(walk.confirm(7))
    #expect(!walk.value.isOwed)
  }

  /// A library that leaves versions to its application answers pings.
  @Test func aClientThatDoesNotAnswerIsPingedOnce() {
    let walk = Walk()
    walk.value.tell(Position(4))
    #expect(walk.tick() == nil)
    #expect(walk.begin("a") == .version)
    #expect(walk.tick() == nil)
    walk.value.tell(Position(7))
    #expect(walk.value.tick()! == ("a", .ping))
    #expect(walk.tick() == nil)
    #expect(walk.begin("b") == nil)
    #expect(walk.answered("a") == Position(4))
    #expect(walk.begin("b") == .version)
  }

  @Test func theLogIsToldNowAndThen() {
    let walk = Walk()
    for number: Int64 in 1...3 { #expect(walk.confirm(number)) }
    #expect(walk.due(after: 4) == nil)
    #expect(walk.confirm(4))
    #expect(walk.due(after: 4) == Position(4))
    #expect(walk.due() == nil)
    #expect(!walk.confirm(4))
    #expect(walk.confirm(5))
    #expect(walk.due() == Position(5))
  }

  /// Messages that were confirmed before the session began are not confirmed again.
  @Test func aSessionBeginsWhereTheUserIs() {
    let walk = Walk(DeliveryConfirmation(told: Position(9), confirmed: Position(2)))
    walk.value.begin(at: Position(5))
    #expect(walk.value.told == Position(9) && walk.value.confirmed == Position(5))
    #expect(walk.due() == nil)
    #expect(!walk.confirm(5))
  }
}
