import Addresses
import Basics
import Dialogs

/// What waits for servers elsewhere (`Dialogs/Federation/Outbox.swift`).
extension StoreConformance {
  private static let pair = DomainPair(local: "verona.example", remote: "mantua.example")
  private static let other = DomainPair(local: "rooms.verona.example", remote: "mantua.example")

  private static func number(of pair: DomainPair, _ writer: any StoreWriter) throws -> Int64 {
    if let known = try writer.state(of: pair) { return known.id }
    return try writer.put(DomainPairState(pair)).id
  }

  /// Adds the row of an entry.
  private static func owe(_ entry: Entry, expires: Int64, to pair: DomainPair, _ writer: any StoreWriter) throws {
    try writer.insert(
      OutboxRow(position: entry.position, expiresAt: Timestamp(milliseconds: expires), item: .entry(entry)),
      by: entry.author.id, pair: number(of: pair, writer))
  }

  private static func described(_ rows: [OutboxRow]) -> [String] {
    rows.map { row in
      let item =
        switch row.item {
        case .entry(let entry): entry.fact.stanza?.content.text ?? "\(entry.fact.kind)"
        case .stanza(let stanza): "\(stanza.name) \(stanza.id ?? "-")"
        }
      return "\(row.position.number) \(item) until \(row.expiresAt.milliseconds)"
    }
  }

  private static func taken(
    _ pair: DomainPair, _ range: ClosedRange<Int64>, _ writer: any StoreWriter
  ) throws
    -> [UserID]
  {
    try writer.removeOutbox(Position(range.lowerBound)...Position(range.upperBound), pair: number(of: pair, writer))
  }

