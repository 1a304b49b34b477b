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
    var posted: [String] = []

    func post(_ name: String) {
      posted.append(name)
      _ = posts.add(number: nil) { _ in self.done.append("\(name) done") }
    }

    func say(_ name: String) {
      if posts.hasWaiting { posts.waitToPost { self.post(name) } } else { post(name) }
    }

    func after(_ run: @escaping () -> Void) {
      if posts.isEmpty, !posts.hasWaiting { run() } else { posts.wait(run) }
    }

    /// Reads stanzas while work runs.
    func read(_ stanzas: () -> Void) {
      let isRunning = posts.isRunning
      posts.isRunning = false
      stanzas()
      posts.isRunning = isRunning
    }

    /// Settles the next post; `token` is its number, which makes the test readable.
    func settle(_ token: UInt64) {
      if let then = posts.settle()?.then {
        posts.begin()
        then(.failure(.overloaded))
        posts.ran()
      }
      while posts.isNextDue {
        let next = posts.next()
        next()
        posts.ran()
      }
    }
  }

  /// A few large stanzas that wait stop the reading as many small ones do.
  @Test func whatWaitsHasABoundInBytes() {
    var posts = PostsInFlight()
    _ = posts.add(number: nil, then: nil)
    posts.wait(bytes: DoorLimits.waitingTurnsBytesMax - 1) {}
    #expect(!posts.isWaitingFull)
    posts.waitToPost(bytes: 1) {}
    #expect(posts.isWaitingFull)
    _ = posts.settle()
    posts.next()()
    posts.ran()
    #expect(!posts.isWaitingFull)
    _ = posts.takeWaitingPosts()
    posts.wait(bytes: DoorLimits.waitingTurnsBytesMax - 1) {}
    #expect(!posts.isWaitingFull)
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

  /// RFC 6120 10.1: a message does not overtake presence that was sent before it, nor the reverse.
  @Test func aPostDoesNotOvertakeAWaitingStanza() {
    let session = Session()
    session.say("one")
    session.after { session.done.append("presence") }
    for name in ["two", "three"] { session.say(name) }
    session.after { session.done.append("more presence") }
    #expect(session.posted == ["one"])
    session.settle(1)
    // They do not wait for each other.
    #expect(session.posted == ["one", "two", "three"])
    session.settle(2)
    #expect(session.done == ["one done", "presence", "two done"])
    session.settle(3)
    #expect(session.done == ["one done", "presence", "two done", "three done", "more presence"])
    #expect(session.posts.isDone)
  }

  @Test func aWaitingStanzaPostsAtOnce() {
    let session = Session()
    session.say("one")
    session.after { session.say("enter") }
    session.say("hello")
    session.after { session.done.append("presence") }
    session.settle(1)
    #expect(session.posted == ["one", "enter", "hello"])
    session.settle(2)
    session.settle(3)
    #expect(session.done == ["one done", "enter done", "hello done", "presence"])
  }

  /// What a stanza posts when its post is committed belongs before the stanzas that wait, which wait for that, too.
  @Test func whatFollowsAPostIsBeforeWhatWaits() {
    let session = Session()
    _ = session.posts.add(number: nil) { _ in session.say("follows") }
    session.after { session.done.append("presence") }
    session.say("later")
    session.settle(1)
    #expect(session.posted == ["follows"] && session.done.isEmpty)
    session.settle(2)
    #expect(session.posted == ["follows", "later"])
    #expect(session.done == ["follows done", "presence"])
    session.settle(3)
    #expect(session.posts.isDone)
  }

  /// The work of one stanza may let the connection read the next ones, which come behind what waits.
  @Test func aStanzaThatIsReadMeanwhileIsBehindWhatWaits() {
    let session = Session()
    session.say("one")
    session.after {
      session.posted.append("presence")
      session.read {
        session.after { session.posted.append("more presence") }
        session.say("three")
      }
    }
    session.after { session.say("two") }
    session.settle(1)
    #expect(session.posted == ["one", "presence", "two"])
    session.settle(2)
    #expect(session.posted == ["one", "presence", "two", "more presence", "three"])
  }

  @Test func whatWaitsToPostIsPostedAtTheEnd() {
    let session = Session()
    session.say("one")
    session.after { session.say("enter") }
    session.say("two")
    session.say("three")
    for post in session.posts.takeWaitingPosts() { post() }
    #expect(session.posted == ["one", "two", "three"])
    session.settle(1)
    #expect(session.done == ["one done"])
  }
}
