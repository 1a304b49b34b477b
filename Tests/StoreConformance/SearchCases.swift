import Dialogs

extension StoreConformance {
  private static func found(
    _ scene: Scene, _ text: String, by party: Party? = nil, _ change: (inout ArchiveQuery) -> Void = { _ in }
  ) throws -> [Entry] {
    var query = ArchiveQuery(limit: 100)
    query.text = text
    change(&query)
    while try scene.write({ try $0.indexMessages(limit: 2, bytes: .max) }) {}
    return try scene.read { try $0.archive(of: (party ?? scene.romeo).id, query) }.entries
  }

  static let search: [Case] = [
    Case(name: "search: all words, in any case, of what is in one's own archive") { scene in
      let (light, café, other) = try scene.write { writer in
        let light = try scene.say(
          "But soft! What LIGHT through yonder window breaks?", by: scene.romeo, to: scene.juliet, writer)
        let café = try scene.say("Un café, ｗｉｄｅ open", by: scene.juliet, to: scene.romeo, writer)
        let other = try scene.say("A light for the nurse", by: scene.juliet, to: scene.nurse, writer)
        try scene.say("this light is not kept", by: scene.juliet, to: scene.romeo, traits: [.counts], writer)
        try scene.say(
          Content(kind: .encrypted, text: "light"), Envelope(), by: scene.juliet, to: scene.romeo, writer)
        return (light, café, other)
      }
      try equal(try found(scene, "light"), [light])
      try equal(try found(scene, "WINDOW light"), [light])
      try equal(try found(scene, "light door"), [])
      try equal(try found(scene, "cafe"), [café])
      try equal(try found(scene, "CAFÉ wide"), [café])
      try equal(try found(scene, "ligh"), [])
      try equal(try found(scene, "light", by: scene.juliet), [light, other])
      try equal(try found(scene, "light", by: scene.nurse), [other])
      try equal(try found(scene, "light", by: scene.juliet) { $0.with = other.dialog }, [other])
      try equal(try found(scene, "light") { $0.with = other.dialog }, [])
    },
    Case(name: "search: what says nothing is passed over a piece at a time, too") { scene in
      let said = try scene.write { writer in
        for _ in 0..<3 {
          try scene.say(Content(kind: .encrypted, text: "light"), Envelope(), by: scene.juliet, to: scene.romeo, writer)
        }
        return try scene.say("light", by: scene.juliet, to: scene.romeo, writer)
      }
      func piece() throws -> Bool { try scene.write { try $0.indexMessages(limit: 3, bytes: .max) } }
      try equal(try piece(), true)
      try equal(try piece(), false)
      try equal(try piece(), false)
      try equal(try found(scene, "light"), [said])
    },
    Case(name: "search: a piece of the index ends behind so many bytes of texts") { scene in
      let said = try scene.write { writer in
        try (0..<3).map { index in
          let text = "light\(index) " + String(repeating: "x", count: 993)
          return try scene.say(text, by: scene.juliet, to: scene.romeo, writer)
        }
      }
      // The texts have 1,000 bytes each.
      func piece() throws -> Bool { try scene.write { try $0.indexMessages(limit: 100, bytes: 1_500) } }
      func isFound(_ index: Int) throws -> Bool {
        var query = ArchiveQuery(limit: 100)
        query.text = "light\(index)"
        return try scene.read { try $0.archive(of: scene.romeo.id, query) }.entries.map(\.position) == [
          said[index].position
        ]
      }
      try equal(try piece(), true)
      try equal(try (0..<3).map { try isFound($0) }, [true, true, false])
      try equal(try piece(), false)
      try equal(try (0..<3).map { try isFound($0) }, [true, true, true])
    },
    Case(name: "search: words behind the first 32 KiB of a text are not found") { scene in
      let said = try scene.write { writer in
        // Words of 1,024 bytes with their spaces, the last of which is cut.
        let words = (0..<40).map { "w\($0)" + String(repeating: "x", count: 1_023 - "w\($0)".utf8.count) }
        return try scene.say(words.joined(separator: " "), by: scene.juliet, to: scene.romeo, writer)
      }
      func word(_ index: Int) -> String { "w\(index)" + String(repeating: "x", count: 1_023 - "w\(index)".utf8.count) }
      try equal(try found(scene, word(31)), [said])
      try equal(try found(scene, word(32)), [])
    },
    Case(name: "search: scripts without spaces, by any part") { scene in
      let (tokyo, beijing, seoul, thai, smile) = try scene.write { writer in
        (
          try scene.say("明日は東京タワーへ行きます", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("我爱北京天安门", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("서울에서 만나요", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("สวัสดีชาวโลก", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("so happy😀😀 today", by: scene.romeo, to: scene.juliet, writer)
        )
      }
      for (text, entry) in [
        ("東京", tokyo), ("タワー", tokyo), ("京", tokyo), ("ﾀﾜｰ", tokyo), ("北京", beijing), ("天安门", beijing),
        ("서울", seoul), ("에서", seoul), ("ชาวโลก", thai), ("😀", smile), ("happy", smile),
      ] { try require(try found(scene, text).contains { $0.position == entry.position }, "\(text) is found") }
      // The characters in another order are another word.
      try equal(try found(scene, "京東"), [])
      try equal(try found(scene, "京北"), [])
    },
    Case(name: "search: nothing that is typed is syntax") { scene in
      let said = try scene.write { writer in
        try scene.say("to be OR NOT to be", by: scene.romeo, to: scene.juliet, writer)
      }
      for text in [
        "NOT", "OR NOT", "\"to", "be\"", "\"to be\"", "to*", "(be)", "NEAR(to be)", "text:be", "scope:u1", "^to",
        "-be", "be AND", "'be'", "be; --", "{to be}", "to+be", "\u{0}be",
      ] { _ = try found(scene, text) }
      try equal(try found(scene, "not or"), [said])
      try equal(try found(scene, "\"to be\""), [said])
      try equal(try found(scene, "be-or"), [said])
      try equal(try found(scene, "or-be"), [])
      try equal(try found(scene, "scope:u\(scene.juliet.id.number)"), [])
      // A text without a word finds nothing.
      for text in ["", "...", "\"", "*", "\u{0}"] { try equal(try found(scene, text), []) }
      try equal(try found(scene, String(repeating: "be ", count: 10_000)), [said])
    },
    Case(name: "search: what was changed is found as it is now, what was taken back not at all") { scene in
      let (edited, gone, transient) = try scene.write { writer in
        (
          try scene.say("meet me at noon", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("a secret", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("a passing word", by: scene.romeo, to: scene.juliet, writer)
        )
      }
      try scene.write { writer in
        var state = MessageState(version: scene.step(), revision: 1, text: "meet me at midnight")
        try writer.put(state, of: edited.position, in: edited.dialog)
        // A reaction leaves the text.
        state.reactions = [MessageState.Reaction(user: scene.juliet, emoji: ["❤"])]
        state.revision = 2
        try writer.put(state, of: edited.position, in: edited.dialog)
        let taken = MessageState(version: scene.step(), revision: 1, text: "another secret")
        try writer.put(taken, of: gone.position, in: gone.dialog)
        var back = MessageState(version: scene.step(), revision: 2)
        back.retraction = MessageState.Retraction(
          by: scene.romeo, at: scene.time, id: nil, reason: nil, isModeration: false)
        try writer.put(back, of: gone.position, in: gone.dialog)
        try writer.erase(transient.position, in: transient.dialog)
      }
      for round in 0..<2 {
        try equal(try found(scene, "noon"), [], "round \(round)")
        try equal(try found(scene, "midnight").map(\.position), [edited.position], "round \(round)")
        for text in ["secret", "another", "passing"] { try equal(try found(scene, text), [], text) }
        try scene.reopen()
      }
    },
    Case(name: "search: pages in both directions, between bounds, and of a room") { scene in
      let (said, room, whispered) = try scene.write { writer in
        var said: [Entry] = []
        for index in 0..<9 {
          said.append(
            try scene.say(
              "rose \(index)", by: scene.romeo, to: index.isMultiple(of: 2) ? scene.juliet : scene.nurse, writer))
          try scene.say("thorn \(index)", by: scene.romeo, to: scene.juliet, writer)
        }
        let room = try scene.room(of: [scene.romeo], writer)
        let whispered = try scene.say("a rose in the room", by: scene.romeo, in: room.id, writer)
        try scene.say("a rose that is not kept", by: scene.romeo, in: room.id, traits: [.counts], writer)
        return (said, room, whispered)
      }
      var seen: [Entry] = []
      for round in 0..<3 {
        let page = try found(scene, "rose") {
          $0.limit = 4
          $0.after = seen.last?.position ?? .zero
        }
        try equal(page.count, round == 2 ? 1 : 4)
        seen += page
      }
      try equal(seen, said)
      let newest = try found(scene, "rose") {
        $0.limit = 2
        $0.backwards = true
      }
      try equal(newest, Array(said[7...]))
      try equal(
        try found(scene, "rose") {
          $0.after = said[2].position
          $0.before = said[5].position
        }, Array(said[3...4]))
      try equal(
        try found(scene, "rose") {
          $0.start = said[3].time
          $0.end = said[4].time
        }, Array(said[3...4]))
      var query = ArchiveQuery(limit: 10)
      query.text = "rose"
      for backwards in [false, true] {
        query.backwards = backwards
        let page = try scene.read { try $0.archive(of: room.id, query) }
        try equal(page.entries, [whispered])
        try equal(page.complete, true)
      }
    },
  ]
}
