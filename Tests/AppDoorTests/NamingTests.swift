import Addresses
import Basics
import Dialogs
import Foundation
import JSON
import Logging
import NIOCore
import SQLiteStore
import Testing

@testable import AppDoor

/// In a dialog that hides its members' addresses, members without the right to see them get ids that are valid only
/// there, in every event and answer.
@Suite struct NamingTests {
  private static let time = Timestamp(milliseconds: 1_784_021_400_123)
  private static func party(_ number: Int64, _ name: String) -> Party {
    Party(id: UserID(number), realm: RealmID(1), address: BareJID(parsing: "\(name)@localhost")!)  // constants
  }
  /// The users concerned, whose names occur in nothing else that is sent.
  private static let author = party(1, "id-of-author")
  private static let actor = party(2, "id-of-actor")
  private static let other = party(3, "id-of-other")
  private static let viewer = party(4, "id-of-viewer")
  private static let people = [author, actor, other]
  private static let room = RoomName(
    dialog: DialogID(7), realm: RealmID(1), address: BareJID(parsing: "square@conference.localhost")!)  // a constant

  private struct FixedClock: Clock { var now: Timestamp { NamingTests.time } }

  private func rendering(in folder: Folder) throws -> Rendering {
    let parley = try Parley(
      store: try SQLiteStore(path: folder.path + "/parley.db"), clock: FixedClock(),
      options: Parley.Options(domains: ["localhost"]),
      logger: Logger(label: "naming") { _ in SwiftLogNoOpLogHandler() })
    return Rendering(parley: parley, realm: parley.realms[0].id)
  }

  private final class Folder {
    let path = FileManager.default.temporaryDirectory.appending(path: "parley-naming-\(UUID())").path
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private static func entry(_ fact: Fact, by author: Party = author, state: MessageState? = nil) -> Entry {
    Entry(
      position: Position(9), time: time, dialog: room.dialog, author: author, place: .room(room), fact: fact,
      id: PublicID(high: 1, low: 2), state: state)
  }

  private static func message(_ reference: Reference? = nil) -> Message {
    Message(
      sequence: 3, content: Content(kind: .text, text: "What light"),
      envelope: Envelope(type: .groupchat, fromResource: "Rose", id: "c1"), traits: [.counts, .fromApp],
      reference: reference, mentions: [author, other].map { Mention(party: $0, name: .nick("Thorn"), place: 0..<4) })
  }

  private static func room(_ change: RoomChange.Change) -> Fact {
    .room(
      RoomChange(
        sequence: 4, change: change,
        room: Room(
          name: room, externalID: "e", createdAt: time, settings: .open,
          topic: Topic(text: "T", nick: "Rose", time: time))))
  }

  private static func member(_ was: Affiliation, _ now: Affiliation, _ party: Party = other, kick: Bool? = nil) -> Fact
  {
    room(
      .member(
        MemberChange(
          party: party, was: was, now: now, nick: "Thorn", reason: "why", wasKicked: kick == false,
          isKicked: kick == true)))
  }

  /// One entry of every kind that an app receives of a room. The switches have no default, so that a new fact, change
  /// or reference must be added here.
  private static var told: [Entry] {
    var told: [Entry] = []
    for kind in [
      Fact.Kind.message, .marker, .contact, .blocks, .profile, .dialogOpened, .room, .invitation, .node, .settings,
    ] {
      switch kind {
      case .message: told += messages
      case .marker:
        let mark = Mark(dialog: room.dialog, user: author.id, delivered: Position(3), displayed: Position(2))
        told.append(
          entry(
            .marker(
              Marker(
                kind: .displayed, mark: mark, target: Position(2), targetID: PublicID(high: 3, low: 4),
                targetStanzaID: nil, stanza: nil, told: true, asked: false))))
      case .room: told += changes
      case .invitation:
        told.append(
          Entry(
            position: Position(9), time: time, dialog: DialogID(8), author: viewer, place: .peer(viewer),
            fact: .invitation(Invitation(room: room, inviter: author, reason: "Come", password: nil, name: "N")),
            id: PublicID(high: 1, low: 2), isSemiAnonymous: true))
      // These are entries of the user alone, or of two users who know each other.
      case .contact, .contactGroup, .blocks, .profile, .dialogOpened, .node, .settings, .perUser, .draftOrScheduled,
        .call, .notification, .undelivered:
        break
      }
    }
    return told
  }

  private static var messages: [Entry] {
    var state = MessageState(
      version: Position(9), revision: 2, text: "What night",
      mentions: people.map { Mention(party: $0, name: .nick("Thorn"), place: nil) }, editedAt: time)
    state.reactions = people.map { MessageState.Reaction(user: $0, emoji: ["🌹", "👍"]) }
    var gone = MessageState(version: Position(9), revision: 3)
    gone.retraction = .init(by: actor, at: time, id: nil, reason: "spam", isModeration: true)
    let target = entry(.message(message()), state: state)
    var messages = [target, entry(.message(message()), state: gone)]
    for kind in [
      Reference.Kind.reply, .correction, .reactions(["🌹"]), .retraction(reason: "r"), .moderation(reason: "r"),
      .pin(true),
    ] {
      let outcome: Entry? =
        switch kind {
        case .reply, .part: nil
        case .correction, .reactions, .pin: target
        case .retraction, .moderation: entry(.message(message()), state: gone)
        }
      messages.append(
        entry(
          .message(
            message(
              Reference(
                kind: kind, target: Position(5), targetID: PublicID(high: 5, low: 6), targetStanzaID: nil,
                targetAuthor: JID(parsing: "square@conference.localhost/Rose"), outcome: outcome))),
          by: actor))
    }
    return messages
  }

