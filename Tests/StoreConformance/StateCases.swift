import Addresses
import Basics
import Dialogs

/// The states of messages (`MessageState`), and the references of messages to others.
extension StoreConformance {
  static let states: [Case] = [
    Case(name: "a message's reference to another is read as it was written") { scene in
      let kinds: [Reference.Kind] = [
        .reply, .reply, .correction, .reactions([]), .reactions(["\u{1F339}", "a\u{0}b"]), .retraction(reason: nil),
        .retraction(reason: ""), .moderation(reason: nil), .moderation(reason: "too \u{f6}"),
      ]
      try scene.write { writer in
        let target = try scene.say("1", by: scene.romeo, to: scene.juliet, id: "m1", writer)
        for (number, kind) in kinds.enumerated() {
          let stanzaID = number % 2 == 0 ? "m1" : nil
          let author = kind == .reply && number == 0 ? try JID("orchard@rooms.verona.example/R\u{f6}meo") : nil
          let said = try scene.refer(
            kind, to: target, stanzaID: stanzaID, targetAuthor: author, by: scene.juliet, writer)
          let found = try scene.reference(writer.entry(said.position, in: said.dialog))
          try equal(found?.kind, kind, "kind")
          try equal(found?.target, target.position, "target")
          try equal(found?.targetID, target.id, "id")
          try equal(found?.targetStanzaID, stanzaID, "stanza id")
          try equal(found?.targetAuthor, author, "author")
          try require(found?.outcome == nil, "read from the log, with an outcome")
        }
        try require(try scene.reference(writer.entry(target.position, in: target.dialog)) == nil, "out of nothing")
      }
    },
    Case(name: "a state comes back as it was put, and the last one counts") { scene in
      let said = try scene.write { try scene.say("1", by: scene.romeo, to: scene.juliet, $0) }
      let other = try scene.write { try scene.say("2", by: scene.romeo, to: scene.juliet, $0) }
      try scene.read { try require(try $0.entry(said.position, in: said.dialog)?.state == nil, "a state of nothing") }
      let states = [
        MessageState(version: Position(77), revision: 1),
        MessageState(
          version: Position(78), revision: 9, text: "h\u{f6} \u{1F339}", editedAt: Timestamp(milliseconds: 5),
          reactions: [
            .init(user: scene.nurse, emoji: ["\u{1F44D}", "x"]), .init(user: scene.romeo, emoji: ["\u{1F44D}"]),
          ]),
        MessageState(version: Position(79), revision: 10, text: "", reactions: []),
        MessageState(version: Position(79), revision: 10, text: "a", corrections: 500),
        MessageState(
          version: Position(79), revision: 11, text: "a", pin: .init(by: scene.nurse, at: Timestamp(milliseconds: 8)),
          delivery: .queued, corrections: 3),
        MessageState(
          version: Position(79), revision: 12, text: "b", delivery: .failed(FederationFailure(.wait, "x", "y")),
          corrections: 4),
        MessageState(
          version: Position(80), revision: 11,
          retraction: .init(
            by: scene.juliet, at: Timestamp(milliseconds: 6), id: "r", reason: "why", isModeration: true)),
        MessageState(
          version: Position(81), revision: 12,
          retraction: .init(
            by: scene.romeo, at: Timestamp(milliseconds: 7), id: nil, reason: nil, isModeration: false)),
      ]
      for state in states {
        try scene.write { writer in
          try writer.put(state, of: said.position, in: said.dialog)
          try equal(try writer.entry(said.position, in: said.dialog)?.state, state, "as written")
        }
        try scene.reopen()
        try scene.read { reader in
          try equal(try reader.entry(said.position, in: said.dialog)?.state, state, "as read")
          try equal(try reader.entry(other.position, in: other.dialog), other)
          try require(try reader.entry(other.position, in: other.dialog)?.state == nil, "the other one's")
        }
      }
    },
    Case(name: "whichever way a message is read, its state is there") { scene in
      let state = MessageState(version: Position(9), revision: 2, text: "anew", editedAt: Timestamp(milliseconds: 1))
      let said = try scene.write { writer in
        let said = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        try writer.put(state, of: said.position, in: said.dialog)
        return said
      }
      try scene.read { reader in
        var exactly = ArchiveQuery(limit: 9)
        exactly.positions = [said.position]
        var ofDialog = ArchiveQuery(limit: 9)
        ofDialog.with = said.dialog
        let views: [(String, [Entry])] = [
          ("entry", [try reader.entry(said.position, in: said.dialog)].compactMap { $0 }),
          ("history", try reader.history(of: said.dialog, after: .zero, before: .end, limit: 9, ascending: true)),
          ("back", try reader.history(of: said.dialog, after: .zero, before: .end, limit: 9, ascending: false)),
          ("last", try reader.dialogs(of: scene.juliet.id, before: .end, limit: 9).compactMap(\.lastMessage)),
          ("feed", try reader.feed(of: scene.juliet.id, after: .zero, limit: 9)),
          ("feed and rooms", try reader.feed(of: scene.juliet.id, rooms: [], after: .zero, limit: 9)),
          ("replay", try reader.replay(of: scene.juliet.id, after: .zero, limit: 9)),
          ("archive", try reader.archive(of: scene.romeo.id, ArchiveQuery(limit: 9)).entries),
          ("archive of a dialog", try reader.archive(of: scene.romeo.id, ofDialog).entries),
          ("archive by id", try reader.archive(of: scene.romeo.id, exactly).entries),
        ]
        for (name, entries) in views { try equal(entries.map(\.state), [state], name) }
        // The original message is kept beside the state.
        for (name, entries) in views { try equal(entries, [said], name) }
      }
    },
    Case(name: "the state of a message in a room is kept beside it, too") { scene in
      let state = MessageState(
        version: Position(9), revision: 1, reactions: [.init(user: scene.juliet, emoji: ["\u{1F339}"])])
      let (room, since, said) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let said = try scene.say("1", by: scene.romeo, in: room.id, writer)
        try writer.put(state, of: said.position, in: room.id)
        return (room.id, room.last, said)
      }
      try scene.read { reader in
        let followed = [(room: room, since: since)]
        let views: [(String, [Entry])] = [
          ("history", try reader.history(of: room, after: since, before: .end, limit: 9, ascending: true)),
          ("feed", try reader.feed(of: scene.juliet.id, rooms: followed, after: since, limit: 9)),
          ("archive", try reader.archive(of: room, ArchiveQuery(limit: 9)).entries),
          ("last", try reader.rooms(of: scene.juliet.id, before: .end, limit: 9).compactMap(\.lastMessage)),
        ]
        for (name, entries) in views {
          try equal(entries.map(\.position), [said.position], name)
          try equal(entries.map(\.state), [state], name)
        }
      }
    },
    Case(name: "a retracted message leaves no content, nor do its corrections") { scene in
      let words = ["secret-text", "secret-field", "secret-extra", "secret-edit", "secret-state", "secret-late"]
      let extras = Array("<body>secret-extra</body>".utf8)
      let (said, corrections, kept) = try scene.write { writer in
        let said = try scene.say(
          Content(kind: .text, text: "secret-text", fields: #"{"a":"secret-field"}"#, extras: extras),
          Envelope(type: .chat, fromResource: "orchard", id: "m1", language: "en"), by: scene.romeo, to: scene.juliet,
          writer)
        let corrections = try ["secret-edit", "secret-late"].map { text in
          try scene.refer(
            .correction, to: said, by: scene.romeo,
            content: Content(kind: .text, text: text, extras: Array(text.utf8)), writer)
        }
        let reaction = try scene.refer(.reactions(["\u{1F339}"]), to: said, by: scene.juliet, writer)
        try writer.put(
          MessageState(version: said.position, revision: 1, text: "secret-state"), of: said.position, in: said.dialog)
        return (said, corrections, [reaction, try scene.say("kept", by: scene.romeo, to: scene.juliet, writer)])
      }
      let state = MessageState(
        version: Position(99), revision: 3,
        retraction: .init(by: scene.romeo, at: scene.time, id: "r1", reason: nil, isModeration: false))
      try scene.write { try $0.put(state, of: said.position, in: said.dialog) }
      try scene.reopen()
      try scene.read { reader in
        for entry in [said] + corrections {
          guard let found = try reader.entry(entry.position, in: entry.dialog), case .message(let message) = found.fact,
            case .message(let before) = entry.fact
          else { throw Unmet(description: "the message is gone") }
          try equal(found.state, state, "the tombstone")
          try equal(message.content.text, "", "text")
          try require(message.content.fields == nil, "fields")
          try equal(message.content.extras, [], "extras")
          // The tombstone keeps dialog, time, author and sequence.
          try equal(found.time, entry.time, "time")
          try equal(message.sequence, before.sequence, "sequence")
          try equal(message.envelope.id, before.envelope.id, "id")
          try equal(message.envelope.fromResource, before.envelope.fromResource, "resource")
          try equal(message.content.kind, before.content.kind, "kind")
        }
        for entry in kept { try equal(try reader.entry(entry.position, in: entry.dialog), entry) }
        for entry in kept {
          try require(try reader.entry(entry.position, in: entry.dialog)?.state == nil, "a tombstone too many")
        }
        let everything = try reader.archive(of: scene.juliet.id, ArchiveQuery(limit: 99)).entries
        try equal(everything.count, 5, "the archive")
        for word in words { try require(!"\(everything.map(\.fact))".contains(word), word) }
      }
      try equal(try scene.read { try $0.unread(of: scene.juliet.id) }, 1, "unread")
    },
    Case(name: "a retracted message counts as unread for nobody, nor do its mentions") { scene in
      let retraction = MessageState.Retraction(
        by: scene.romeo, at: scene.time, id: nil, reason: nil, isModeration: true)
      func retract(_ entry: Entry) throws {
        try scene.write {
          try $0.put(
            MessageState(version: Position(99), revision: 1, retraction: retraction), of: entry.position,
            in: entry.dialog)
        }
      }
      let (said, room) = try scene.write { writer in
        let said = try (1...4).map { try scene.say("\($0)", by: scene.romeo, to: scene.juliet, writer) }
        try scene.say("own", by: scene.juliet, to: scene.romeo, writer)
        let room = try scene.room(of: [scene.romeo, scene.juliet, scene.nurse], writer).id
        return (said, try (1...2).map { try scene.say("\($0)", by: scene.juliet, in: room, writer) })
      }
      func unread() throws -> [Int64] {
        try scene.read { reader in
          try [scene.romeo, scene.juliet, scene.nurse].map { party in
            let total = try reader.unread(of: party.id)
            let dialogs = try reader.dialogs(of: party.id, before: .end, limit: 9)
            let rooms = try reader.rooms(of: party.id, before: .end, limit: 9)
            let inDialogs: Int64 = dialogs.reduce(0) { $0 + $1.mark.unread(ordinal: $1.dialog.ordinal) }
            let inRooms: Int64 = rooms.reduce(0) { $0 + $1.mark.unread(ordinal: $1.room.ordinal) }
            try equal(inDialogs + inRooms, total, "by the marks")
            try equal(
              try reader.conversations(of: party.id, ConversationQuery(limit: 9)).unread, total, "of the inbox")
            try equal(try reader.dialogSummaries(of: party.id).map(\.unread).reduce(0, +), total, "of the summaries")
            return total
          }
        }
      }
      try scene.write { writer in
        try writer.setMentioned([scene.nurse.id, scene.romeo.id], by: room[0].position, in: room[0].dialog)
      }
      try equal(try unread(), [3, 4, 2])
      try retract(room[0])
      try equal(try unread(), [2, 4, 1])
      for party in [scene.nurse, scene.romeo] {
        try equal(try scene.read { try $0.mentions(of: party.id, in: nil) }, 0, "mentions")
      }
      try retract(said[1])
      try retract(said[1])
      try equal(try unread(), [2, 3, 1], "retracted twice")
      // A message that was deleted in both ways is one less, whichever came first.
      try scene.write { writer in
        for entry in [said[1], said[2]] {
          try writer.hide(entry.position, in: entry.dialog, for: scene.juliet.id, counts: true)
          var mark = try scene.mark(scene.juliet, in: scene.dialog(scene.romeo, scene.juliet, writer), writer)
          mark.hidden += 1
          try writer.put(mark, superseded: .zero)
        }
      }
      try equal(try unread(), [2, 2, 1], "and hidden")
      try retract(said[2])
      try equal(try unread(), [2, 2, 1], "hidden and retracted")
      // What has been read counts no more, whether it is retracted before or after.
      try scene.write { writer in
        try scene.display(said[2], by: scene.juliet, writer)
        var mark = try scene.mark(scene.juliet, in: scene.dialog(scene.romeo, scene.juliet, writer), writer)
        mark.hidden = try writer.hiddenCount(of: scene.juliet.id, in: said[0].dialog, after: said[2].position)
        try writer.put(mark, superseded: .zero)
      }
      try retract(said[0])
      try scene.reopen()
      try equal(try unread(), [2, 1, 1], "read")
    },
    Case(name: "a correction of what was taken back before, or erased, does no harm") { scene in
      let said = try scene.write { try scene.say("1", by: scene.romeo, to: scene.juliet, $0) }
      try scene.write { writer in
        let first = try scene.refer(
          .correction, to: said, by: scene.romeo, content: Content(kind: .text, text: "2"), writer)
        try writer.erase(first.position, in: first.dialog)
        let state = MessageState(
          version: first.position, revision: 2,
          retraction: .init(by: scene.romeo, at: scene.time, id: nil, reason: nil, isModeration: false))
        try writer.put(state, of: said.position, in: said.dialog)
        try writer.put(state, of: said.position, in: said.dialog)
        try require(try writer.entry(first.position, in: first.dialog) == nil, "back from the dead")
        try equal(try writer.entry(said.position, in: said.dialog)?.state, state, "state")
      }
    },
    Case(name: "an erased message takes its state with it") { scene in
      let said = try scene.write { writer in
        let said = try scene.say(
          "1", by: scene.romeo, to: scene.juliet, traits: Scene.traits.union(.transient), writer)
        try writer.put(MessageState(version: said.position, revision: 1, text: "2"), of: said.position, in: said.dialog)
        try writer.erase(said.position, in: said.dialog)
        return said
      }
      try scene.read { try require(try $0.entry(said.position, in: said.dialog) == nil, "the entry is there") }
    },
    Case(name: "references to messages count as unread for nobody") { scene in
      let (dialog, said) = try scene.write { writer in
        let said = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        for kind: Reference.Kind in [.correction, .reactions(["x"]), .retraction(reason: nil)] {
          try scene.refer(kind, to: said, by: scene.romeo, writer)
        }
        return (try scene.dialog(scene.romeo, scene.juliet, writer), said)
      }
      try scene.read { reader in
        try equal(try reader.unread(of: scene.juliet.id), 1, "unread")
        let counts = try reader.counting(in: dialog.id, upTo: scene.position, by: scene.romeo.id)
        try equal(counts.all, 1, "all")
        try equal(counts.own, 1, "own")
        let history = try reader.history(of: dialog.id, after: .zero, before: .end, limit: 9, ascending: true)
        try equal(history, [said], "history")
        try equal(
          try reader.dialogs(of: scene.juliet.id, before: .end, limit: 9).compactMap(\.lastMessage), [said], "last")
        // They are followed and archived all the same.
        try equal(try reader.feed(of: scene.juliet.id, after: .zero, limit: 9).count, 4, "feed")
        try equal(try reader.archive(of: scene.juliet.id, ArchiveQuery(limit: 9)).entries.count, 4, "archive")
      }
    },
  ]
}

