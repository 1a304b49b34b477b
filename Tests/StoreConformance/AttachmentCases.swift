import Addresses
import Basics
import Dialogs

/// Files that come in parts, are refused, or have small pictures beside them.
extension StoreConformance {
  private static func blob(
    _ number: UInt64, of owner: Party, state: Blob.State, createdAt: Timestamp, isResumable: Bool = false
  ) -> Blob {
    Blob(
      id: BlobID(PublicID(high: 0x8000_0000_0000_0aff, low: number)), realm: owner.realm, owner: owner.id, name: "file",
      mediaType: nil, size: 10, purpose: .message, state: state, createdAt: createdAt, expiresAt: nil,
      isResumable: isResumable)
  }

  static let attachments: [Case] = [
    Case(name: "a slot for parts and a thumbnail are kept") { scene in
      var blob = blob(1, of: scene.romeo, state: .awaited, createdAt: scene.time, isResumable: true)
      blob.sha256 = [UInt8](repeating: 7, count: 32)
      try scene.write { try $0.put(blob) }
      try scene.reopen()
      try equal(try scene.read { try $0.blob(blob.id) }, blob)
      blob.state = .stored
      blob.thumbnail = ImageSize(width: 320, height: 213)
      try scene.write { try $0.put(blob) }
      try equal(try scene.read { try $0.blob(blob.id) }, blob)
    },
    Case(name: "slots for parts wait longer and are counted; what is refused counts for the day") { scene in
      let now = scene.time
      func ago(_ duration: Duration, _ more: Int64 = 0) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds - duration.components.seconds * 1_000 - more)
      }
      let plain = blob(1, of: scene.romeo, state: .awaited, createdAt: ago(.seconds(1)))
      let parts = blob(2, of: scene.romeo, state: .awaited, createdAt: ago(Limits.slotTime, 1), isResumable: true)
      let missed = blob(
        3, of: scene.romeo, state: .awaited, createdAt: ago(Limits.resumableSlotTime), isResumable: true)
      let refused = blob(4, of: scene.romeo, state: .refused, createdAt: ago(.seconds(2)))
      let forgotten = blob(5, of: scene.romeo, state: .refused, createdAt: ago(Limits.blobDay))
      try scene.write { writer in for blob in [plain, parts, missed, refused, forgotten] { try writer.put(blob) } }
      try scene.read { reader in
        var use = BlobUse()
        (use.count, use.bytes, use.awaited, use.resumable) = (4, 20, 2, 1)
        (use.recentBytes, use.oldestRecent) = (30, parts.createdAt)
        try equal(try reader.blobUse(of: scene.romeo.id, at: now), use)
        try equal(Set(try reader.dueBlobs(at: now, limit: 9)), [missed.id, forgotten.id])
      }
    },
    Case(name: "a message's small pictures come back as they were said") { scene in
      let files = [
        Attachment(
          blob: nil, url: "https://files.example/1",
          thumbnail: .init(url: "https://files.example/1/thumbnail.jpg", mediaType: "image/jpeg", width: 4, height: 3)),
        Attachment(blob: nil, url: "https://files.example/2", thumbnail: .init(url: "https://files.example/s")),
        Attachment(blob: nil, url: "https://files.example/3"),
      ]
      let said = try scene.write {
        try scene.say(Content(kind: .image, attachments: files), Envelope(), by: scene.romeo, to: scene.juliet, $0)
      }
      try scene.reopen()
      let entry = try scene.read { try $0.entry(said.position, in: said.dialog) }
      guard case .message(let message)? = entry?.fact else { return try require(false, "no message") }
      try equal(message.content.attachments, files)
    },
  ]
}
