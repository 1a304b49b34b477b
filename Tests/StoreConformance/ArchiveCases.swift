import Basics
import Dialogs

extension StoreConformance {
  /// Ten entries of Romeo's archive over two dialogs, and what does not belong
  /// to it between them.
  private static func fill(_ scene: Scene) throws -> [Entry] {
    try scene.write { writer in
      var kept: [Entry] = []
      for index in 0..<5 {
        kept.append(
          try scene.say(
            "\(index)", by: scene.romeo, to: scene.juliet, resource: "orchard",
            toResource: index.isMultiple(of: 2) ? "balcony" : nil, writer))
        try scene.say("not kept", by: scene.juliet, to: scene.romeo, traits: [.counts], writer)
        try scene.say("not romeo's", by: scene.juliet, to: scene.nurse, writer)
        let (author, peer) = index.isMultiple(of: 2) ? (scene.juliet, scene.romeo) : (scene.nurse, scene.romeo)
        kept.append(try scene.say("\(index)", by: author, to: peer, resource: "balcony", writer))
      }
      return kept
    }
  }

  private static func archive(
    _ scene: Scene, of party: Party? = nil, _ change: (inout ArchiveQuery) -> Void = { _ in }
  ) throws -> ArchivePage {
    var query = ArchiveQuery(limit: 100)
    change(&query)
    return try scene.read { try $0.archive(of: (party ?? scene.romeo).id, query) }
  }

