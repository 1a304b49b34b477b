import Dialogs
import Testing

@testable import XMPPDoor

/// Stanzas take effect in their order, whether they post or wait for posts.
@Suite struct PostsInFlightTests {
  /// A session whose client leaves a room and enters it twice, say, without waiting: each asks what the one before has
  /// done.
  private final class Session {
    var posts = PostsInFlight()
    var done: [String] = []

    func post(_ name: String) { _ = posts.add(number: nil) { _ in self.done.append("\(name) done") } }

    func after(_ run: @escaping () -> Void) { if posts.isEmpty { run() } else { posts.wait(run) } }

    func settle(_ token: UInt64) {
      posts.settle()?.then?(.failure(.overloaded))
      while let next = posts.next(settled: token) {
        next()
        posts.ran()
      }
    }
  }

  @Test func aWaitingStanzaWaitsForEarlierPosts() {
    let session = Session()
    session.post("enter")
    for name in ["leave", "enter again", "leave again"] {
      session.after {
        session.done.append(name)
        session.post(name)
      }
    }
    session.settle(1)
    #expect(session.done == ["enter done", "leave"])
    session.settle(2)
    #expect(session.done == ["enter done", "leave", "leave done", "enter again"])
    session.settle(3)
    #expect(session.done.suffix(2) == ["enter again done", "leave again"])
  }

  /// Later posts do not delay it.
  @Test func aWaitingStanzaDoesNotWaitForLaterPosts() {
    let session = Session()
    session.post("first")
    session.after { session.done.append("behind the first") }
    session.after { session.done.append("and this") }
    session.post("second")
    session.settle(1)
    #expect(session.done == ["first done", "behind the first", "and this"])
  }
}
