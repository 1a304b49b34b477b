import Basics
import Dialogs

/// The users' settings of their dialogs.
extension StoreConformance {
  private static func settings(_ change: (inout DialogSettings) -> Void) -> DialogSettings {
    var settings = DialogSettings()
    change(&settings)
    return settings
  }

  static let dialogSettings: [Case] = [
    Case(name: "the settings of a dialog are each member's own, and stand over a restart") { scene in
      let whole = settings {
        $0.alerts = .onMention
        $0.mutedUntil = Timestamp(milliseconds: 1_700_000_000_001)
        $0.isPinned = true
        $0.isArchived = true
        $0.unreadAt = Position(3)
        $0.retentionDays = 30
        $0.position = Position(7)
      }
      let pinned = settings { $0.isPinned = true }
      let (dialog, own, room) = try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.juliet, writer)
        let own = try scene.dialog(scene.romeo, scene.romeo, writer)
        let room = try scene.room(of: [scene.romeo, scene.juliet], writer)
        try equal(try writer.settings(of: scene.romeo.id, in: dialog.id), DialogSettings())
        try writer.put(whole, of: scene.romeo.id, in: dialog.id)
        try writer.put(pinned, of: scene.romeo.id, in: own.id)
        try writer.put(whole, of: scene.romeo.id, in: room.id)
        // A user who is not in the dialog has no settings of it.
        try writer.put(whole, of: scene.nurse.id, in: dialog.id)
        try writer.put(whole, of: scene.nurse.id, in: room.id)
        return (dialog, own, room)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.settings(of: scene.romeo.id, in: dialog.id), whole)
        try equal(try reader.settings(of: scene.juliet.id, in: dialog.id), DialogSettings())
        try equal(try reader.settings(of: scene.nurse.id, in: dialog.id), nil)
        try equal(try reader.settings(of: scene.nurse.id, in: room.id), nil)
        try equal(try reader.settings(of: scene.romeo.id), [dialog.id: whole, own.id: pinned, room.id: whole])
        try equal(try reader.settings(of: scene.juliet.id), [:])
        try equal(try reader.dialogs(of: scene.romeo.id, before: .end, limit: 9).map(\.settings), [whole])
        try equal(try reader.rooms(of: scene.romeo.id, before: .end, limit: 9).map(\.settings), [whole])
        try equal(try reader.rooms(of: scene.juliet.id, before: .end, limit: 9).map(\.settings), [DialogSettings()])
      }
      // The settings of a deleted user are removed.
      try scene.write { writer in
        try writer.put(pinned, of: scene.juliet.id, in: dialog.id)
        try writer.erasePersonalData(scene.romeo.id)
      }
      try scene.read { reader in
        try equal(try reader.settings(of: scene.romeo.id), [:])
        try equal(try reader.settings(of: scene.juliet.id), [dialog.id: pinned])
      }
    },
    Case(name: "the settings of a dialog stay when marks move, and go with the membership") { scene in
      let never = settings { $0.alerts = .never }
      let room = try scene.write { writer in
        let room = try scene.room(of: [scene.romeo], writer)
        try writer.put(never, of: scene.romeo.id, in: room.id)
        let said = try scene.say("hi", by: scene.romeo, in: room.id, writer)
        try writer.put(Mark(dialog: room.id, user: scene.romeo.id, displayed: said.position, own: 1), superseded: .zero)
        try equal(try writer.settings(of: scene.romeo.id, in: room.id), never)
        return room
      }
      try scene.write { writer in
        guard var member = try writer.member(scene.romeo.id, of: room.id) else { throw Unmet(description: "no member") }
        try writer.put(member, ordinal: 0)
        try equal(try writer.settings(of: scene.romeo.id, in: room.id), never)
        member.affiliation = .none
        try writer.put(member, ordinal: 0)
        try equal(try writer.settings(of: scene.romeo.id, in: room.id), nil)
        member.affiliation = .member
        try writer.put(member, ordinal: 0)
        try equal(try writer.settings(of: scene.romeo.id, in: room.id), DialogSettings())
      }
    },
    Case(name: "a change of settings is told as it was") { scene in
      let entry = try scene.write { writer in
        let dialog = try scene.dialog(scene.romeo, scene.romeo, writer)
        let position = scene.step()
        let change = DialogSettingsChange(
          dialog: DialogID(5),
          settings: settings {
            $0.alerts = .always
            $0.unreadAt = .zero
            $0.retentionDays = 7
          }, isMarkedUnread: true)
        let entry = Entry(
          position: position, time: scene.time, dialog: dialog.id, author: scene.romeo, place: .peer(scene.romeo),
          fact: .settings(change), id: scene.id(position))
        try writer.insert(entry, feeds: [FeedRow(user: scene.romeo.id, traits: [])], key: nil)
        return entry
      }
      try scene.reopen()
      try equal(try scene.read { try $0.feed(of: scene.romeo.id, after: .zero, limit: 9) }, [entry])
    },
  ]
}
