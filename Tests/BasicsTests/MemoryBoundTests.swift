import Synchronization
import Testing

@testable import Basics

@Suite struct MemoryBoundTests {
  private final class Record: Sendable {
    private let list = Mutex<[String]>([])
    var names: [String] { list.withLock { $0 } }
    func add(_ name: String) { list.withLock { $0.append(name) } }
  }

  private static let share = MemoryBound.shareBytes

  /// The oldest holder of the network that has the most ends with all that it holds, and no other.
  @Test func theNetworkWithTheMostLosesItsOldest() {
    let (ended, lost) = (Record(), Record())
    let bound = MemoryBound(bytesMax: 6 * Self.share) { lost.add($0) }
    func enter(_ network: String, _ name: String, _ shares: Int) -> MemoryBound.Holder {
      let holder = bound.enter(network) { ended.add(name) }
      holder.hold(shares * Self.share)
      return holder
    }
    let attackers = [enter("attacker", "a1", 2), enter("attacker", "a2", 3)]
    let witness = enter("witness", "w1", 1)
    #expect(bound.bytes == 6 * Self.share && ended.names == [])
    witness.hold(Self.share + 1)
    #expect(ended.names == ["a1"] && lost.names == ["attacker"])
    #expect(bound.bytes == 5 * Self.share)
    // The one that has ended holds nothing, whatever it says.
    attackers[0].hold(5 * Self.share)
    #expect(bound.bytes == 5 * Self.share)
    // One that grows is ended itself where it is the oldest of the network with the most.
    attackers[1].hold(5 * Self.share)
    #expect(ended.names == ["a1", "a2"] && bound.bytes == 2 * Self.share)
    witness.hold(0)
    #expect(bound.bytes == 0 && ended.names == ["a1", "a2"])
  }

  @Test func whatIsReleasedIsFree() {
    let ended = Record()
    let bound = MemoryBound(bytesMax: 2 * Self.share)
    func pass() {
      let holder = bound.enter("a") { ended.add("a") }
      holder.hold(1)
      #expect(bound.bytes == Self.share)
      withExtendedLifetime(holder) {}
    }
    pass()
    #expect(bound.bytes == 0)
    let holder = bound.enter("a") { ended.add("a") }
    holder.hold(2 * Self.share)
    holder.release()
    #expect(bound.bytes == 0)
    holder.hold(Self.share)
    #expect(bound.bytes == 0 && ended.names == [])
    #expect(bound.takePeak() == (2 * Self.share, 0))
    #expect(bound.takePeak() == (0, 0))
  }

  /// Where networks are not distinguished the oldest of all ends.
  @Test func withoutNetworksTheOldestEnds() {
    let ended = Record()
    let bound = MemoryBound(bytesMax: 2 * Self.share, isByNetwork: false)
    let holders = ["a", "b", "b"].enumerated().map { number, network in
      let holder = bound.enter(network) { ended.add("\(number)") }
      holder.hold(1)
      return holder
    }
    #expect(ended.names == ["0"] && bound.bytes == 2 * Self.share)
    #expect(bound.takePeak() == (2 * Self.share, Self.share))
    for holder in holders { holder.release() }
    #expect(bound.bytes == 0)
  }

  /// A holder that needs more than there is ends, and nobody who has less.
  @Test func aHolderOfMoreThanAllEndsAlone() {
    let ended = Record()
    let bound = MemoryBound(bytesMax: 2 * Self.share)
    let small = bound.enter("a") { ended.add("small") }
    small.hold(1)
    let large = bound.enter("b") { ended.add("large") }
    large.hold(3 * Self.share)
    #expect(ended.names == ["large"] && bound.bytes == Self.share)
    withExtendedLifetime((small, large)) {}
  }

  @Test func aBufferHasAPowerOfTwo() {
    #expect([0, 1, 2, 3, 16_384, 16_385].map(MemoryBound.grown) == [0, 1, 2, 4, 16_384, 32_768])
  }
}