extension Scene {
  /// A message that changes an earlier one, as the core writes it: without a sequence,
  /// followed by both. A reply is written so too, for the sake of the test.
  @discardableResult
  fileprivate func refer(
    _ kind: Reference.Kind, to target: Entry, stanzaID: String? = nil, targetAuthor: JID? = nil, by author: Party,
    content: Content = Content(kind: .none), _ writer: any StoreWriter
  ) throws -> Entry {
    guard let peer = target.author.id == author.id ? target.peer : target.author else {
      throw Unmet(description: "said in a room")
    }
    var dialog = try dialog(author, peer, writer)
    let position = step()
    dialog.end(at: position)
    let entry = Entry(
      position: position, time: time, dialog: dialog.id, author: author, place: .peer(peer),
      fact: .message(
        Message(
          sequence: 0, content: content, envelope: Envelope(type: .chat, id: "c\(position.number)"),
          traits: [.archived],
          reference: Reference(
            kind: kind, target: target.position, targetID: target.id, targetStanzaID: stanzaID,
            targetAuthor: targetAuthor))),
      id: id(position))
    try writer.insert(
      entry,
      feeds: [FeedRow(user: author.id, traits: .archived), FeedRow(user: peer.id, traits: [.archived, .inbound])],
      key: nil)
    try writer.update(dialog)
    return entry
  }

  fileprivate func reference(_ entry: Entry?) -> Reference? {
    guard case .message(let message) = entry?.fact else { return nil }
    return message.reference
  }
}
