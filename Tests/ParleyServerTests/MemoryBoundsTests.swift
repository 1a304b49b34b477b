import Basics
import Dialogs
import Synchronization
import Testing

@testable import ParleyServer

@Suite struct MemoryBoundsTests {
  private final class Count: Sendable {
    let value = Atomic(0)
  }

  /// The shares in MiB of machines with 256 MiB and 1, 4 and 16 GiB, and numbers that follow from others.
  @Test(arguments: [
    (1 << 28, [32, 11, 16, 4, 16, 16, 8, 4], 1_024, 64), (1 << 30, [128, 49, 64, 16, 64, 64, 32, 16], 4_096, 256),
    (1 << 32, [256, 196, 128, 64, 256, 256, 128, 64], 16_384, 512),
    (1 << 34, [256, 176, 128, 128, 256, 1_024, 256, 128], 65_536, 512),
  ])
  func eachKindHasItsShare(memory: Int, mebibytes: [Int], connections: Int, uploads: Int) {
    let bounds = MemoryBounds(memory: memory, files: 262_144)
    let shares = [
      bounds.withoutLogin, bounds.bodies, bounds.unread, bounds.unfinished, bounds.unacknowledged, bounds.answers,
      bounds.online, bounds.links,
    ]
    #expect(shares == mebibytes.map { $0 << 20 })
    #expect(bounds.httpConnections == connections)
    #expect(bounds.uploads == uploads)
    #expect(bounds.beforeSend == min(memory / 128, 64 << 20))
    #expect(bounds.caches == min(memory / 32, 256 << 20))
    #expect(bounds.remotePresences == min(memory / 64, 128 << 20))
    // Pictures have 5 MiB each, and one share with unfinished bodies.
    #expect(bounds.pictures + bounds.bodies == min(memory / 16, 256 << 20))
    let pictures = [1 << 28: 1, 1 << 30: 3, 1 << 32: 12][memory, default: 16]
    #expect(bounds.pictures == pictures * Limits.avatarSourceBytesMax)
    #expect(bounds.bodies >= pictures * MemoryBound.grown(Limits.avatarSourceBytesMax))
    #expect(bounds.presencesInRooms == min(memory / 128, 128 << 20))
    #expect(bounds.residents == min(memory / 32, 256 << 20))
    #expect(bounds.parts.contains { $0.name == "presences in rooms" && $0.bytes == bounds.presencesInRooms })
    // The rest is for the program, the database's page cache and sessions that do as they should.
    #expect(bounds.sum <= (memory < 1 << 30 ? memory / 13 * 12 : memory / 9 * 8))
  }

  /// Memory is given back once each time that much of it has become free, and not before.
  @Test func memoryIsGivenBackOnceMuchIsFree() {
    let count = Count()
    let bound = MemoryBound()
    let memory = MemoryReturn([bound, MemoryBound()]) { count.value.wrappingAdd(1, ordering: .relaxed) }
    func look() -> Int {
      memory.look()
      return count.value.load(ordering: .relaxed)
    }
    let holder = bound.enter("a") {}
    #expect(look() == 0)
    holder.hold(100 << 20)
    #expect(look() == 0)
    holder.hold(50 << 20)
    // Too little for the work.
    #expect(look() == 0)
    holder.hold(30 << 20)
    #expect(look() == 1)
    #expect(look() == 1)
    holder.hold(0)
    #expect(look() == 1)
    // Much that came and went between two looks.
    holder.hold(200 << 20)
    holder.hold(0)
    #expect(look() == 2)
    #expect(look() == 2)
  }

  /// What holders lose at a bound becomes free without a change of the sum.
  @Test func memoryIsGivenBackOnceMuchWasTakenFromSome() {
    let count = Count()
    let bound = MemoryBound(bytesMax: 100 << 20)
    let memory = MemoryReturn([bound]) { count.value.wrappingAdd(1, ordering: .relaxed) }
    func pass(_ name: String) -> MemoryBound.Holder {
      let holder = bound.enter(name) {}
      holder.hold(80 << 20)
      memory.look()
      return holder
    }
    let holders = ["a", "b"].map(pass)
    #expect(bound.bytes == 80 << 20)
    #expect(count.value.load(ordering: .relaxed) == 1)
    withExtendedLifetime(holders) {}
  }
}
