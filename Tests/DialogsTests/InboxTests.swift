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
  private func append(_ number: Int64, canWait: Bool = false) -> Bool? {
    let post = Post(author: author, intent: .confirm(Position(number)), completion: .none)
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
    for number in 0...Int64(Limits.batchPostsMax) { _ = append(number, canWait: number > 0) }
    #expect(take(pausing: true).count == Limits.batchPostsMax)
    #expect(take(pausing: true) == [Int64(Limits.batchPostsMax)])
  }
}
