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
    func check() { context.checkPeer { count.value.wrappingAdd(1, ordering: .relaxed) } }
    for _ in 0..<3 { check() }
    #expect(checked() == 1)
    loop.advanceTime(by: FederationLimits.peerCheckPause)
    #expect(checked() == 2)
    loop.advanceTime(by: FederationLimits.peerCheckPause)
    #expect(checked() == 3)
    loop.advanceTime(by: FederationLimits.peerCheckPause)
    check()
    #expect(checked() == 4)
  }
}
