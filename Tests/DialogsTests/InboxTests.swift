import Addresses
import Basics
import DialogsFixtures
import ServerMetrics
import Synchronization
import Testing

@testable import Dialogs

/// Who wakes the committer, and what it takes, in each of its states.
@Suite struct InboxTests {
  private let inbox = Inbox(metrics: Metrics())
  private let author = Party(id: UserID(1), realm: RealmID(1), address: .nowhere)

  /// Appends a post that can be told by its position; returns whether the committer must be woken.
  private func append(_ number: Int64, canWait: Bool = false, by author: Party? = nil) -> Bool? {
    let post = Post(author: author ?? self.author, intent: .confirm(Position(number)), completion: .none)
    guard case .queued(let wake) = inbox.append(post, canWait: canWait) else { return nil }
    return wake
  }

  private func take(pausing: Bool) -> [Int64] {
    inbox.take(pausing: pausing).posts.compactMap {
      if case .confirm(let position) = $0.intent { position.number } else { nil }
    }
  }

  @Test func theFirstPostWakesAnIdleCommitter() {
    #expect(append(1, canWait: true) == true)
    #expect(append(2) == false)
    #expect(take(pausing: false) == [1, 2])
    // It works until it finds nothing more.
    #expect(append(3) == false)
    #expect(take(pausing: false) == [3])
    #expect(take(pausing: false) == [])
    #expect(append(4) == true)
    #expect(inbox.taken == 3 && inbox.count == 1)
  }

  @Test func nothingWaitsForRoomInAClosedInbox() {
    let tries = Atomic(0)
    inbox.whenRoom { tries.add(1, ordering: .relaxed) }
    #expect(tries.load(ordering: .relaxed) == 1)
    inbox.close()
    #expect(append(1) == nil)
    inbox.whenRoom { tries.add(1, ordering: .relaxed) }
    #expect(tries.load(ordering: .relaxed) == 1)
  }

  /// Few posts with many bytes fill it, too, and it has room again when most of them are taken.
  @Test func itIsFullByBytesAsWell() {
    let inbox = Inbox(metrics: Metrics(), bytesMax: 10_000)
    func append(_ count: Int) -> Bool {
      let draft = PrivateXMLDraft(name: "x", bytes: Array(repeating: 0, count: count))
      let post = Post(author: author, intent: .setPrivateXML([draft]), completion: .none)
      return if case .queued = inbox.append(post) { true } else { false }
    }
    #expect(append(6_000) && !inbox.isFull)
    #expect(append(6_000) && inbox.isFull)
    #expect(!append(0))
    let tries = Atomic(0)
    inbox.whenRoom { tries.add(1, ordering: .relaxed) }
    #expect(tries.load(ordering: .relaxed) == 0)
    #expect(inbox.take(pausing: false).posts.count == 2)
    #expect(tries.load(ordering: .relaxed) == 1)
    #expect(append(6_000) && !inbox.isFull)
  }

