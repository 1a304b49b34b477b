public import Accounts
import Addresses
public import Dialogs
import JSON

/// The app's view of a user's data, in an export: the same JSON as in its operations, one value per line. Names are as
/// they were written: an export is data, and nothing that is shown.
public struct AppExport: ExportForm {
  public init() {}

  public func write(_ user: User, _ parley: Parley, into archive: ExportArchive) async throws(Problem) {
    let rendering = Rendering(parley: parley, realm: user.realm)
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    let domain = user.address.domain
    let settings = try await parley.read { try $0.userSettings(of: user.id) }
    let account = try await parley.read { try Account(of: user.id, $0) }
    try await archive.add("profile.json", Self.line(rendering.me(user, settings, account, terms: nil)))
    if let avatar = try await parley.read({ try $0.avatar(of: user) }) {
      try await archive.add("avatar", avatar.bytes)
    }
    let (contacts, blocks) = try await parley.read { (try $0.ownContacts(of: user.id), try $0.blocks(of: user.id)) }
    try await archive.add("contacts.jsonl", Self.lines(contacts.lazy.map { rendering.contact($0, domain: domain) }))
    try await archive.add("blocks.jsonl", Self.lines(blocks.map { rendering.block($0, domain: domain) }))
    let (grants, identities) = try await parley.read { (try $0.grants(of: user.id), try $0.identities(of: user.id)) }
    let sessions = grants.map { grant in
      SessionSummaryBody(
        id: String(grant.id), deviceId: grant.device, client: grant.client, createdAt: grant.createdAt,
        usedAt: grant.usedAt, current: false)
    }
    try await archive.add("sessions.jsonl", Self.lines(sessions))
    try await archive.add("identities.jsonl", Self.lines(identities.map { IdentityLine($0) }))
    if let note = try await parley.read({ try $0.note(on: user.id) }) {
      try await archive.add("note.json", Self.line(NoteLine(note: note)))
    }
    try await writeAttachments(party, rendering, parley, archive)
    try await writeDialogs(party, rendering, parley, archive)
  }

  // MARK: Files

  private func writeAttachments(
    _ user: Party, _ rendering: Rendering, _ parley: Parley, _ archive: ExportArchive
  ) async throws(Problem) {
    guard let links = parley.blobs?.policy.links else { return }
    var after: BlobID?
    var isEnd = false
    try await archive.addLines("attachments") { () async throws(Problem) -> [[UInt8]]? in
      if isEnd { return nil }
      let last = after
      let page = try await parley.read { try $0.blobs(of: user.id, after: last, limit: Limits.pageMax) }
      isEnd = page.count < Limits.pageMax
      after = page.last?.id
      return page.map { Self.line(rendering.attachment($0, links)) }
    }
  }

  // MARK: Messages

  /// Writes the dialogs, and their messages, the oldest first, as far as the user may read them. Private dialogs come before
  /// rooms, so that messages of others in rooms are left out first.
  private func writeDialogs(
    _ user: Party, _ rendering: Rendering, _ parley: Parley, _ archive: ExportArchive
  ) async throws(Problem) {
    var places: [Place] = []
    var before = Position.end
    while true {
      let last = before
      let page = try await parley.read { try $0.dialogs(of: .own(user), before: last, limit: Limits.pageMax) }
      places += page.map { Place(dialog: $0.dialog.id, room: nil) }
      guard let next = page.last, page.count == Limits.pageMax else { break }
      before = next.dialog.shown
    }
    let rooms = try await parley.read { try $0.memberships(of: user.id) }
    places += rooms.map { Place(dialog: $0.room.dialog, room: $0.room) }

    let all = places
    var shown = all[...]
    try await archive.addLines("dialogs") { () async throws(Problem) -> [[UInt8]]? in
      guard let place = shown.popFirst() else { return nil }
      let body = try await parley.read { reader -> DialogBody? in
        if place.room != nil {
          return try rendering.dialog(try reader.access(to: place.dialog, for: user), for: user, reader)
        }
        guard let dialog = try reader.dialog(place.dialog) else { return nil }
        return rendering.dialog(dialog.id, dialog.first, dialog.second, createdAt: dialog.createdAt)
      }
      return body.map { [Self.line($0)] } ?? []
    }

    var rest = all[...]
    var after = Position.zero
    try await archive.addLines("messages") { () async throws(Problem) -> [[UInt8]]? in
      guard let place = rest.first else { return nil }
      let last = after
      let (page, naming) = try await parley.read { reader -> (ArchivePage, ParticipantNaming) in
        guard let (messages, room) = try reader.messages(in: place.dialog, for: user) else {
          return (ArchivePage(entries: [], complete: true), .open)
        }
        var query = ArchiveQuery(limit: Limits.pageMax)
        query.after = last
        query.bytesMax = Limits.pageBytesMax
        return (try reader.history(of: messages, query), room?.naming(parley) ?? .open)
      }
      if !page.complete, let reached = page.next ?? page.entries.last?.position {
        after = reached
      } else {
        rest = rest.dropFirst()
        after = .zero
      }
      return page.entries.compactMap { entry -> [UInt8]? in
        guard let line = rendering.message(entry, naming).map({ Self.line($0) }) else { return nil }
        return entry.author.id == user.id || archive.admits(othersBytes: line.count + 1) ? line : nil
      }
    }
  }

  private struct Place: Sendable {
    let dialog: DialogID
    let room: RoomName?
  }

  // MARK: Lines

  private static func line(_ value: some JSONWritable) -> [UInt8] {
    var writer = JSONWriter(capacity: 512)
    value.write(to: &writer)
    return writer.bytes
  }

  private static func lines(_ values: some Sequence<some JSONWritable>) -> [UInt8] {
    var lines: [UInt8] = []
    for value in values {
      lines += line(value)
      lines.append(UInt8(ascii: "\n"))
    }
    return lines
  }

  /// The operators' note on the user.
  private struct NoteLine: JSONWritable {
    let note: UserNote

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.member("text", note.text)
      writer.member("changedAt", note.changedAt)
      writer.endObject()
    }
  }

  /// A line with an external identity of the user.
  private struct IdentityLine: JSONWritable {
    let identity: UserIdentity
    init(_ identity: UserIdentity) { self.identity = identity }

    func write(to writer: inout JSONWriter) {
      let issuer =
        switch identity.identity.issuer {
        case .external: "external"
        case .email: "email"
        case .phone: "phone"
        case .provider(let name): name
        }
      writer.beginObject()
      writer.member("issuer", issuer)
      writer.member("subject", identity.identity.subject)
      writer.member("since", identity.since)
      writer.endObject()
    }
  }
}
