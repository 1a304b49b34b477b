import Dialogs

extension StoreConformance {
  private static func conversations(
    _ scene: Scene, of party: Party? = nil, _ change: (inout ConversationQuery) -> Void = { _ in }
  ) throws -> ConversationPage {
    var query = ConversationQuery(limit: 100)
    change(&query)
    return try scene.read { try $0.conversations(of: (party ?? scene.romeo).id, query) }
  }

  private static func texts(_ page: ConversationPage, _ scene: Scene) throws -> [String] {
    try scene.read { reader in
      try page.conversations.map { conversation in
        let said = try conversation.said.flatMap { try reader.entry($0, in: conversation.dialog) }
        guard case .message(let message)? = said?.fact else { return "-" }
        return message.content.text
      }
    }
  }

  static let conversations: [Case] = [
    Case(name: "conversations: the liveliest first, with the last message and what is unread") { scene in
      let (said, seen, group) = try scene.write { writer in
        let said = try scene.say("to juliet", by: scene.romeo, to: scene.juliet, writer)
        try scene.say("one", by: scene.nurse, to: scene.romeo, writer)
        let seen = try scene.say("two", by: scene.nurse, to: scene.romeo, writer)
        try scene.say("three", by: scene.nurse, to: scene.romeo, writer)
        try scene.say("not romeo's", by: scene.nurse, to: scene.juliet, writer)
        let group = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try scene.say("in the room", by: scene.juliet, in: group.id, writer)
        try scene.say("to oneself", by: scene.romeo, to: scene.romeo, writer)
        return (said, seen, group)
      }
      var page = try conversations(scene)
      try equal(texts(page, scene), ["to oneself", "in the room", "three", "to juliet"])
      try equal(
        page.conversations.map(\.chat),
        [
          scene.romeo.address, group.address, scene.nurse.address, scene.juliet.address,
        ])
      try equal(page.conversations.map { $0.isRoom ? $0.dialog : nil }, [nil, group.id, nil, nil])
      try equal(page.conversations.map(\.unread), [0, 1, 3, 0])
      try equal(page.conversations[3].last, said.position)
      try equal(page.conversations[3].lastID, said.id)
      try equal(page.conversations[3].activityID, said.id)
      try equal(page.complete, true)
      try equal([page.total, page.unreadConversations, page.unread], [4, 2, 4])
      // The sum is that of `unread(of:)`, whatever is read.
      try scene.write { try scene.display(seen, by: scene.romeo, $0) }
      page = try conversations(scene) { $0.unreadOnly = true }
      try equal(texts(page, scene), ["in the room", "three"])
      try equal(page.conversations.map(\.unread), [1, 1])
      try equal([page.total, page.unreadConversations, page.unread], [4, 2, 2])
      try equal(page.unread, try scene.read { try $0.unread(of: scene.romeo.id) })
      // The other side counts for itself; somebody without any has none.
      try equal(try conversations(scene, of: scene.nurse).unread, 0)
      let none = try scene.read { try $0.conversations(of: UserID(999), ConversationQuery(limit: 9)) }
      try equal(none.total, 0)
      try equal(none.complete, true)
    },
    Case(name: "conversations: what is not archived for the user is not shown, nor what is no message") { scene in
      let marker = try scene.write { writer -> Entry in
        let said = try scene.say("kept", by: scene.juliet, to: scene.romeo, writer)
        try scene.say("not kept", by: scene.juliet, to: scene.romeo, traits: [.counts], writer)
        try scene.say("nothing kept", by: scene.nurse, to: scene.romeo, traits: [.counts], writer)
        let stanza = Message(
          sequence: 0, content: Content(kind: .none), envelope: Envelope(type: .chat), traits: [.archived])
        return try scene.display(said, by: scene.romeo, stanza: stanza, writer)
      }
      let page = try conversations(scene)
      try equal(texts(page, scene), ["kept"])
      // The last of the archive is the marker; the place is the message's.
      try equal(page.conversations[0].last, marker.position)
      try require(page.conversations[0].activity < marker.position, "the message gives the place")
      try equal(page.conversations[0].unread, 1)
      try equal(page.total, 1)
    },
    Case(name: "conversations: pages in both directions, without messages, and of nothing") { scene in
      try scene.write { writer in
        for peer in [scene.juliet, scene.nurse, scene.romeo] {
          try scene.say("to \(peer.name)", by: scene.romeo, to: peer, writer)
        }
        let room = try scene.room(of: [scene.romeo], writer)
        try scene.say("room", by: scene.romeo, in: room.id, writer)
      }
      let all = ["room", "to romeo", "to nurse", "to juliet"]
      var seen: [Conversation] = []
      for round in 0..<2 {
        let page = try conversations(scene) {
          $0.limit = 2
          $0.before = seen.last?.activity ?? .end
        }
        try equal(page.complete, round == 1)
        try equal(page.total, 4)
        seen += page.conversations
      }
      try equal(
        texts(
          ConversationPage(conversations: seen, complete: true, total: 0, unreadConversations: 0, unread: 0), scene),
        all)
      var page = try conversations(scene) {
        $0.limit = 3
        $0.oldest = true
      }
      try equal(texts(page, scene), Array(all[1...]))
      try equal(page.complete, false)
      page = try conversations(scene) { $0.after = seen[2].activity }
      try equal(texts(page, scene), Array(all[..<2]))
      page = try conversations(scene) { $0.limit = 0 }
      try equal(page.conversations.count, 0)
      try equal(page.complete, false)
      try equal(page.total, 4)
      page = try conversations(scene) { $0.before = Position(1) }
      try equal(page.conversations.count, 0)
      try equal(page.total, 4)
    },
    Case(name: "an entry that has gone is not there any more") { scene in
      let (said, first, second) = try scene.write { writer in
        let said = try scene.say("1", by: scene.juliet, to: scene.romeo, writer)
        let first = try scene.display(said, by: scene.romeo, writer)
        let next = try scene.say("2", by: scene.juliet, to: scene.romeo, writer)
        return (said, first, try scene.display(next, by: scene.romeo, writer))
      }
      try scene.read { reader in
        try equal(try reader.hasEntry(at: said.position, in: nil), true)
        try equal(try reader.hasEntry(at: first.position, in: nil), false)
        try equal(try reader.hasEntry(at: second.position, in: nil), true)
        try equal(try reader.hasEntry(at: said.position, in: said.dialog), true)
        try equal(try reader.hasEntry(at: said.position, in: DialogID(999)), false)
      }
    },
    Case(name: "displayed: how far one has read each dialog and room, the last moved first") { scene in
      let (privately, group, said) = try scene.write { writer in
        let privately = try scene.say("hers", by: scene.juliet, to: scene.romeo, writer)
        try scene.say("unread", by: scene.nurse, to: scene.romeo, writer)
        let group = try scene.room(of: [scene.romeo, scene.juliet], writer)
        let said = try scene.say("room", by: scene.juliet, in: group.id, writer)
        try scene.display(said, by: scene.romeo, in: group.id, writer)
        try scene.display(privately, by: scene.romeo, writer)
        return (privately, group, said)
      }
      let marks = try scene.read { try $0.displayed(by: scene.romeo.id, limit: 10) }
      try equal(marks.map(\.chat), [scene.juliet.address, group.address])
      try equal(marks.map(\.isRoom), [false, true])
      try equal(marks.map(\.id), [privately.id, said.id])
      try require(marks[0].position > marks[1].position, "the last moved first")
      try equal(try scene.read { try $0.displayed(by: scene.romeo.id, limit: 1) }.count, 1)
      try equal(try scene.read { try $0.displayed(by: scene.juliet.id, limit: 10) }, [])
    },
  ]
}
