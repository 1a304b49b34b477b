import NIOCore
import NIOEmbedded
import ServerMetrics
import Synchronization
import Testing

@testable import XMPPDoor

@Suite struct PeerCheckTests {
  private final class Count: Sendable {
    let value = Atomic(0)
  }

  /// Handshakes that come to their signatures together do not hold the loop up together.
  @Test func signaturesOfPeersAreCheckedOneByOne() {
    let loop = EmbeddedEventLoop()
    let context = LoopContext(loop: loop, Metrics())
    let count = Count()
    func checked() -> Int { count.value.load(ordering: .relaxed) }
    func check() {
      context.checkPeer {
        count.value.wrappingAdd(1, ordering: .relaxed)
        return true
      }
    }
    for _ in 0..<3 { check() }
    #expect(checked() == 1)
    loop.advanceTime(by: FederationLimits.peerCheckPause)
    #expect(checked() == 2)
    loop.advanceTime(by: FederationLimits.peerCheckPause)
    #expect(checked() == 3)
    loop.advanceTime(by: FederationLimits.peerCheckPause)
    check()
    #expect(checked() == 4)
    loop.advanceTime(by: FederationLimits.peerCheckPause)
  }

  /// Whoever begins handshakes and leaves them does not delay others.
  @Test func peersThatHaveLeftTakeNoTurn() {
    let loop = EmbeddedEventLoop()
    let context = LoopContext(loop: loop, Metrics())
    let (asked, checked) = (Count(), Count())
    func counts() -> [Int] { [asked, checked].map { $0.value.load(ordering: .relaxed) } }
    func check(isOpen: Bool) {
      context.checkPeer {
        asked.value.wrappingAdd(1, ordering: .relaxed)
        if isOpen { checked.value.wrappingAdd(1, ordering: .relaxed) }
        return isOpen
      }
    }
    check(isOpen: true)
    for _ in 0..<1_000 { check(isOpen: false) }
    check(isOpen: true)
    #expect(counts() == [1, 1])
    loop.advanceTime(by: FederationLimits.peerCheckPause)
    #expect(counts() == [1_002, 2])
    loop.advanceTime(by: FederationLimits.peerCheckPause)
    // Nor does one that has left before.
    check(isOpen: false)
    check(isOpen: true)
    #expect(counts() == [1_004, 3])
    loop.advanceTime(by: FederationLimits.peerCheckPause)
  }
}