  static let outbox: [Case] = [
    Case(name: "rows wait for their pair in order, also over a restart, until they are taken") { scene in
      try scene.write { writer in
        for text in ["a", "b", "c"] {
          try owe(try scene.say(text, by: scene.romeo, to: scene.nurse, writer), expires: 9, to: pair, writer)
        }
        try owe(try scene.say("d", by: scene.juliet, to: scene.nurse, writer), expires: 8, to: other, writer)
        try owe(try scene.say("e", by: scene.juliet, to: scene.nurse, writer), expires: 9, to: pair, writer)
      }
      try scene.reopen()
      try scene.read { reader in
        let rows = ["1 a until 9", "2 b until 9", "3 c until 9", "5 e until 9"]
        try equal(described(try reader.outbox(of: pair, after: .zero, limit: 9)), rows)
        try equal(described(try reader.outbox(of: pair, after: Position(1), limit: 2)), Array(rows[1...2]))
        try equal(described(try reader.outbox(of: other, after: .zero, limit: 9)), ["4 d until 8"])
        let strange = DomainPair(local: pair.local, remote: "verona.example")
        try equal(described(try reader.outbox(of: strange, after: .zero, limit: 9)), [])
        let next = try reader.nextOutboxExpiries(limit: 9)
        try equal(next.map(\.pair), [other, pair])
        try equal(next.map(\.at.milliseconds), [8, 9])
        try equal(try reader.nextOutboxExpiries(limit: 1).map(\.pair), [other])
      }
      try scene.write { writer in
        try equal(try taken(pair, 0...2, writer), [scene.romeo.id, scene.romeo.id])
        try equal(try taken(pair, 0...2, writer), [], "twice")
        try equal(try taken(pair, 5...5, writer), [scene.juliet.id])
        try equal(described(try writer.outbox(of: pair, after: .zero, limit: 9)), ["3 c until 9"])
        try equal(described(try writer.outbox(of: other, after: .zero, limit: 9)), ["4 d until 8"])
        _ = try taken(other, 0...9, writer)
        try equal(try writer.nextOutboxExpiries(limit: 9).map(\.pair), [pair])
        _ = try taken(pair, 0...9, writer)
        try equal(try writer.nextOutboxExpiries(limit: 9).map(\.pair), [], "an expiry of nothing")
      }
    },
    Case(name: "a stanza that is no entry comes back whole") { scene in
      let room = try scene.write { try scene.room(of: [scene.romeo], $0).name }
      let to = try BareJID("nurse@mantua.example")
      let stanzas = [
        RelayedStanza(
          name: .presence("subscribe"), from: scene.romeo, fromResource: nil, to: to, toResource: nil, id: "s1",
          extras: Array("<status>a\u{f6}</status>".utf8)),
        RelayedStanza(
          name: .message(.error), from: scene.juliet, fromResource: "balcony", to: to, toResource: "phone", id: nil,
          language: "it", extras: []),
        RelayedStanza(
          name: .message(.normal), from: scene.romeo, fromResource: "Romeo", room: room,
          to: try BareJID("mantua.example"), toResource: nil, id: "s3", extras: [0x3c]),
        RelayedStanza(
          name: .iq("set"), from: scene.romeo, fromResource: nil, to: to, toResource: nil, id: "", extras: []),
        RelayedStanza(
          name: .message(.normal), from: scene.juliet, fromResource: nil, server: try BareJID("verona.example"), to: to,
          toResource: nil, id: "s5", extras: [0x3c]),
      ]
      try scene.write { writer in
        for (index, stanza) in stanzas.enumerated() {
          try writer.insert(
            OutboxRow(
              position: Position(Int64(10 + index)), expiresAt: Timestamp(milliseconds: 5), item: .stanza(stanza)),
            by: stanza.from.id, pair: number(of: pair, writer))
        }
      }
      try scene.reopen()
      let rows = try scene.read { try $0.outbox(of: pair, after: Position(9), limit: 9) }
      try equal(rows.map(\.position.number), [10, 11, 12, 13, 14])
      for (row, stanza) in zip(rows, stanzas) {
        guard case .stanza(let found) = row.item else { throw Unmet(description: "no stanza") }
        try equal(found.name, stanza.name)
        try equal(found.from, stanza.from)
        try equal(found.room, stanza.room)
        try equal(found.server, stanza.server)
        try equal(found.to, stanza.to)
        try equal(found.extras, stanza.extras)
        try equal(
          [found.fromResource, found.toResource, found.id, found.language],
          [stanza.fromResource, stanza.toResource, stanza.id, stanza.language])
      }
    },
    Case(name: "a row is read with its message's state, and without its entry not at all") { scene in
      try scene.write { writer in
        let gone = try scene.say("gone", by: scene.romeo, to: scene.nurse, writer)
        let kept = try scene.say("kept", by: scene.romeo, to: scene.nurse, writer)
        let failure = FederationFailure(.wait, "remote-server-timeout", "Nobody th\u{f6}re.")
        let state = MessageState(version: Position(7), revision: 1, delivery: .failed(failure))
        let pinned = MessageState(
          version: Position(8), revision: 2, text: "other", reactions: [.init(user: scene.juliet, emoji: ["x"])],
          pin: .init(by: scene.romeo, at: Timestamp(milliseconds: 3)), delivery: .failed(failure))
        for entry in [gone, kept] { try owe(entry, expires: 9, to: pair, writer) }
        try writer.erase(gone.position, in: gone.dialog)
        var queued = pinned
        queued.delivery = .queued
        for state in [state, pinned, queued] {
          try writer.put(state, of: kept.position, in: kept.dialog)
          let rows = try writer.outbox(of: pair, after: .zero, limit: 9)
          try equal(described(rows), ["2 kept until 9"])
          guard case .entry(let entry)? = rows.first?.item else { throw Unmet(description: "no entry") }
          try equal(entry.state, state)
        }
        try equal(try taken(pair, 0...9, writer).count, 2)
      }
    },
    Case(name: "what is known of a pair, and how much waits for it") { scene in
      try scene.write { writer in
        for expires in [7, 9] as [Int64] {
          try owe(try scene.say("a", by: scene.romeo, to: scene.nurse, writer), expires: expires, to: pair, writer)
        }
        try owe(try scene.say("b", by: scene.juliet, to: scene.nurse, writer), expires: 8, to: pair, writer)
        var state = DomainPairState(id: try number(of: other, writer), other)
        state.failures = 3
        state.nextAttemptAt = Timestamp(milliseconds: 60)
        state.reason = "no answer"
        state.verifiedAt = Timestamp(milliseconds: 2)
        try writer.replace(state)
        try equal(try writer.state(of: other), state)
      }
      try scene.reopen()
      try scene.read { reader in
        // A pair without rows is none of those that wait.
        try equal(
          try reader.outboxPairs(), [OutboxPair(pair: pair, rows: 3, expiresAt: Timestamp(milliseconds: 7))])
        let state = try reader.state(of: other)
        try equal(state?.failures, 3)
        try equal(state?.nextAttemptAt, Timestamp(milliseconds: 60))
        try equal(state?.reason, "no answer")
        try equal(state?.verifiedAt, Timestamp(milliseconds: 2))
        let number = try reader.state(of: pair)?.id ?? 0
        try equal(
          Set(try reader.outboxTotals()),
          [
            OutboxTotal(pair: number, author: scene.romeo.id, rows: 2, expiresAt: Timestamp(milliseconds: 7)),
            OutboxTotal(pair: number, author: scene.juliet.id, rows: 1, expiresAt: Timestamp(milliseconds: 8)),
          ])
      }
    },
    Case(name: "what a deleted user has said is not sent, but the ends of their subscriptions are") { scene in
      try scene.write { writer in
        try owe(try scene.say("mine", by: scene.romeo, to: scene.nurse, writer), expires: 9, to: pair, writer)
        try owe(try scene.say("hers", by: scene.juliet, to: scene.nurse, writer), expires: 9, to: pair, writer)
        let end = RelayedStanza(
          name: .presence("unsubscribed"), from: scene.romeo, fromResource: nil, to: try BareJID("a@mantua.example"),
          toResource: nil, id: nil, extras: [])
        try writer.insert(
          OutboxRow(position: scene.step(), expiresAt: Timestamp(milliseconds: 9), item: .stanza(end)),
          by: scene.romeo.id, pair: number(of: pair, writer))
        try owe(try scene.say("also mine", by: scene.romeo, to: scene.nurse, writer), expires: 9, to: other, writer)
        try writer.erasePersonalData(scene.romeo.id)
        try equal(
          described(try writer.outbox(of: pair, after: .zero, limit: 9)),
          ["2 hers until 9", "3 presence(\"unsubscribed\") - until 9"])
        // Nothing waits for the other pair any more.
        try equal(try writer.state(of: other), nil)
        try equal(try writer.state(of: pair)?.pair, pair)
      }
    },
    Case(name: "an undelivered message is an entry of its author, who gets it again as an offline message") { scene in
      let undelivered = Undelivered(
        dialog: DialogID(4), target: Position(1), peer: scene.nurse, fromResource: "orchard", toResource: nil,
        stanzaID: "m\u{f6}", failure: FederationFailure(.cancel, "item-not-found", "No such user."))
      let entry = try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.romeo, writer)
        let position = scene.step()
        let entry = Entry(
          position: position, time: scene.time, dialog: dialog.id, author: scene.romeo, place: .peer(scene.romeo),
          fact: .undelivered(undelivered), id: scene.id(position))
        try writer.insert(
          entry, feeds: [FeedRow(user: scene.romeo.id, traits: [.inbound, .replayed])], key: nil)
        return entry
      }
      try scene.write { try scene.say("later", by: scene.juliet, to: scene.romeo, $0) }
      try scene.reopen()
      try scene.read { reader in
        func told(_ first: Int64, _ last: Int64) throws -> [Position] {
          var query = ArchiveQuery(limit: 9)
          query.after = Position(first - 1)
          query.before = Position(last + 1)
          return try reader.unarchived(of: .server(scene.romeo.id, .rules), query).entries.map(\.position)
        }
        try equal(try told(0, 9), [entry.position])
        try equal(try told(1, 1), [entry.position])
        try equal(try told(2, 9), [])
        let feed = try reader.feed(of: scene.romeo.id, after: .zero, limit: 9)
        try equal(feed.map(\.position.number), [1, 2])
        let replay = try reader.replay(of: scene.romeo.id, after: .zero, limit: 9)
        guard case .undelivered(let found)? = replay.first?.fact else { throw Unmet(description: "no such entry") }
        try equal(found.dialog, undelivered.dialog)
        try equal(found.target, undelivered.target)
        try equal(found.peer, undelivered.peer)
        try equal(
          [found.fromResource, found.toResource, found.stanzaID],
          [undelivered.fromResource, undelivered.toResource, undelivered.stanzaID])
        try equal(found.failure, undelivered.failure)
        try equal(try reader.archive(of: scene.romeo.id, ArchiveQuery(limit: 9)).entries.map(\.position.number), [2])
      }
    },
  ]
}