  private static var changes: [Entry] {
    var facts: [Fact] = []
    let topic = Topic(text: "Fish", nick: "Rose", time: time)
    for change in [
      RoomChange.Change.created, .settings(.open, was: .group), .topic(topic),
      .member(MemberChange(party: other, was: .none, now: .member, nick: nil, reason: nil)),
      .destroyed(reason: "over", alternate: nil),
    ] {
      switch change {
      case .created, .topic, .destroyed: facts.append(room(change))
      case .settings:
        var named = RoomSettings.open
        named.name = "Square"
        facts += [room(change), room(.settings(named, was: .open)), room(.settings(.open, was: named))]
      case .member:
        facts.append(room(change))
        for was in Affiliation.allCases {
          for now in Affiliation.allCases {
            facts += [member(was, now), member(was, now, author)]
          }
        }
        facts += [member(.member, .member, kick: true), member(.member, .member, kick: false)]
      }
    }
    return facts.map { entry($0) }
  }

  private func frame(_ entry: Entry, _ rendering: Rendering, isAnonymized: Bool, for viewer: Party) throws -> String {
    let form = EventForm.of(entry, rendering, isAnonymized: isAnonymized, for: viewer.id)
    var text = ByteBuffer()
    try #require(form.frame(after: "c0")).write(to: &text)
    let frame = String(buffer: text)
    _ = try JSONValue(parsing: frame)
    return frame + (form.message.map { String(buffer: $0) } ?? "")
  }

  @Test func anonymizedEventsNameNobody() throws {
    let folder = try Folder()
    let rendering = try rendering(in: folder)
    let told = Self.told
    #expect(told.count > 80)
    for entry in told {
      let text = try frame(entry, rendering, isAnonymized: true, for: Self.viewer)
      #expect(!text.contains("id-of-"), "\(text)")
      #expect(text.contains("\"occupant:"), "\(text)")
      // And it says the same to the next.
      #expect(try frame(entry, rendering, isAnonymized: true, for: Self.party(5, "next")) == text)
    }
  }

  @Test func oneselfIsNamedByOnesOwnID() throws {
    let folder = try Folder()
    let rendering = try rendering(in: folder)
    var named: Set<String> = []
    for entry in Self.told {
      for person in Self.people {
        let text = try frame(entry, rendering, isAnonymized: true, for: person)
        for one in Self.people where one != person { #expect(!text.contains(one.name), "\(text)") }
        #expect(!text.contains("occupant:" + rendering.parley.occupantID(of: person.id, in: Self.room)))
        if text.contains(person.name) { named.insert(person.name) }
      }
    }
    #expect(named == Set(Self.people.map(\.name)))
  }

  /// There are two forms, whoever requests one first; a viewer with the right to know gets user ids.
  @Test func aViewerWhoMayKnowIsToldUserIDs() throws {
    let folder = try Folder()
    let rendering = try rendering(in: folder)
    for entry in Self.told {
      _ = try frame(entry, rendering, isAnonymized: true, for: Self.viewer)
      let text = try frame(entry, rendering, isAnonymized: false, for: Self.viewer)
      #expect(text.contains("\"id-of-"), "\(text)")
      #expect(!text.contains("occupant:"), "\(text)")
    }
  }

  @Test func membersHaveTheirNickForAName() throws {
    let folder = try Folder()
    let rendering = try rendering(in: folder)
    let room = Room(name: Self.room, externalID: nil, createdAt: Self.time, settings: .open)
    func member(_ party: Party, _ affiliation: Affiliation) -> Member {
      Member(
        room: room.id, party: party, affiliation: affiliation, nick: "Rose", since: .zero, joinedAt: Self.time,
        version: .zero, isKicked: true)
    }
    let user = User(
      id: Self.author.id, realm: RealmID(1), address: Self.author.address, state: .active, createdAt: Self.time,
      profile: Profile(displayName: "Au Thor"), lastSeenAt: nil, delivered: .zero)
    func shown(to viewer: Member?) -> MemberBody {
      let naming = ParticipantNaming(of: room, for: viewer, rendering.parley)
      return rendering.member(member(Self.author, .member), user: user, naming)
    }
    let known = MemberBody(
      userId: Self.author.name, jid: "id-of-author@localhost", role: "member", nick: "Rose", name: "Au Thor",
      joinedAt: Self.time, kicked: true)
    var anonymized = known
    anonymized.userId = ParticipantNaming.prefix + rendering.parley.occupantID(of: Self.author.id, in: Self.room)
    anonymized.jid = nil
    anonymized.name = "Rose"
    for affiliation in [Affiliation.watcher, .member] {
      #expect(shown(to: member(Self.viewer, affiliation)) == anonymized)
    }
    #expect(shown(to: nil) == anonymized)
    for affiliation in [Affiliation.admin, .owner] { #expect(shown(to: member(Self.viewer, affiliation)) == known) }
    #expect(shown(to: member(Self.author, .member)) == known)
  }

  /// The id cannot be a user's name, and it identifies a user in its dialog only.
  @Test func theIDIsNoUserID() {
    #expect(throws: (any Error).self) { try BareJID(local: ParticipantNaming.prefix + "0123", domain: "localhost") }
    #expect { try Checks.address(ParticipantNaming.prefix + "0123", domain: "localhost") } throws: {
      ($0 as? Problem)?.kind == .missing && ($0 as? Problem)?.code == "user-unknown"
    }
  }
}
