import Dialogs

extension StoreConformance {
  static let dialogs: [Case] = [
    Case(name: "a dialog is found by number and by its members in either order") { scene in
      let dialog = try scene.write { try scene.dialog(scene.juliet, scene.romeo, $0) }
      try equal(dialog.first.id, min(scene.romeo.id, scene.juliet.id))
      try equal(dialog.kind, .privately)
      try scene.read { reader in
        try equal(try reader.dialog(dialog.id), dialog)
        try equal(try reader.dialog(between: scene.romeo.id, and: scene.juliet.id), dialog)
        try equal(try reader.dialog(between: scene.juliet.id, and: scene.romeo.id), dialog)
        try equal(try reader.dialog(between: scene.romeo.id, and: scene.nurse.id), nil)
        try equal(try reader.dialog(between: scene.romeo.id, and: scene.romeo.id), nil)
        try equal(try reader.dialog(DialogID(99)), nil)
        try equal(try reader.dialog(dialog.id)?.peer(of: scene.juliet.id).address, scene.romeo.address)
      }
    },
    Case(name: "a dialog's sequence, ordinal and last position change") { scene in
      var dialog = try scene.write { try scene.dialog(scene.romeo, scene.juliet, $0) }
      dialog.sequence = 5
      dialog.ordinal = 4
      dialog.end(at: Position(8), isShown: true)
      dialog.end(at: Position(9))
      try scene.write { [dialog] in try $0.update(dialog) }
      let stored = try scene.read { try $0.dialog(dialog.id) }
      try equal(stored, dialog)
      try equal(stored?.createdAt, dialog.createdAt)
    },
    Case(name: "marks are kept per member") { scene in
      let dialog = try scene.write { try scene.dialog(scene.romeo, scene.juliet, $0) }
      let fresh = try scene.read { try $0.mark(scene.romeo.id, in: dialog.id) }
      try equal(fresh ?? Mark(dialog: dialog.id, user: scene.romeo.id), Mark(dialog: dialog.id, user: scene.romeo.id))
      let mine = Mark(
        dialog: dialog.id, user: scene.romeo.id, delivered: Position(8), displayed: Position(7), displayedOrdinal: 6,
        own: 5, ownAtDisplayed: 4, position: Position(9))
      var hers = Mark(dialog: dialog.id, user: scene.juliet.id, own: 3)
      try scene.write {
        try $0.put(mine, superseded: .zero)
        try $0.put(hers, superseded: .zero)
      }
      try equal(try scene.read { try $0.mark(scene.romeo.id, in: dialog.id) }, mine)
      try equal(try scene.read { try $0.mark(scene.juliet.id, in: dialog.id) }, hers)
      hers.displayed = Position(2)
      hers.own = 4
      try scene.write { try $0.put(hers, superseded: .zero) }
      try equal(try scene.read { try $0.mark(scene.juliet.id, in: dialog.id) }, hers)
      try equal(try scene.read { try $0.mark(scene.romeo.id, in: dialog.id) }, mine)
    },
    Case(name: "unread is what counts, less what was read and what one wrote oneself") { scene in
      func unread(_ party: Party) throws -> Int64 { try scene.read { try $0.unread(of: party.id) } }
      try equal(try unread(scene.romeo), 0)
      let second = try scene.write { writer in
        try scene.say("1", by: scene.romeo, to: scene.juliet, writer)
        let second = try scene.say("2", by: scene.juliet, to: scene.romeo, writer)
        try scene.say("3", by: scene.romeo, to: scene.juliet, writer)
        try scene.say("quiet", by: scene.romeo, to: scene.juliet, traits: [.archived], writer)
        try scene.say("4", by: scene.romeo, to: scene.juliet, writer)
        try scene.say("5", by: scene.nurse, to: scene.juliet, writer)
        try scene.say("6", by: scene.juliet, to: scene.juliet, writer)
        return second
      }
      try equal(try unread(scene.romeo), 1)
      try equal(try unread(scene.juliet), 4)
      try equal(try unread(scene.nurse), 0)
      try scene.write { try scene.display(second, by: scene.juliet, $0) }
      try equal(try unread(scene.juliet), 3, "reading up to one's own message")
      try scene.write { try scene.display(second, by: scene.romeo, $0) }
      try equal(try unread(scene.romeo), 0)
    },
    Case(name: "counting is exact up to any position, within the transaction too") { scene in
      try scene.write { writer in
        let own = try scene.note(.profile(Profile()), by: scene.romeo, writer)
        var said: [Entry] = []
        for (index, author) in [scene.romeo, scene.juliet, scene.juliet, scene.romeo, scene.juliet].enumerated() {
          let traits: Message.Traits = index == 2 ? [.archived] : Scene.traits
          let peer = author == scene.romeo ? scene.juliet : scene.romeo
          said.append(try scene.say("\(index)", by: author, to: peer, traits: traits, writer))
          try scene.say("elsewhere", by: scene.romeo, to: scene.nurse, writer)
        }
        let dialog = said[0].dialog
        for (index, expected) in [(1, 1, 0), (2, 1, 1), (2, 1, 1), (3, 2, 1), (4, 2, 2)].enumerated() {
          // Also from a position between two entries of the dialog.
          for position in [said[index].position, said[index].position.next] {
            let romeo = try writer.counting(in: dialog, upTo: position, by: scene.romeo.id)
            let juliet = try writer.counting(in: dialog, upTo: position, by: scene.juliet.id)
            try equal([romeo.all, romeo.own, juliet.own], [expected.0, expected.1, expected.2].map(Int64.init))
            try equal(juliet.all, romeo.all)
          }
        }
        let before = try writer.counting(in: dialog, upTo: own.position, by: scene.romeo.id)
        try equal([before.all, before.own], [0, 0])
        let stranger = try writer.counting(in: dialog, upTo: .end, by: scene.nurse.id)
        try equal([stranger.all, stranger.own], [4, 0])
      }
    },
    Case(name: "counting in one's own dialog: all is own") { scene in
      try scene.write { writer in
        let first = try scene.say("1", by: scene.romeo, to: scene.romeo, writer)
        try scene.note(.profile(Profile()), by: scene.romeo, writer)
        try scene.say("2", by: scene.romeo, to: scene.romeo, writer)
        let one = try writer.counting(in: first.dialog, upTo: first.position, by: scene.romeo.id)
        let all = try writer.counting(in: first.dialog, upTo: .end, by: scene.romeo.id)
        try equal([one.all, one.own, all.all, all.own], [1, 1, 2, 2])
      }
    },
    Case(name: "dialogs are listed newest first, in pages, with mark and last message") { scene in
      let (first, second) = try scene.write { writer in
        try scene.note(.profile(Profile()), by: scene.romeo, writer)
        let first = try scene.say("to juliet", by: scene.romeo, to: scene.juliet, writer)
        let second = try scene.say("from nurse", by: scene.nurse, to: scene.romeo, writer)
        try scene.say("not romeo's", by: scene.nurse, to: scene.juliet, writer)
        // Neither an entry that is not shown nor a marker moves the dialog up.
        try scene.say(Content(kind: .none), Envelope(), by: scene.juliet, to: scene.romeo, traits: [], writer)
        try scene.display(first, by: scene.juliet, writer)
        return (first, second)
      }
      let views = try scene.read { try $0.dialogs(of: scene.romeo.id, before: .end, limit: 10) }
      try equal(views.map { $0.dialog.peer(of: scene.romeo.id) }, [scene.nurse, scene.juliet])
      try equal(views.map(\.mark.own), [0, 1])
      try equal(views.map(\.mark.user), [scene.romeo.id, scene.romeo.id])
      try equal(views.compactMap(\.lastMessage), [second, first])
      let page = try scene.read { try $0.dialogs(of: scene.romeo.id, before: .end, limit: 1) }
      try equal(page.map(\.dialog), [views[0].dialog])
      let next = try scene.read { try $0.dialogs(of: scene.romeo.id, before: page[0].dialog.shown, limit: 1) }
      try equal(next.map(\.dialog), [views[1].dialog])
      try equal(try scene.read { try $0.dialogs(of: scene.romeo.id, before: next[0].dialog.shown, limit: 1).count }, 0)
    },
    Case(name: "one's own dialog is listed once it holds a message") { scene in
      try scene.write { try scene.note(.profile(Profile()), by: scene.romeo, $0) }
      try equal(try scene.read { try $0.dialogs(of: scene.romeo.id, before: .end, limit: 9).count }, 0)
      let note = try scene.write { try scene.say("note", by: scene.romeo, to: scene.romeo, $0) }
      let views = try scene.read { try $0.dialogs(of: scene.romeo.id, before: .end, limit: 9) }
      try equal(views.map(\.dialog.kind), [.own])
      try equal(views.compactMap(\.lastMessage), [note])
    },
    Case(name: "a dialog without messages is listed without a last message") { scene in
      try scene.write { writer in
        var dialog = try scene.dialog(scene.romeo, scene.juliet, writer)
        dialog.end(at: scene.step())
        let entry = Entry(
          position: dialog.last, time: scene.time, dialog: dialog.id, author: scene.romeo,
          place: .peer(scene.juliet),
          fact: .dialogOpened, id: scene.id(dialog.last))
        try writer.insert(
          entry,
          feeds: [
            FeedRow(user: scene.romeo.id, traits: []), FeedRow(user: scene.juliet.id, traits: .inbound),
          ], key: nil)
        try writer.update(dialog)
        try writer.put(Mark(dialog: dialog.id, user: scene.romeo.id), superseded: .zero)
        try writer.put(Mark(dialog: dialog.id, user: scene.juliet.id), superseded: .zero)
      }
      for party in [scene.romeo, scene.juliet] {
        let views = try scene.read { try $0.dialogs(of: party.id, before: .end, limit: 9) }
        try equal(views.count, 1)
        try require(views.allSatisfy { $0.lastMessage == nil }, "a last message out of nothing")
      }
    },
  ]
}