  /// A room's messages and presences count as others do, and pictures.
  @Test func whatAnAuthorHasChosenCountsInEveryKindOfPost() {
    let bytes = [UInt8](repeating: 0x20, count: 6_000)
    let content = Content(kind: .text, text: "x", extras: bytes)
    let message = RoomMessageDraft(content: content, envelope: Envelope(type: .groupchat), traits: [], key: nil)
    let presence = Presence(
      from: author, resource: "x", availability: .online, extras: bytes, time: Timestamp(milliseconds: 0))
    let avatar = Avatar(hash: "", mediaType: "image/png", bytes: bytes)
    let room = RoomReference.address(.nowhere)
    let ofRooms: [RoomIntent] = [
      .say(room, message), .whisper(room, nick: "x", message), .topic(room, text: "", stanza: message),
      .show(room, presence), .exit(room, presence), .configure(room, SettingsDraft(avatar: avatar) { _ in }),
    ]
    let direct = MessageDraft(to: .nowhere, content: content, envelope: Envelope(), traits: [], key: nil)
    let intents: [Intent] = [
      .message(direct), .profile(ProfileDraft(avatar: avatar)), .profile(ProfileDraft(vCard: bytes)),
    ]
    for intent in intents + ofRooms.map({ Intent.room($0) }) { #expect(intent.byteCount >= 6_000, "\(intent)") }
  }

  @Test func postsThatCanWaitAreGatheredInAPause() {
    #expect(append(1, canWait: true) == true)
    #expect(inbox.take(pausing: false).hasPatient)
    #expect(take(pausing: true) == [])
    #expect(append(2, canWait: true) == false)
    #expect(append(3, canWait: true) == false)
    #expect(take(pausing: true) == [])
    #expect(take(pausing: false) == [2, 3])
  }

  @Test func aPostThatCannotWaitEndsThePauseForAllBeforeIt() {
    #expect(take(pausing: true) == [])
    #expect(append(1, canWait: true) == false)
    #expect(append(2) == true)
    #expect(append(3) == false)
    #expect(append(4, canWait: true) == false)
    #expect(take(pausing: true) == [1, 2, 3, 4])
    #expect(!inbox.take(pausing: true).hasPatient)
  }

  @Test func theRestOfAFullBatchDoesNotWait() {
    for number in 0...Int64(Limits.batchPostsMax) {
      let author = Party(id: UserID(1 + number % 64), realm: RealmID(1), address: .nowhere)
      _ = append(number, canWait: number > 0, by: author)
    }
    #expect(take(pausing: true) == Array(0..<Int64(Limits.batchPostsMax)))
    #expect(take(pausing: true) == [Int64(Limits.batchPostsMax)])
  }

  /// What an account has beyond its share is left behind, and does not wait for a pause either.
  @Test func aUserAndAZoneHaveOneShareEach() throws {
    let share = Int64(Limits.batchShare)
    let (local, abroad) = (RealmID(1), RealmID(-1))
    let other = Party(id: UserID(2), realm: local, address: .nowhere)
    let elsewhere = try ["a@x.verona.example", "b@y.verona.example", "c@mantua.example"].map {
      Party(remote: try BareJID($0), realm: abroad)
    }
    for number in 0...share { _ = append(number) }
    for number in 0..<share { _ = append(1_000 + number, by: elsewhere[0]) }
    _ = append(2_000, by: elsewhere[1])
    _ = append(2_001, by: elsewhere[2])
    _ = append(2_002, by: other)
    _ = append(2_003, by: Parley.nobody)
    #expect(inbox.count == 2 * Int(share) + 5)
    let first: [Int64] = Array(0..<share) + Array(1_000..<1_000 + share)
    #expect(take(pausing: true) == first + [2_001, 2_002, 2_003])
    #expect(inbox.count == 2 && !inbox.isFull)
    #expect(append(2_004, by: other) == false)
    #expect(take(pausing: true) == [share, 2_000, 2_004])
    #expect(inbox.count == 0 && inbox.taken == 2 * Int(share) + 6)
  }

  /// So has a network of clients, except for this machine and where networks are not told apart.
  @Test(arguments: [("192.0.2.1", true), ("127.0.0.1", true), ("192.0.2.1", false)])
  func aNetworkHasOneShare(peer: String, isByNetwork: Bool) {
    var networks = ClientNetworks()
    networks.isByNetwork = isByNetwork
    let inbox = Inbox(metrics: Metrics(), networks: networks)
    let share = Int64(Limits.batchNetworkShare)
    for number in 0...share + 1 {
      let user = Party(id: UserID(1 + number), realm: RealmID(1), address: .nowhere)
      let address = number > share ? "192.0.2.2" : peer
      _ = inbox.append(Post(author: user, intent: .confirm(.zero), completion: .none, from: address))
    }
    let isShared = isByNetwork && peer == "192.0.2.1"
    #expect(inbox.take(pausing: false).posts.count == Limits.batchNetworkShare + (isShared ? 1 : 2))
    #expect(inbox.take(pausing: false).posts.count == (isShared ? 1 : 0))
  }

  /// A batch that has ended with its time makes the next ones smaller, each of which lets the one behind it be larger.
  @Test func batchesHaveAsManyPostsAsThereIsTimeFor() {
    let inbox = Inbox(metrics: Metrics())
    func append(_ numbers: Range<Int64>) {
      for number in numbers {
        let user = Party(id: UserID(1 + number), realm: RealmID(1), address: .nowhere)
        _ = inbox.append(Post(author: user, intent: .confirm(.zero), completion: .none))
      }
    }
    func take() -> [Int64] { inbox.take(pausing: false).posts.map { $0.author.id.number - 1 } }
    append(0..<1_000)
    let first = inbox.take(pausing: false).posts
    #expect(first.count == 1_000)
    inbox.putBack(Array(first[400...]), judged: 400)
    append(1_000..<2_000)
    // Half of a batch is for what was left behind.
    #expect(take() == Array(400..<600) + Array(1_000..<1_200))
    #expect(take() == Array(600..<850) + Array(1_200..<1_450))
    #expect(take() == Array(850..<1_000) + Array(1_450..<1_925))
    // It is not smaller than the share of a network.
    append(2_000..<3_000)
    let last = inbox.take(pausing: false).posts
    #expect(last.count == 781)
    inbox.putBack([], judged: 1)
    #expect(take().count == Limits.batchNetworkShare)
  }

  /// The bytes of what is left behind count on.
  @Test func whatIsLeftBehindKeepsItsPlaceInAFullInbox() {
    let inbox = Inbox(metrics: Metrics(), bytesMax: 10 * Limits.batchShare)
    func append(_ count: Int) -> Bool {
      let draft = PrivateXMLDraft(name: "x", bytes: Array(repeating: 0, count: count))
      let post = Post(author: author, intent: .setPrivateXML([draft]), completion: .none)
      return if case .queued = inbox.append(post) { true } else { false }
    }
    for _ in 0..<Limits.batchShare { #expect(append(1)) }
    #expect(append(9 * Limits.batchShare) && inbox.isFull)
    #expect(inbox.take(pausing: false).posts.count == Limits.batchShare)
    #expect(append(Limits.batchShare) && inbox.isFull)
    #expect(inbox.take(pausing: false).posts.count == 2)
    #expect(!inbox.isFull && inbox.take(pausing: false).posts.isEmpty)
  }

  /// The server's work that may end a user finds all that the user has posted before, and waits for nobody else's posts.
  @Test func workThatMayEndAUserWaitsForThePostsBeforeIt() {
    func work(behind user: UserID?) {
      let work = Intent.work(WriteTransaction(behind: user) { _ in true })
      _ = inbox.append(Post(author: Parley.nobody, intent: work, completion: .none))
    }
    /// Takes a batch: the number of posts, and of works among them.
    func taken() -> [Int] {
      let posts = inbox.take(pausing: false).posts
      return [posts.count, posts.count { if case .work = $0.intent { true } else { false } }]
    }
    for number in 0...Int64(Limits.batchShare) { _ = append(number) }
    work(behind: nil)
    work(behind: author.id)
    work(behind: UserID(2))
    #expect(taken() == [Limits.batchShare + 2, 2])
    #expect(taken() == [2, 1])
    #expect(taken() == [0, 0])
  }

  /// What changes many people counts for as many posts.
  @Test func heavyPostsAreFewInABatch() {
    let members = (1...8).map { MemberDraft(address: .nowhere, affiliation: .member, nick: "\($0)") }
    let create = Intent.room(.create(RoomDraft(settings: .group, members: members)))
    #expect(create.weight == 24 && Intent.confirm(.zero).weight == 1)
    // One that is done in pieces has the whole share.
    let many = Array(repeating: members[0], count: Limits.memberChangesAtOnce + 1)
    #expect(Intent.room(.create(RoomDraft(settings: .group, members: many))).weight == Limits.batchPostsMax)
    for _ in 0..<8 { _ = inbox.append(Post(author: author, intent: create, completion: .none)) }
    _ = append(1, by: Party(id: UserID(2), realm: RealmID(1), address: .nowhere))
    #expect(inbox.take(pausing: false).posts.count == 6)
    #expect(inbox.take(pausing: false).posts.count == 3)
  }
}
