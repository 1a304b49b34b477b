import Addresses
import Basics
import Dialogs

/// Calls: their states and entries.
extension StoreConformance {
  private static func call(
    _ id: Int64, _ name: String, from caller: Party, to callee: Party, in dialog: DialogID, due: Int64? = nil
  ) -> Call {
    Call(
      id: Position(id), dialog: dialog, name: name, kind: .video,
      caller: Call.CallParty(caller, resource: "app-1", isApp: true),
      callee: Call.CallParty(callee, resource: nil, isApp: false), rangAt: Timestamp(milliseconds: id * 10),
      due: due.map { Timestamp(milliseconds: $0) })
  }

  static let calls: [Case] = [
    Case(name: "a call is found by its number and its name, whole, over a restart") { scene in
      let dialog = try scene.write { try scene.dialog(scene.romeo, scene.juliet, $0).id }
      var first = call(1, "ca3c \u{1F4DE}", from: scene.romeo, to: scene.juliet, in: dialog, due: 600)
      let second = call(2, "fecb", from: scene.juliet, to: scene.romeo, in: dialog)
      try scene.write { writer in
        try writer.put(first)
        first.state = .ended
        first.reason = .incompatible
        first.callee = Call.CallParty(scene.juliet, resource: "orchard", isApp: false)
        first.heardAt = Timestamp(milliseconds: 11)
        first.acceptedAt = Timestamp(milliseconds: 12)
        first.endedAt = Timestamp(milliseconds: 13)
        first.due = nil
        try writer.put(first)
        try writer.put(second)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.call(Position(1)), first)
        try equal(try reader.call(named: first.name, in: dialog), first)
        try equal(try reader.call(named: "fecb", in: dialog), second)
        try equal(try reader.call(named: "fecb", in: DialogID(dialog.number + 1)), nil)
        try equal(try reader.call(Position(3)), nil)
      }
      // The calls of a deleted user are removed.
      try scene.write { writer in
        try writer.erasePersonalData(scene.juliet.id)
        try equal(try writer.call(Position(1)), nil)
        try equal(try writer.call(Position(2)), nil)
      }
    },
    Case(name: "open calls of either end, the newest first; how many one has begun; what is due") { scene in
      let (his, hers) = try scene.write { writer in
        (try scene.dialog(scene.romeo, scene.juliet, writer).id, try scene.dialog(scene.nurse, scene.juliet, writer).id)
      }
      try equal(try scene.read { try $0.nextCallDue() }, nil)
      let calls = [
        call(1, "a", from: scene.romeo, to: scene.juliet, in: his, due: 900),
        call(2, "b", from: scene.juliet, to: scene.romeo, in: his, due: 500),
        call(3, "c", from: scene.romeo, to: scene.juliet, in: his),
        call(4, "d", from: scene.nurse, to: scene.juliet, in: hers, due: 700),
      ]
      try scene.write { writer in for call in calls { try writer.put(call) } }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.openCalls(of: scene.juliet.id, limit: 9), [calls[3], calls[1], calls[0]])
        try equal(try reader.openCalls(of: scene.juliet.id, limit: 2), [calls[3], calls[1]])
        try equal(try reader.openCalls(of: scene.romeo.id, limit: 9), [calls[1], calls[0]])
        try equal(try reader.callCount(by: scene.romeo.id, since: Timestamp(milliseconds: 0)), 2)
        try equal(try reader.callCount(by: scene.romeo.id, since: Timestamp(milliseconds: 10)), 1)
        try equal(try reader.callCount(by: scene.juliet.id, since: Timestamp(milliseconds: 99)), 0)
        try equal(try reader.dueCalls(at: Timestamp(milliseconds: 499), limit: 9), [])
        try equal(try reader.dueCalls(at: Timestamp(milliseconds: 700), limit: 9), [Position(2), Position(4)])
        try equal(try reader.dueCalls(at: Timestamp(milliseconds: 999), limit: 1), [Position(2)])
        try equal(try reader.nextCallDue(), Timestamp(milliseconds: 500))
      }
    },
    Case(name: "changes of a call are told as they were, with what XMPP was told") { scene in
      let entries = try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.juliet, writer)
        var call = call(1, "a", from: scene.romeo, to: scene.juliet, in: dialog.id, due: 600)
        let stanza = Message(
          sequence: 0, content: Content(kind: .none, extras: Array("<proceed/>".utf8)),
          envelope: Envelope(type: .chat, fromResource: "orchard", toResource: "app-1", id: "x"), traits: [.archived])
        var entries = [try scene.change(CallChange(act: .ring, call: call, message: nil), by: scene.romeo, writer)]
        call.state = .accepted
        call.acceptedAt = Timestamp(milliseconds: 12)
        entries.append(
          try scene.change(CallChange(act: .accept, call: call, message: stanza), by: scene.juliet, writer))
        call.state = .ended
        call.reason = .replaced
        call.due = nil
        entries.append(
          try scene.change(
            CallChange(act: .finish, call: call, message: stanza, successor: "b"), by: scene.romeo, writer))
        return entries
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.feed(of: scene.juliet.id, after: .zero, limit: 9), entries)
        try equal(try reader.feed(of: scene.romeo.id, after: .zero, limit: 9), entries)
      }
    },
  ]
}

extension Scene {
  fileprivate func change(_ change: CallChange, by author: Party, _ writer: any StoreWriter) throws -> Entry {
    let peer = change.call.peer(of: author.id).party
    let position = step()
    let entry = Entry(
      position: position, time: time, dialog: change.call.dialog, author: author, place: .peer(peer),
      fact: .call(change), id: id(position))
    try writer.insert(
      entry,
      feeds: [FeedRow(user: author.id, traits: [.archived]), FeedRow(user: peer.id, traits: [.archived, .inbound])],
      key: nil)
    return entry
  }
}
