import Addresses
import Basics
import Dialogs

/// Users' changes of messages for themselves alone, pinned messages, and earlier versions of messages.
extension StoreConformance {
  static let perUserMessages: [Case] = [
    Case(
      name: "a message that a user has deleted for themselves is in nothing that they read, and in all that others do"
    ) {
      scene in
      let (dialog, said) = try scene.write { writer in
        let said = try (1...4).map { try scene.say("w\($0)", by: scene.romeo, to: scene.juliet, writer) }
        try writer.hide(said[1].position, in: said[1].dialog, for: scene.juliet.id, counts: true)
        try writer.hide(said[1].position, in: said[1].dialog, for: scene.juliet.id, counts: true)
        while try writer.indexMessages(limit: 100, bytes: .max) {}
        return (said[0].dialog, said)
      }
      try scene.reopen()
      let all = said.map(\.position)
      let left = [all[0], all[2], all[3]]
      try scene.read { reader in
        for (user, seen) in [(scene.juliet.id, left), (scene.romeo.id, all)] {
          try equal(try scene.views(of: user, in: dialog, reader), [[Position]](repeating: seen, count: 5), "\(user)")
          try equal(try reader.isHidden(all[1], in: dialog, for: user), user == scene.juliet.id, "hidden")
          let shown = try all.filter { try reader.entry($0, in: reader.messages(in: dialog, for: user)) != nil }
          try equal(shown, seen, "one by one")
          try equal(try reader.hasHidden(user), user == scene.juliet.id, "has hidden")
        }
        try equal(try reader.replay(of: scene.juliet.id, after: .zero, limit: 9).map(\.position), left, "replay")
        try equal(try reader.hidden(from: all[1], in: dialog), [scene.juliet.id], "from whom")
        try equal(try reader.hidden(from: all[0], in: dialog), [], "from nobody")
        try equal(try reader.hiddenCount(of: scene.juliet.id), 1, "how many")
        try equal(try reader.hiddenCount(of: scene.juliet.id, in: dialog, after: all[0]), 1, "behind the first")
        try equal(try reader.hiddenCount(of: scene.juliet.id, in: dialog, after: all[1]), 0, "behind itself")
        var exactly = ArchiveQuery(limit: 9)
        exactly.positions = all
        try equal(try reader.archive(of: scene.juliet.id, exactly).entries.map(\.position), left, "by id")
        exactly.includesHidden = true
        try equal(try reader.archive(of: scene.juliet.id, exactly).entries.map(\.position), all, "as anchors")
        try equal(try reader.entry(all[1], in: dialog)?.position, all[1], "the log has it")
      }
    },
    Case(name: "a cleared dialog is empty up to there, and has later messages") { scene in
      let (dialog, said) = try scene.write { writer in
        let said = try (1...3).map { try scene.say("w\($0)", by: scene.romeo, to: scene.juliet, writer) }
        try writer.hide(said[0].position, in: said[0].dialog, for: scene.juliet.id, counts: true)
        try writer.setStar(true, said[0].position, in: said[0].dialog, for: scene.juliet.id)
        try writer.clear(said[0].dialog, upTo: said[1].position, leaves: false, for: scene.juliet.id)
        while try writer.indexMessages(limit: 100, bytes: .max) {}
        return (said[0].dialog, said)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(
          try scene.views(of: scene.juliet.id, in: dialog, reader),
          [[Position]](repeating: [said[2].position], count: 5), "cleared")
        try equal(try reader.hiddenCount(of: scene.juliet.id), 0, "rows that are not needed")
        try equal(try reader.stars(of: scene.juliet.id, before: .end, limit: 9), [], "stars")
        try equal(try reader.hidden(from: said[1].position, in: dialog), [scene.juliet.id], "from whom")
        try equal(try reader.hidden(from: said[2].position, in: dialog), [], "from nobody")
        try require(try reader.hasHidden(scene.juliet.id), "has hidden")
      }
      // It never goes back.
      try scene.write { try $0.clear(dialog, upTo: said[0].position, leaves: false, for: scene.juliet.id) }
      try scene.read { try require(try $0.isHidden(said[1].position, in: dialog, for: scene.juliet.id), "came back") }
    },
    Case(name: "a dialog that was left is in no list until something is said") { scene in
      let (dialog, last) = try scene.write { writer in
        let said = try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        try writer.clear(said.dialog, upTo: said.position, leaves: true, for: scene.juliet.id)
        return (said.dialog, said.position)
      }
      try scene.read { reader in
        try equal(try reader.dialogs(of: scene.juliet.id, before: .end, limit: 9).count, 0, "listed")
        try equal(
          try reader.dialogs(of: scene.romeo.id, before: .end, limit: 9).map(\.dialog.id), [dialog], "the other's")
        try equal(
          try reader.conversations(of: scene.juliet.id, ConversationQuery(limit: 9)).conversations.count, 0, "inbox")
        try require(try reader.isHidden(last, in: dialog, for: scene.juliet.id), "not cleared")
      }
      // What is not shown does not bring it back.
      try scene.write { writer in
        try scene.say(Content(kind: .none), Envelope(), by: scene.romeo, to: scene.juliet, traits: [.archived], writer)
      }
      try scene.read { try equal(try $0.dialogs(of: scene.juliet.id, before: .end, limit: 9).count, 0, "listed") }
      let next = try scene.write { try scene.say("2", by: scene.romeo, to: scene.juliet, $0) }
      try scene.read { reader in
        let listed = try reader.dialogs(of: scene.juliet.id, before: .end, limit: 9)
        try equal(listed.map(\.lastMessage?.position), [next.position], "back")
      }
    },
    Case(name: "a dialog that began with what is not shown is in no list until something is said") { scene in
      try scene.write { writer in
        let first = try scene.say(
          Content(kind: .none), Envelope(), by: scene.romeo, to: scene.juliet, traits: [.archived], writer)
        try writer.clear(first.dialog, upTo: .zero, leaves: true, for: scene.juliet.id)
      }
      func listed() throws -> [Position?] {
        try scene.read { reader in
          let summaries = try reader.dialogSummaries(of: scene.juliet.id)
          let dialogs = try reader.dialogs(of: scene.juliet.id, before: .end, limit: 9)
          try equal(summaries.map(\.dialog), dialogs.map(\.dialog.id), "summaries")
          return dialogs.map(\.lastMessage?.position)
        }
      }
      try equal(try listed(), [], "listed")
      let said = try scene.write { try scene.say("1", by: scene.romeo, to: scene.juliet, $0) }
      try equal(try listed(), [said.position], "back")
    },
    Case(name: "a message of a room is hidden for each member alone") { scene in
      let (room, said) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let said = try (1...3).map { try scene.say("w\($0)", by: scene.romeo, in: room.id, writer) }
        try writer.hide(said[0].position, in: room.id, for: scene.juliet.id, counts: true)
        try writer.hide(said[2].position, in: room.id, for: scene.juliet.id, counts: true)
        while try writer.indexMessages(limit: 100, bytes: .max) {}
        return (room.id, said)
      }
      try scene.read { reader in
        let all = said.map(\.position)
        let views: [(UserID?, [Position])] = [(scene.juliet.id, [all[1]]), (scene.romeo.id, all), (nil, all)]
        for (viewer, seen) in views {
          var query = ArchiveQuery(limit: 9)
          let messages = try viewer.map { try reader.messages(in: room, for: $0) } ?? .server(room, .rules)
          try equal(try reader.archive(of: messages, query).entries.map(\.position), seen, "archive")
          query.text = "w1"
          try equal(
            try reader.archive(of: messages, query).entries.map(\.position), seen.filter { $0 == said[0].position },
            "search")
          query.text = nil
          query.positions = said.map(\.position)
          try equal(try reader.archive(of: messages, query).entries.map(\.position), seen, "by id")
        }
        try equal(
          try reader.history(
            of: reader.messages(in: room, for: scene.juliet.id), after: said[0].position.previous, before: .end,
            limit: 9, ascending: true
          )
          .map(\.position), [said[1].position], "history")
        try equal(
          try reader.rooms(of: scene.juliet.id, before: .end, limit: 9).compactMap(\.lastMessage?.position),
          [said[1].position], "last")
        try equal(
          try reader.rooms(of: scene.romeo.id, before: .end, limit: 9).compactMap(\.lastMessage?.position),
          [said[2].position], "the other's last")
      }
    },
    Case(name: "a hidden unread message is not counted, as the mark says") { scene in
      try scene.write { writer in
        let said = try (1...3).map { try scene.say("\($0)", by: scene.romeo, to: scene.juliet, writer) }
        let dialog = try scene.dialog(scene.romeo, scene.juliet, writer)
        var mark = try scene.mark(scene.juliet, in: dialog, writer)
        mark.hidden = 2
        try writer.put(mark, superseded: .zero)
        try equal(try scene.mark(scene.juliet, in: dialog, writer), mark, "the mark")
        try equal(mark.unread(ordinal: dialog.ordinal), 1, "by the mark")
        try equal(try writer.unread(of: scene.juliet.id), 1, "of all")
        try equal(
          try writer.conversations(of: scene.juliet.id, ConversationQuery(limit: 9)).conversations.map(\.unread), [1],
          "of the inbox")
        try equal(try writer.dialogs(of: scene.juliet.id, before: .end, limit: 9).map(\.mark), [mark], "in the list")
        mark.displayed = said[2].position
        mark.displayedOrdinal = dialog.ordinal
        mark.hidden = 0
        try writer.put(mark, superseded: .zero)
        try equal(try writer.unread(of: scene.juliet.id), 0, "read")
      }
    },
    Case(name: "stars are one user's, the newest message first") { scene in
      let said = try scene.write { writer in
        let said = try (1...3).map { try scene.say("\($0)", by: scene.romeo, to: scene.juliet, writer) }
        for entry in [said[2], said[0], said[1], said[1]] {
          try writer.setStar(true, entry.position, in: entry.dialog, for: scene.juliet.id)
        }
        try writer.setStar(false, said[2].position, in: said[2].dialog, for: scene.romeo.id)
        return said
      }
      try scene.reopen()
      try scene.write { writer in
        let stars = said.map { Star(dialog: $0.dialog, message: $0.position) }
        try equal(try writer.stars(of: scene.juliet.id, before: .end, limit: 2), [stars[2], stars[1]], "a page")
        try equal(try writer.stars(of: scene.juliet.id, before: said[1].position, limit: 2), [stars[0]], "the next")
        try equal(try writer.starCount(of: scene.juliet.id), 3, "how many")
        try equal(try writer.starCount(of: scene.romeo.id), 0, "the other's")
        try writer.setStar(false, said[1].position, in: said[1].dialog, for: scene.juliet.id)
        try require(try !writer.isStarred(said[1].position, by: scene.juliet.id), "still there")
        try require(try writer.isStarred(said[0].position, by: scene.juliet.id), "gone too")
      }
    },
    Case(name: "pins: what was pinned last comes first") { scene in
      try scene.write { writer in
        let said = try (1...3).map { try scene.say("\($0)", by: scene.romeo, to: scene.juliet, writer) }
        let dialog = said[0].dialog
        for (entry, at) in [(said[1], 10), (said[0], 11), (said[2], 12), (said[1], 13)] {
          try writer.setPinned(Position(Int64(at)), message: entry.position, in: dialog)
        }
        try equal(try writer.pins(of: dialog), [said[1], said[2], said[0]].map(\.position), "pins")
        try writer.setPinned(nil, message: said[2].position, in: dialog)
        try writer.setPinned(nil, message: said[2].position, in: dialog)
        try equal(try writer.pins(of: dialog), [said[1], said[0]].map(\.position), "less one")
        let state = MessageState(
          version: Position(10), revision: 3, text: "x", reactions: [.init(user: scene.nurse, emoji: ["y"])],
          pin: .init(by: scene.juliet, at: Timestamp(milliseconds: 5)))
        try writer.put(state, of: said[1].position, in: dialog)
        try equal(try writer.entry(said[1].position, in: dialog)?.state, state, "the state of what is pinned")
      }
    },
    Case(name: "the origin of a forwarded message is read as it was written") { scene in
      let kinds: [Forwarded?] = [
        nil, Forwarded(author: scene.nurse, at: Timestamp(milliseconds: 5)),
        Forwarded(author: nil, at: Timestamp(milliseconds: 6)),
      ]
      let references: [Reference.Kind?] = [nil, .reply, .part, .pin(true), .pin(false)]
      try scene.write { writer in
        let room = try scene.room(of: [scene.romeo], writer)
        let target = try scene.say("1", by: scene.romeo, in: room.id, writer)
        for forwarded in kinds {
          for kind in references {
            let entry = try scene.add(room.id, by: scene.romeo, writer) { _ in
              .message(
                Message(
                  sequence: 0, content: Content(kind: .text, text: "x"), envelope: Envelope(type: .groupchat),
                  traits: [.part],
                  reference: kind.map {
                    Reference(kind: $0, target: target.position, targetID: target.id, targetStanzaID: nil)
                  }, forwarded: forwarded))
            }
            guard case .message(let message)? = try writer.entry(entry.position, in: room.id)?.fact else {
              throw Unmet(description: "no message")
            }
            try equal(message.forwarded, forwarded, "forwarded")
            try equal(message.reference?.kind, kind, "reference")
            try equal(message.reference?.targetID, kind.map { _ in target.id }, "target")
            try equal(message.traits, [.part], "traits")
          }
        }
      }
    },
    Case(name: "per-user changes are read as they were written") { scene in
      try scene.write { writer in
        let dialog = try scene.dialog(scene.juliet, scene.juliet, writer)
        for change: PerUserMessageChange.Change in [
          .hidden, .cleared(leaves: false), .cleared(leaves: true), .starred(true), .starred(false), .delivery,
        ] {
          let told = PerUserMessageChange(change, in: DialogID(7), target: Position(70_000))
          let position = scene.step()
          let entry = Entry(
            position: position, time: scene.time, dialog: dialog.id, author: scene.juliet, place: .peer(scene.juliet),
            fact: .perUser(told), id: scene.id(position))
          try writer.insert(entry, feeds: [FeedRow(user: scene.juliet.id, traits: [])], key: nil)
          guard
            case .perUser(let found)? = try writer.feed(of: scene.juliet.id, after: position.previous, limit: 1).last?
              .fact
          else { throw Unmet(description: "it is not told") }
          try equal(found, told)
        }
      }
    },
  ]
}

extension Scene {
  /// Returns the messages that a user reads of a dialog, by each way of reading, in ascending order.
  fileprivate func views(of user: UserID, in dialog: DialogID, _ reader: any StoreReader) throws -> [[Position]] {
    let messages = try reader.messages(in: dialog, for: user)
    var ofDialog = ArchiveQuery(limit: 9)
    ofDialog.with = dialog
    // The messages have words that are longer than the rest.
    var searched = ArchiveQuery(limit: 9)
    searched.with = dialog
    let words = try ["w1", "w2", "w3", "w4"].flatMap { word in
      searched.text = word
      return try reader.archive(of: user, searched).entries.map(\.position)
    }
    return [
      try reader.history(of: messages, after: .zero, before: .end, limit: 9, ascending: true).map(\.position),
      try reader.history(of: messages, after: .zero, before: .end, limit: 9, ascending: false).reversed()
        .map(\.position),
      try reader.archive(of: user, ArchiveQuery(limit: 9)).entries.map(\.position),
      try reader.archive(of: user, ofDialog).entries.map(\.position), words,
    ]
  }
}