  static let archive: [Case] = [
    Case(name: "the archive has what is archived for the user, ascending") { scene in
      let kept = try fill(scene)
      let page = try archive(scene)
      try equal(page.entries, kept)
      try equal(page.complete, true)
      try equal(try archive(scene, of: scene.nurse).entries.count, 7)
      let empty = try scene.read { try $0.archive(of: UserID(999), ArchiveQuery(limit: 9)) }
      try equal(empty.entries, [])
      try equal(empty.complete, true)
    },
    Case(name: "the archive is paged forwards") { scene in
      let kept = try fill(scene)
      var seen: [Entry] = []
      for round in 0..<4 {
        let page = try archive(scene) {
          $0.limit = 3
          $0.after = seen.last?.position ?? .zero
        }
        try equal(page.complete, round == 3)
        try equal(page.entries.count, round == 3 ? 1 : 3)
        seen += page.entries
      }
      try equal(seen, kept)
      let behind = try archive(scene) { $0.after = kept[9].position }
      try equal(behind.entries, [])
      try equal(behind.complete, true)
    },
    Case(name: "the archive is paged backwards, pages ascending") { scene in
      let kept = try fill(scene)
      var seen: [Entry] = []
      for round in 0..<4 {
        let page = try archive(scene) {
          $0.limit = 3
          $0.backwards = true
          $0.before = seen.first?.position ?? .end
        }
        try equal(page.complete, round == 3)
        seen = page.entries + seen
      }
      try equal(seen, kept)
    },
    Case(name: "a page that is exactly full is complete") { scene in
      let kept = try fill(scene)
      for backwards in [false, true] {
        let page = try archive(scene) {
          $0.limit = kept.count
          $0.backwards = backwards
        }
        try equal(page.entries, kept)
        try equal(page.complete, true)
      }
    },
    Case(name: "a page of nothing tells whether there is anything") { scene in
      _ = try fill(scene)
      let page = try archive(scene) { $0.limit = 0 }
      try equal(page.entries, [])
      try equal(page.complete, false)
      let empty = try archive(scene) {
        $0.limit = 0
        $0.after = scene.position
      }
      try equal(empty.complete, true)
    },
    Case(name: "a page that looks in vain ends early, and the next one goes on from there") { scene in
      let dialog = try fill(scene)[0].dialog
      for (backwards, resource) in [(false, "nosuch"), (true, "nosuch"), (false, "balcony"), (true, "balcony")] {
        let all = try archive(scene) {
          $0.with = dialog
          $0.withResource = resource
        }
        try require(all.complete && all.next == nil, "not the whole")
        var query = ArchiveQuery(limit: 100)
        query.with = dialog
        query.withResource = resource
        query.backwards = backwards
        query.looksMax = 3
        var (found, pages): ([Entry], Int) = ([], 0)
        while true {
          let page = try scene.read { [query] in try $0.archive(of: scene.romeo.id, query) }
          pages += 1
          found = backwards ? page.entries + found : found + page.entries
          try equal(page.complete, page.next == nil)
          guard let next = page.next else { break }
          query.go(behind: next)
        }
        try equal(found, all.entries)
        // The dialog has thirteen messages, of which five are not Romeo's to read in his archive.
        try equal(pages, 5)
      }
    },
    Case(name: "a full page does not say where it stopped to look") { scene in
      let kept = try fill(scene)
      let page = try archive(scene) {
        $0.limit = 3
        $0.looksMax = 1_000
      }
      try equal(page.entries, Array(kept[..<3]))
      try require(!page.complete && page.next == nil, "no ordinary page")
    },
    Case(name: "the archive is bounded on both sides, exclusively") { scene in
      let kept = try fill(scene)
      for backwards in [false, true] {
        let page = try archive(scene) {
          $0.after = kept[2].position
          $0.before = kept[6].position
          $0.backwards = backwards
        }
        try equal(page.entries, Array(kept[3...5]))
        try equal(page.complete, true)
      }
    },
    Case(name: "the archive with one contact") { scene in
      let kept = try fill(scene)
      let dialog = kept[0].dialog
      let with = kept.filter { $0.dialog == dialog }
      try equal(try archive(scene) { $0.with = dialog }.entries, with)
      try equal(try archive(scene, of: scene.juliet) { $0.with = dialog }.entries, with)
      // A user who is no member finds nothing.
      try equal(try archive(scene, of: scene.nurse) { $0.with = dialog }.entries, [])
      try equal(try archive(scene) { $0.with = DialogID(99) }.entries, [])
      let last = try archive(scene) {
        $0.with = dialog
        $0.backwards = true
        $0.limit = 2
      }
      try equal(last.entries, Array(with.suffix(2)))
      try equal(last.complete, false)
      let middle = try archive(scene) {
        $0.with = dialog
        $0.after = with[1].position
        $0.before = with[4].position
      }
      try equal(middle.entries, Array(with[2...3]))
    },
    Case(name: "the archive with one resource of a contact: from it and to it") { scene in
      let kept = try fill(scene)
      let dialog = kept[0].dialog
      let expected = kept.filter { entry in
        guard entry.dialog == dialog, case .message(let message) = entry.fact else { return false }
        return (entry.author == scene.romeo ? message.envelope.toResource : message.envelope.fromResource) == "balcony"
      }
      try equal(expected.count, 6)
      for backwards in [false, true] {
        let page = try archive(scene) {
          $0.with = dialog
          $0.withResource = "balcony"
          $0.backwards = backwards
        }
        try equal(page.entries, expected)
      }
      let none = try archive(scene) {
        $0.with = dialog
        $0.withResource = "orchard"
      }
      try equal(none.entries, [], "one's own resource is not the contact's")
    },
    Case(name: "the archive with oneself: notes") { scene in
      let note = try scene.write { writer in
        let note = try scene.say("note", by: scene.romeo, to: scene.romeo, writer)
        try scene.note(.profile(Profile()), by: scene.romeo, writer)
        return note
      }
      try equal(try archive(scene) { $0.with = note.dialog }.entries, [note])
      try equal(try archive(scene).entries, [note])
    },
    Case(name: "the archive from a time to a time, both included") { scene in
      let kept = try fill(scene)
      for (from, to) in [(0, 9), (3, 7), (4, 4), (9, 9), (0, 0)] {
        for with in [nil, kept[0].dialog] {
          let page = try archive(scene) {
            $0.start = kept[from].time
            $0.end = kept[to].time
            $0.with = with
          }
          try equal(page.entries, kept[from...to].filter { with == nil || $0.dialog == with }, "\(from) to \(to)")
        }
      }
      // Times between two entries.
      let between = try archive(scene) {
        $0.start = kept[2].time + .milliseconds(1)
        $0.end = Timestamp(milliseconds: kept[5].time.milliseconds - 1)
      }
      try equal(between.entries, Array(kept[3...4]))
      try equal(try archive(scene) { $0.start = kept[9].time + .milliseconds(1) }.entries, [])
      try equal(try archive(scene) { $0.end = Timestamp(milliseconds: kept[0].time.milliseconds - 1) }.entries, [])
      try equal(try archive(scene) { $0.start = Timestamp(milliseconds: 0) }.entries, kept)
      try equal(try archive(scene) { $0.end = Timestamp(milliseconds: .max - 1) }.entries, kept)
      let narrowed = try archive(scene) {
        $0.start = kept[1].time
        $0.after = kept[4].position
        $0.limit = 2
      }
      try equal(narrowed.entries, Array(kept[5...6]))
      try equal(narrowed.complete, false)
    },
    Case(name: "times are found although entries were erased") { scene in
      let kept = try fill(scene)
      try scene.write { writer in
        for index in [2, 3, 4, 9] { try writer.erase(kept[index].position, in: kept[index].dialog) }
      }
      let page = try archive(scene) {
        $0.start = kept[3].time
        $0.end = kept[9].time
      }
      try equal(page.entries, Array(kept[5...8]))
      try equal(try archive(scene) { $0.start = kept[9].time }.entries, [])
    },
    Case(name: "entries of one time all belong to it") { scene in
      let entries = try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.juliet, writer)
        _ = scene.step()
        let time = scene.time
        return try (0..<3).map { index in
          let position = index == 0 ? scene.position : scene.step()
          let entry = Entry(
            position: position, time: time, dialog: dialog.id, author: scene.romeo,
            place: .peer(scene.juliet),
            fact: .message(
              Message(
                sequence: Int64(index + 1), content: Content(kind: .text, text: "\(index)"), envelope: Envelope(),
                traits: Scene.traits)),
            id: scene.id(position))
          try writer.insert(entry, feeds: [FeedRow(user: scene.romeo.id, traits: .archived)], key: nil)
          return entry
        }
      }
      let page = try archive(scene) {
        $0.start = entries[0].time
        $0.end = entries[0].time
      }
      try equal(page.entries, entries)
    },
    Case(name: "named entries of the archive, in log order, whatever the range") { scene in
      let kept = try fill(scene)
      let page = try archive(scene) {
        $0.positions = [kept[7].position, kept[1].position, Position(999), kept[1].position]
        $0.after = kept[5].position
        $0.limit = 1
      }
      try equal(page.entries, [kept[1], kept[7]])
      try equal(page.complete, true)
      // The entry is not in this user's archive.
      try equal(try archive(scene, of: scene.nurse) { $0.positions = [kept[0].position] }.entries, [])
      try equal(try archive(scene) { $0.positions = [kept[0].position.next] }.entries, [])
      try equal(try archive(scene) { $0.positions = [] }.entries, [])
    },
    Case(name: "an entry that is archived for one side shows to that side only") { scene in
      let entry = try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.juliet, writer)
        let position = scene.step()
        let entry = Entry(
          position: position, time: scene.time, dialog: dialog.id, author: scene.juliet,
          place: .peer(scene.romeo),
          fact: .message(
            Message(sequence: 1, content: Content(kind: .text, text: "x"), envelope: Envelope(), traits: [])),
          id: scene.id(position))
        try writer.insert(
          entry,
          feeds: [
            FeedRow(user: scene.juliet.id, traits: .archived), FeedRow(user: scene.romeo.id, traits: .inbound),
          ], key: nil)
        return entry
      }
      for with in [nil, entry.dialog] {
        try equal(try archive(scene, of: scene.juliet) { $0.with = with }.entries, [entry])
        try equal(try archive(scene, of: scene.romeo) { $0.with = with }.entries, [])
      }
    },
  ]
}
