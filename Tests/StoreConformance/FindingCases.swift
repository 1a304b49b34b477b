import Dialogs

/// Lists of dialogs, and finding messages.
extension StoreConformance {
  private static func find(
    _ scene: Scene, by party: Party? = nil, _ query: MessageQuery
  ) throws -> (positions: [Position], next: Position?) {
    while try scene.write({ try $0.indexMessages(limit: 100, bytes: .max) }) {}
    let found = try scene.read { try $0.find(query, for: party ?? scene.romeo) }
    return (found.entries.map(\.position), found.next)
  }

  static let finding: [Case] = [
    Case(name: "dialog summaries: what is unread, what mentions, what is set, of private dialogs and rooms") { scene in
      var pinned = DialogSettings()
      pinned.isPinned = true
      let (said, room) = try scene.write { writer in
        _ = try scene.dialog(scene.romeo, scene.romeo, writer)
        let said = try scene.say("one", by: scene.juliet, to: scene.romeo, writer)
        let two = try scene.say("two", by: scene.juliet, to: scene.romeo, writer)
        try writer.setMentioned([scene.romeo.id], by: two.position, in: two.dialog)
        try writer.put(pinned, of: scene.romeo.id, in: said.dialog)
        try scene.display(said, by: scene.romeo, writer)
        try scene.say("mine", by: scene.romeo, to: scene.nurse, writer)
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try scene.say("in a room", by: scene.juliet, in: room.id, writer)
        return (said, room)
      }
      try scene.reopen()
      try scene.read { reader in
        let summaries = try reader.dialogSummaries(of: scene.romeo.id).sorted { $0.shown < $1.shown }
        // The self dialog is not there before it holds a message.
        try equal(summaries.count, 3)
        try equal(summaries.map(\.isRoom), [false, false, true])
        try equal(summaries.map(\.unread), [1, 0, 1])
        try equal(summaries.map(\.mentions), [1, 0, 0])
        try equal(summaries.map(\.settings), [pinned, DialogSettings(), DialogSettings()])
        try equal(summaries[0].displayed, said.position)
        try equal(summaries[2].dialog, room.id)
        try equal(summaries.map(\.unread).reduce(0, +), try reader.unread(of: scene.romeo.id))
        try equal(summaries.map(\.mentions).reduce(0, +), try reader.mentions(of: scene.romeo.id, in: nil))
        try equal(try reader.dialogSummaries(of: scene.nurse.id).count, 1)
      }
    },
    Case(name: "a list of dialogs: the liveliest first, by pages, and by what is wanted") { scene in
      var archived = DialogSettings()
      archived.isArchived = true
      try scene.write { writer in
        try scene.say("hers", by: scene.juliet, to: scene.romeo, writer)
        let his = try scene.say("his", by: scene.romeo, to: scene.nurse, writer)
        try writer.put(archived, of: scene.romeo.id, in: his.dialog)
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try scene.say("in a room", by: scene.juliet, in: room.id, writer)
      }
      func page(
        _ filter: DialogFilter = DialogFilter(), before: Position = .end, limit: Int = 9
      ) throws -> DialogListPage {
        try scene.read { try $0.dialogList(of: scene.romeo, filter, before: before, limit: limit) }
      }
      func texts(_ page: DialogListPage) -> [String] {
        page.views.map { view in
          let last =
            if case .room(let view) = view { view.lastMessage } else if case .privately(let view, _) = view {
              view.lastMessage
            } else { nil as Entry? }
          guard case .message(let message)? = last?.fact else { return "" }
          return message.content.text
        }
      }
      let first = try page(limit: 2)
      try equal(texts(first), ["in a room", "his"])
      try equal([first.unread, first.mentions], [2, 0])
      let second = try page(before: first.next ?? .zero, limit: 2)
      try equal(texts(second), ["hers"])
      try equal(second.next, nil)
      try equal(texts(try page(DialogFilter(kind: .privately))), ["his", "hers"])
      try equal(texts(try page(DialogFilter(isArchived: true))), ["his"])
      try equal(texts(try page(DialogFilter(isArchived: false, isUnread: true), limit: 1)), ["in a room"])
      try equal(texts(try page(DialogFilter(isPinned: true))), [])
      try equal(texts(try page(DialogFilter(name: "NUR"))), ["his"])
      try equal(texts(try page(DialogFilter(isArchived: false, name: "nur"))), [])
      try equal(texts(try page(DialogFilter(kind: .group))) + texts(try page(DialogFilter(kind: .open))), ["in a room"])
    },
    Case(name: "messages are found by words in everything one may read, and nowhere else") { scene in
      let (light, room, other) = try scene.write { writer in
        let light = try scene.say("What light through yonder window", by: scene.romeo, to: scene.juliet, writer)
        try scene.say("light for the nurse", by: scene.juliet, to: scene.nurse, writer)
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let inRoom = try scene.say("a light in the room", by: scene.juliet, in: room.id, writer)
        let other = try scene.room("balcony", of: [scene.juliet], writer)
        try scene.say("a light elsewhere", by: scene.juliet, in: other.id, writer)
        return (light, inRoom, other)
      }
      try equal(try find(scene, MessageQuery(text: "light", limit: 9)).positions, [room.position, light.position])
      try equal(
        try find(scene, MessageQuery(text: "LIGHT window", limit: 9)).positions, [light.position])
      try equal(try find(scene, MessageQuery(text: "...", limit: 9)).positions, [])
      try equal(
        try find(scene, MessageQuery(text: "light", dialog: light.dialog, limit: 9)).positions, [light.position])
      try equal(try find(scene, MessageQuery(text: "light", dialog: other.id, limit: 9)).positions, [])
      try equal(
        try find(scene, by: scene.nurse, MessageQuery(text: "light", dialog: light.dialog, limit: 9)).positions, [])
      try equal(
        try find(scene, MessageQuery(text: "light", author: scene.juliet.id, limit: 9)).positions, [room.position])
      let page = try find(scene, MessageQuery(text: "light", limit: 1))
      try equal(page.positions, [room.position])
      try equal(page.next, room.position)
      try equal(
        try find(scene, MessageQuery(text: "light", before: page.next ?? .zero, limit: 1)).positions, [light.position])
    },
    Case(name: "a search whose words do not meet goes on from where it ended, and leaves nothing out") { scene in
      let (said, room, log) = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        var said: [Entry] = []
        for number in 0..<1_200 {
          let word = number % 2 == 0 ? "left" : "right"
          let text = number % 400 == 100 ? "left-right" : number % 400 == 101 ? "right and left" : word
          let isInRoom = number % 3 == 0
          let entry =
            isInRoom
            ? try scene.say(text, by: scene.juliet, in: room.id, writer)
            : try scene.say(text, by: scene.juliet, to: scene.romeo, writer)
          if text.contains("-") || text.contains(" ") { said.append(entry) }
        }
        return (said, room, LogAccess.server(scene.romeo.id, rooms: [(room.id, .zero)], .rules))
      }
      while try scene.write({ try $0.indexMessages(limit: 1_000, bytes: .max) }) {}
      func found(_ text: String, in dialog: DialogID? = nil, looksMax: Int) throws -> [Position] {
        var (positions, before): ([Position], Position) = ([], .end)
        while true {
          let page = try scene.read { [before] in
            try $0.messages(with: text, of: log, in: dialog, before: before, limit: 5, looksMax: looksMax)
          }
          positions += page.candidates.map(\.position)
          let end = page.candidates.count < 5 ? nil : page.candidates.last?.position
          guard let last = page.next ?? end else { return positions }
          try require(last < before, "it comes no further")
          before = last
        }
      }
      let all = Array(said.map(\.position).reversed())
      let adjacent = said.filter { entry in
        guard case .message(let message) = entry.fact else { return false }
        return message.content.text == "left-right"
      }
      let phrase = Array(adjacent.map(\.position).reversed())
      let inRoom = Array(said.filter { $0.dialog == room.id }.map(\.position).reversed())
      for looksMax in [0, 1, Limits.searchIndexLooksMax] {
        try equal(try found("left right", looksMax: looksMax), all)
        try equal(try found("left-right", looksMax: looksMax), phrase)
        try equal(try found("right left", in: room.id, looksMax: looksMax), inRoom)
        try equal(try found("left middle", looksMax: looksMax), [])
      }
    },
    Case(name: "files and places are found by their kind, the newest of all dialogs first; what was taken back is not")
    {
      scene in
      let said = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        var said: [Entry] = []
        for index in 0..<6 {
          let content = Content(kind: .image, text: "picture \(index)")
          let peer = index.isMultiple(of: 2) ? scene.juliet : scene.nurse
          said.append(try scene.say(content, Envelope(id: "i\(index)"), by: scene.romeo, to: peer, writer))
          try scene.say("text \(index)", by: scene.romeo, to: peer, writer)
        }
        try scene.say(Content(kind: .location, text: "geo:1,2"), Envelope(), by: scene.juliet, to: scene.romeo, writer)
        try scene.say("only words", by: scene.juliet, in: room.id, writer)
        try scene.say(Content(kind: .image, text: "hers"), Envelope(), by: scene.juliet, to: scene.nurse, writer)
        return said
      }
      var seen: [Position] = []
      var before: Position? = .end
      while let place = before {
        let page = try find(scene, MessageQuery(kind: .image, before: place, limit: 4))
        seen += page.positions
        before = page.next
      }
      try equal(seen, said.map(\.position).reversed())
      try equal(
        try find(scene, MessageQuery(kind: .image, dialog: said[0].dialog, limit: 9)).positions,
        [said[4], said[2], said[0]].map(\.position))
      try equal(try find(scene, MessageQuery(kind: .location, limit: 9)).positions.count, 1)
      try equal(try find(scene, MessageQuery(text: "picture", kind: .image, limit: 9)).positions.count, 6)
      try scene.write { writer in
        var back = MessageState(version: scene.step(), revision: 1)
        back.retraction = MessageState.Retraction(
          by: scene.romeo, at: scene.time, id: nil, reason: nil, isModeration: false)
        try writer.put(back, of: said[5].position, in: said[5].dialog)
      }
      try equal(try find(scene, MessageQuery(kind: .image, limit: 2)).positions, [said[4], said[3]].map(\.position))
    },
  ]
}
