import Addresses
import Basics
import Dialogs

/// Drafts and scheduled messages.
extension StoreConformance {
  private static func scheduled(
    _ id: Int64, by author: Party, in dialog: DialogID, due: Int64, failure: ScheduledMessage.Failure? = nil
  ) -> ScheduledMessage {
    ScheduledMessage(
      id: id, author: author, dialog: dialog, createdAt: Timestamp(milliseconds: 5), due: Timestamp(milliseconds: due),
      content: Content(kind: .text, text: "later \(id)", fields: #"{"metadata":{"k":1}}"#),
      replyTo: PublicID(high: 1, low: UInt64(id)),
      mentions: [MentionDraft(address: JID(author.address), begin: 0, end: 2)],
      key: RepeatKey(rule: .app, id: "c\(id)", bodyHash: .max - UInt64(id)), failure: failure, position: Position(7))
  }

  static let draftsAndScheduledMessages: [Case] = [
    Case(name: "a draft is its writer's own, and stands over a restart") { scene in
      let draft = DialogDraft(
        text: "Good \u{0} mörning", replyTo: Position(3), updatedAt: Timestamp(milliseconds: 9), position: Position(4))
      let other = DialogDraft(
        text: "", replyTo: Position(1), updatedAt: Timestamp(milliseconds: 9), position: Position(5))
      let (dialog, room) = try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.juliet, writer)
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try writer.put(other, of: scene.romeo.id, in: dialog.id)
        try writer.put(draft, of: scene.romeo.id, in: dialog.id)
        try writer.put(other, of: scene.romeo.id, in: room.id)
        try writer.put(draft, of: scene.juliet.id, in: room.id)
        return (dialog, room)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.draft(of: scene.romeo.id, in: dialog.id), draft)
        try equal(try reader.draft(of: scene.juliet.id, in: dialog.id), nil)
        try equal(try reader.draft(of: scene.romeo.id, in: room.id), other)
        try equal(try reader.draftCount(of: scene.romeo.id), 2)
      }
      try scene.write { writer in
        try writer.put(nil, of: scene.romeo.id, in: dialog.id)
        try equal(try writer.draft(of: scene.romeo.id, in: dialog.id), nil)
        // It goes with the membership.
        guard var member = try writer.member(scene.romeo.id, of: room.id) else { throw Unmet(description: "no member") }
        member.affiliation = .none
        try writer.put(member, ordinal: 0)
        try equal(try writer.draft(of: scene.romeo.id, in: room.id), nil)
        try equal(try writer.draft(of: scene.juliet.id, in: room.id), draft)
        // The drafts of a deleted user are removed.
        try writer.erasePersonalData(scene.juliet.id)
        try equal(try writer.draftCount(of: scene.juliet.id), 0)
      }
    },
    Case(name: "scheduled messages: whole, by their time, and due until they are gone or have failed") { scene in
      let dialog = try scene.write { try scene.dialog(scene.romeo, scene.juliet, $0).id }
      let first = scheduled(1, by: scene.romeo, in: dialog, due: 100)
      var second = scheduled(2, by: scene.romeo, in: dialog, due: 50)
      let failed = scheduled(
        3, by: scene.romeo, in: dialog, due: 10, failure: ScheduledMessage.Failure(code: "no", text: "No."))
      let hers = scheduled(1, by: scene.juliet, in: dialog, due: 70)
      try equal(try scene.read { try $0.nextDue(after: Timestamp(milliseconds: 0)) }, nil)
      try scene.write { writer in for each in [first, second, failed, hers] { try writer.put(each) } }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.scheduled(of: scene.romeo.id), [failed, second, first])
        try equal(try reader.scheduled(of: scene.juliet.id), [hers])
        try equal(try reader.scheduled(1, of: scene.romeo.id), first)
        try equal(try reader.scheduled(2, of: scene.juliet.id), nil)
        try equal(try reader.scheduledCount(of: scene.romeo.id), 3)
        let (romeo, juliet) = (scene.romeo.id, scene.juliet.id)
        try equal(try reader.dueAuthors(at: Timestamp(milliseconds: 70), limit: 9), [romeo, juliet])
        try equal(try reader.dueAuthors(at: Timestamp(milliseconds: 100), limit: 9), [romeo, juliet, romeo])
        try equal(try reader.dueAuthors(at: Timestamp(milliseconds: 100), limit: 2), [romeo, juliet])
        try equal(try reader.nextDue(after: Timestamp(milliseconds: 49)), Timestamp(milliseconds: 50))
        try equal(try reader.nextDue(after: Timestamp(milliseconds: 50)), Timestamp(milliseconds: 70))
      }
      try scene.write { writer in
        second.due = Timestamp(milliseconds: 200)
        second.content = Content(kind: .location, text: "geo:1,2", fields: #"{"lat":1,"lng":2}"#)
        try writer.put(second)
        try writer.removeScheduled(1, of: scene.romeo.id)
        try writer.erasePersonalData(scene.juliet.id)
        try equal(try writer.scheduled(of: scene.romeo.id), [failed, second])
        try equal(try writer.scheduled(of: scene.juliet.id), [])
        try equal(try writer.nextDue(after: Timestamp(milliseconds: 0)), Timestamp(milliseconds: 200))
      }
    },
    Case(name: "changes of drafts and scheduled messages are read as they were written") { scene in
      let entries = try scene.write { writer in
        try [
          Fact.draft(
            DialogID(5),
            DialogDraft(text: "rose", replyTo: nil, updatedAt: Timestamp(milliseconds: 9), position: Position(4))),
          .draft(DialogID(5), nil),
          .scheduledMessage(ScheduledChange(scheduled(6, by: scene.romeo, in: DialogID(5), due: 8), state: .pending)),
          .scheduledMessage(
            ScheduledChange(
              scheduled(6, by: scene.romeo, in: DialogID(5), due: 8), state: .sent, message: Position(3))),
          .scheduledMessage(
            ScheduledChange(
              scheduled(6, by: scene.romeo, in: DialogID(5), due: 8), state: .failed,
              failure: ScheduledMessage.Failure(code: "no", text: "No."))),
        ].map { try scene.note($0, by: scene.romeo, writer) }
      }
      try scene.reopen()
      try equal(try scene.read { try $0.feed(of: scene.romeo.id, after: .zero, limit: 9) }, entries)
    },
  ]
}
