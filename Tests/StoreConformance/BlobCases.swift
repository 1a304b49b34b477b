import Addresses
import Basics
import Dialogs

/// Files that users keep here: what is known of them, and what refers to them.
extension StoreConformance {
  private static func blob(
    _ number: UInt64, of owner: Party, size: Int64 = 10, purpose: Blob.Purpose = .message,
    state: Blob.State = .stored, createdAt: Timestamp, expiresAt: Timestamp? = nil, realm: RealmID? = nil
  ) -> Blob {
    Blob(
      id: BlobID(PublicID(high: 0x8000_0000_0000_00ff, low: number)), realm: realm ?? owner.realm, owner: owner.id,
      name: "file", mediaType: "text/plain", size: size, purpose: purpose, state: state, createdAt: createdAt,
      expiresAt: expiresAt)
  }

  static let blobs: [Case] = [
    Case(name: "a file is kept whole and replaced") { scene in
      var blob = Blob(
        id: BlobID(PublicID(high: .max, low: 1)), realm: scene.realm.id, owner: scene.romeo.id, name: "tr\u{e8}s.jpg",
        mediaType: nil, size: 1 << 40, purpose: .ephemeral, createdAt: scene.time,
        expiresAt: scene.time + .seconds(9), shape: Blob.Shape(width: 1, height: 0, milliseconds: 3))
      try scene.write { try $0.put(blob) }
      try scene.reopen()
      try equal(try scene.read { try $0.blob(blob.id) }, blob)
      try equal(try scene.read { try $0.blob(BlobID(PublicID(high: .max, low: 2))) }, nil)
      blob.state = .stored
      blob.mediaType = "image/jpeg"
      blob.sha256 = [UInt8](0..<32)
      blob.expiresAt = nil
      blob.shape = Blob.Shape()
      try scene.write { try $0.put(blob) }
      try equal(try scene.read { try $0.blob(blob.id) }, blob)
      try scene.write { try $0.removeBlob(blob.id) }
      try equal(try scene.read { try $0.blob(blob.id) }, nil)
    },
    Case(name: "the files of a user, and those that are due") { scene in
      let now = scene.time
      func ago(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: now.milliseconds - seconds * 1_000) }
      let (day, slot) = (Limits.blobDay.components.seconds, Limits.slotTime.components.seconds)
      let kept = blob(1, of: scene.romeo, size: 1, createdAt: ago(day + 1))
      let over = blob(2, of: scene.romeo, size: 2, createdAt: ago(5), expiresAt: now)
      let later = blob(3, of: scene.romeo, size: 4, createdAt: ago(4), expiresAt: now + .milliseconds(1))
      let awaited = blob(4, of: scene.romeo, size: 8, state: .awaited, createdAt: ago(slot - 1))
      let missed = blob(5, of: scene.romeo, size: 16, state: .awaited, createdAt: ago(slot))
      let gone = blob(6, of: scene.romeo, size: 32, state: .gone, createdAt: ago(day - 1))
      let forgotten = blob(7, of: scene.romeo, size: 64, state: .gone, createdAt: ago(day))
      let other = blob(8, of: scene.juliet, size: 128, createdAt: now)
      try scene.write { writer in
        for blob in [kept, over, later, awaited, missed, gone, forgotten, other] { try writer.put(blob) }
      }
      try scene.read { reader in
        var use = BlobUse()
        // All but the slot whose time is over.
        (use.count, use.bytes, use.awaited) = (6, 1 + 4 + 8, 1)
        (use.recentBytes, use.oldestRecent) = (2 + 4 + 8 + 32, gone.createdAt)
        try equal(try reader.blobUse(of: scene.romeo.id, at: now), use)
        try equal(try reader.blobUse(of: scene.nurse.id, at: now), BlobUse())
        try equal(Set(try reader.dueBlobs(at: now, limit: 9)), [over.id, missed.id, forgotten.id])
        try equal(try reader.dueBlobs(at: now, limit: 2).count, 2)
      }
    },
    Case(name: "the files in messages of a realm, the oldest first, and their bytes") { scene in
      func at(_ seconds: Int) -> Timestamp { scene.time + .seconds(seconds) }
      let early = blob(9, of: scene.romeo, size: 1, createdAt: at(1))
      let twins = [
        blob(2, of: scene.romeo, size: 2, purpose: .ephemeral, createdAt: at(2)),
        blob(3, of: scene.juliet, size: 4, createdAt: at(2), expiresAt: at(11)),
      ]
      let last = blob(1, of: scene.juliet, size: 8, createdAt: at(3))
      let others = [
        blob(4, of: scene.romeo, size: 16, createdAt: at(2), expiresAt: at(10)),
        blob(5, of: scene.romeo, size: 32, purpose: .profile, createdAt: at(2)),
        blob(6, of: scene.romeo, size: 64, state: .awaited, createdAt: at(2)),
        blob(7, of: scene.romeo, size: 128, createdAt: at(2), realm: RealmID(scene.romeo.realm.number + 1)),
      ]
      try scene.write { writer in for blob in [early] + twins + [last] + others { try writer.put(blob) } }
      try scene.read { reader in
        let all = FilesByAge(realm: scene.romeo.realm, since: .earliest, now: at(10))
        let since = FilesByAge(realm: scene.romeo.realm, since: at(2), now: at(10))
        try equal(try reader.bytes(of: all), 15)
        try equal(try reader.files(all, after: nil, limit: 9), [early] + twins + [last])
        try equal(try reader.files(all, after: nil, limit: 2), [early, twins[0]])
        try equal(try reader.files(all, after: twins[0], limit: 9), [twins[1], last])
        try equal(try reader.bytes(of: since), 14)
        try equal(try reader.files(since, after: nil, limit: 9), twins + [last])
        try equal(try reader.files(since, after: last, limit: 9), [])
      }
    },
    Case(name: "a file is over when nothing refers to it any more, and only for its owner") { scene in
      let (mine, theirs) = try scene.write { writer in
        let mine = blob(1, of: scene.romeo, createdAt: scene.time)
        let theirs = blob(2, of: scene.juliet, createdAt: scene.time)
        for blob in [mine, theirs] { try writer.put(blob) }
        for number: Int64 in [101, 102] {
          try writer.insertBlobReference(to: mine.id, by: Position(number))
          // Twice is once.
          try writer.insertBlobReference(to: mine.id, by: Position(number))
        }
        try writer.insertBlobReference(to: theirs.id, by: Position(101))
        return (mine, theirs)
      }
      func end(_ blob: Blob) throws -> Timestamp? { try scene.read { try $0.blob(blob.id)?.expiresAt } }
      let none = try scene.write { try $0.releaseBlobs(of: Position(101), by: scene.romeo.id, ending: scene.time) }
      try equal(none, 0, "bytes that ended")
      try equal(try end(mine), nil, "another message refers to it")
      try equal(try end(theirs), nil, "somebody else's")
      try scene.write { try $0.releaseBlobs(of: Position(102), by: scene.romeo.id, ending: nil) }
      try equal(try end(mine), nil, "it stays")
      let ended = try scene.write { writer -> Int64 in
        try writer.insertBlobReference(to: mine.id, by: Position(103))
        return try writer.releaseBlobs(of: Position(103), by: scene.romeo.id, ending: scene.time)
      }
      try equal(try end(mine), scene.time, "over")
      try equal(ended, mine.size, "bytes that ended")
      let again = try scene.write { writer -> Int64 in
        try writer.insertBlobReference(to: mine.id, by: Position(104))
        return try writer.releaseBlobs(of: Position(104), by: scene.romeo.id, ending: scene.time)
      }
      try equal(again, 0, "bytes that ended, again")
      let export = blob(3, of: scene.romeo, purpose: .ephemeral, createdAt: scene.time)
      let ofExport = try scene.write { writer -> Int64 in
        try writer.put(export)
        try writer.insertBlobReference(to: export.id, by: Position(105))
        return try writer.releaseBlobs(of: Position(105), by: scene.romeo.id, ending: scene.time)
      }
      try equal(try end(export), scene.time, "over")
      try equal(ofExport, 0, "bytes of an export")
    },
    Case(name: "the attachments of a message are read as they were written, and are removed with it") { scene in
      let files = [
        Attachment(
          blob: BlobID(PublicID(high: 1, low: .max)), url: "https://files.example/1", name: "secret-name",
          mediaType: "image/png", size: 7, sha256: [UInt8](repeating: 255, count: 32),
          shape: Blob.Shape(width: 1, height: 2, milliseconds: 3)),
        Attachment(blob: nil, url: "https://elsewhere.example/2"),
      ]
      let said = try scene.write {
        try scene.say(
          Content(kind: .image, attachments: files), Envelope(), by: scene.romeo, to: scene.juliet, $0)
      }
      try scene.reopen()
      func found() throws -> [Attachment]? {
        let entry = try scene.read { try $0.entry(said.position, in: said.dialog) }
        guard case .message(let message)? = entry?.fact else {
          return nil
        }
        return message.content.attachments
      }
      try equal(try found(), files)
      let state = MessageState(
        version: Position(77), revision: 1,
        retraction: .init(by: scene.romeo, at: scene.time, id: nil, reason: nil, isModeration: false))
      try scene.write { try $0.put(state, of: said.position, in: said.dialog) }
      try equal(try found(), [])
    },
    Case(name: "a deleted user leaves their messages, and no profile") { scene in
      let (said, picture, slot) = try scene.write { writer in
        let said = blob(1, of: scene.romeo, createdAt: scene.time)
        let picture = blob(2, of: scene.romeo, purpose: .profile, createdAt: scene.time)
        let slot = blob(3, of: scene.romeo, state: .awaited, createdAt: scene.time)
        for blob in [said, picture, slot] { try writer.put(blob) }
        try writer.erasePersonalData(scene.romeo.id)
        return (said, picture, slot)
      }
      try equal(try scene.read { try $0.blob(said.id) }, said)
      try equal(Set(try scene.read { try $0.dueBlobs(at: scene.time, limit: 9) }), [picture.id, slot.id])
    },
  ]
}
