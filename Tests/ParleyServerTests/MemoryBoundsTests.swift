import Basics
import Synchronization
import Testing

@testable import ParleyServer

@Suite struct MemoryBoundsTests {
  private final class Count: Sendable {
    let value = Atomic(0)
  }

  @Test(arguments: [
    (1 << 28, 32, 32, 1_024), (1 << 30, 128, 128, 4_096), (1 << 32, 256, 256, 16_384), (1 << 34, 256, 256, 65_536),
  ])
  func eachKindHasItsShare(memory: Int, withoutLogin: Int, bodies: Int, connections: Int) {
    let bounds = MemoryBounds(memory: memory)
    #expect(bounds.withoutLogin == withoutLogin << 20)
    #expect(bounds.bodies == bodies << 20)
    #expect(bounds.httpConnections == connections)
  }

  /// Memory is given back once for each wave that was large, and not while it lasts.
  @Test func memoryIsGivenBackAfterAWave() {
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
    // A wave that came and went between two looks.
    holder.hold(200 << 20)
    holder.hold(0)
    #expect(look() == 2)
    #expect(look() == 2)
  }
}
