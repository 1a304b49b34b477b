import Addresses
import Dialogs
import JSON
import NIOCore

/// The form of an entry for app sessions: encoded once, shared by all. Only `prevCursor`, which depends on the viewer,
/// is added to it. An entry of a semi-anonymous room has a second form for users who may not see addresses, shared by
/// all of them that it does not name; a named user gets their own, with their own user id.
final class EventForm: Sendable {
  /// The frame without its last member and its closing brace; `nil` if the entry is no event (a stanza that only XMPP
  /// understands).
  let head: ByteBuffer?
  /// The name of the event; `nil` without a head.
  let name: EventName?
  /// The index in the head at which the value of the member `data` begins; it ends with the head.
  let dataStart: Int
  /// The `Message` alone, which its author's answer contains; for a change of a message, the changed
  /// one.
  let message: ByteBuffer?
  let cursor: String
  /// The naming of the room's occupants; `nil` if they are known.
  private let anonymizer: Anonymizer?

  private init(
    _ name: EventName? = nil, head: ByteBuffer?, dataStart: Int = 0, message: ByteBuffer?, cursor: String,
    anonymizer: Anonymizer? = nil
  ) {
    self.name = name
    self.head = head
    self.dataStart = dataStart
    self.message = message
    self.cursor = cursor
    self.anonymizer = anonymizer
  }

  /// Returns the form of an entry.
  ///
  /// - Parameters:
  ///   - isAnonymized: whether the viewer may not see the addresses of the users that it names.
  ///   - subjects: the subjects of the page that the entry was read with; a live entry contains its own.
  static func of(
    _ entry: Entry, _ rendering: Rendering, isAnonymized: Bool, for viewer: UserID,
    _ subjects: FeedPage.Subjects = FeedPage.Subjects()
  ) -> EventForm {
    if case .contactGroup(let change) = entry.fact, let party = change.onlyContact(of: viewer) {
      return form(of: party, for: viewer, entry, rendering, subjects)
    }
    if case .marker(let marker) = entry.fact, marker.hidesRead, viewer == entry.author.id {
      return make(entry, rendering, .open, subjects, isOwn: true)
    }
    guard isAnonymized, let room = entry.anonymizedRoom else {
      return entry.forms.form(for: .app) { make(entry, rendering, .open, subjects) }
    }
    let shared = entry.forms.form(for: .anonymized) {
      let anonymizer = Anonymizer(room, rendering.parley)
      let form = make(entry, rendering, ParticipantNaming(anonymizer, viewer: nil), subjects)
      return EventForm(
        form.name, head: form.head, dataStart: form.dataStart, message: form.message, cursor: form.cursor,
        anonymizer: anonymizer)
    }
    guard let anonymizer = shared.anonymizer, anonymizer.hasNamed(viewer) else { return shared }
    return make(entry, rendering, ParticipantNaming(anonymizer, viewer: viewer), subjects)
  }

  private static func make(
    _ entry: Entry, _ rendering: Rendering, _ naming: ParticipantNaming, _ subjects: FeedPage.Subjects,
    isOwn: Bool = false
  ) -> EventForm {
    let cursor = rendering.cursor(entry.position)
    let domain = entry.author.address.domain
    switch entry.fact {
    case .message(let message): return form(of: message, entry, cursor, rendering, naming, subjects)
    case .marker(let marker):
      let body = rendering.marker(isOwn ? marker.mark : marker.shownMark, of: entry.author, naming)
      return form(.markerUpdated, entry, cursor, MarkerUpdatedBody(marker: body))
    case .contact(let change):
      return form(
        .contactUpdated, entry, cursor,
        ContactUpdatedBody(contact: rendering.contact(change.contact, domain: domain), removed: change.removed))
    case .contactGroup(let change):
      return form(
        .contactsChanged, entry, cursor,
        ContactsChangedBody(change: change.act.word, userIds: change.moved.map { naming.id($0) }))
    case .blocks(let change):
      return form(
        .blockUpdated, entry, cursor,
        BlockUpdatedBody(
          blocks: change.patterns.map { rendering.block($0, domain: domain) }, blocked: change.act == .block))
    case .profile(let profile):
      return form(.userUpdated, entry, cursor, UserUpdatedBody(user: rendering.user(entry.author, profile)))
    case .dialogOpened:
      guard let peer = entry.peer else { return EventForm(head: nil, message: nil, cursor: cursor) }
      let dialog = rendering.dialog(entry.dialog, entry.author, peer, createdAt: entry.time)
      return form(.dialogCreated, entry, cursor, DialogCreatedBody(dialog: dialog))
    case .room(let change):
      guard let name = entry.room else { return EventForm(head: nil, message: nil, cursor: cursor) }
      return form(of: change, in: name, entry, cursor, rendering, naming, subjects.rooms[entry.dialog])
    case .invitation(let invitation):
      return form(
        .dialogInvited, entry, cursor,
        DialogInvitedBody(
          dialogId: rendering.id(invitation.room.dialog), jid: invitation.room.address.description,
          name: invitation.name ?? subjects.rooms[invitation.room.dialog]?.settings.name,
          inviterId: naming.id(invitation.inviter), reason: invitation.reason))
    case .settings(let change):
      return form(.settingsUpdated, entry, cursor, SettingsUpdatedBody(settings: rendering.settings(change)))
    case .perUser(let change):
      return form(of: change, entry, cursor, rendering, naming, change.outcome ?? subjects.targets[change.target])
    case .undelivered(let undelivered):
      let message = undelivered.outcome ?? subjects.targets[undelivered.target]
      return form(.messageUpdated, entry, cursor, message.flatMap { rendering.message($0, naming) })
    case .draft(let dialog, let draft):
      return form(
        .draftUpdated, entry, cursor,
        DraftUpdatedBody(dialogId: rendering.id(dialog), draft: draft.map { rendering.draft($0, in: dialog) }))
    case .scheduledMessage(let change): return form(.scheduledUpdated, entry, cursor, rendering.scheduled(change))
    case .call(let change): return form(.callUpdated, entry, cursor, CallUpdatedBody(call: rendering.call(change.call)))
    // Apps see XMPP nodes in the profile, or not at all.
    case .node, .notification: return EventForm(head: nil, message: nil, cursor: cursor)
    }
  }

  /// Returns the event of a message, which may be a new one or change an earlier one.
  private static func form(
    of message: Message, _ entry: Entry, _ cursor: String, _ rendering: Rendering, _ naming: ParticipantNaming,
    _ subjects: FeedPage.Subjects
  ) -> EventForm {
    if message.traits.contains(.part) { return EventForm(head: nil, message: nil, cursor: cursor) }
    if message.content.kind == .invitation {
      return form(.dialogInvited, entry, cursor, DialogInvitedBody(elsewhere: entry, message.content, rendering))
    }
    if let reference = message.reference, reference.changes {
      return form(
        of: reference, entry, cursor, rendering, naming, reference.outcome ?? subjects.targets[reference.target])
    }
    return form(.messageCreated, entry, cursor, rendering.message(entry, naming))
  }

  /// Returns the event of the only contact that a contact group has changed for a viewer, whose own name for it is in it.
  private static func form(
    of party: Party, for viewer: UserID, _ entry: Entry, _ rendering: Rendering, _ subjects: FeedPage.Subjects
  ) -> EventForm {
    let found =
      subjects.contacts[party.id] ?? rendering.parley.hub.contactSnapshot(of: viewer)?.contact(party.address)
    let contact = found.flatMap { $0.subscription.isInRoster ? $0 : nil }
    let gone = Contact(
      owner: viewer, address: party.address, peer: party.id, subscription: .none, version: entry.position)
    return form(
      .contactUpdated, entry, rendering.cursor(entry.position),
      ContactUpdatedBody(
        contact: rendering.contact(contact ?? gone, domain: party.address.domain), removed: contact == nil))
  }

  /// Returns an event with a complete message.
  private static func form(_ name: EventName, _ entry: Entry, _ cursor: String, _ message: MessageBody?) -> EventForm {
    guard let message else { return EventForm(head: nil, message: nil, cursor: cursor) }
    var writer = JSONWriter(capacity: 768)
    let dataStart = open(name, entry, cursor, &writer)
    writer.beginObject()
    writer.name("message")
    let start = writer.bytes.count
    message.write(to: &writer)
    let length = writer.bytes.count - start
    writer.endObject()
    let head = ByteBuffer(bytes: writer.bytes)
    return EventForm(
      name, head: head, dataStart: dataStart, message: head.getSlice(at: start, length: length), cursor: cursor)
  }

  /// Returns the event of a reference. `target` is `nil` if it was removed, or the viewer may not read it.
  private static func form(
    of reference: Reference, _ entry: Entry, _ cursor: String, _ rendering: Rendering, _ naming: ParticipantNaming,
    _ target: Entry?
  ) -> EventForm {
    switch reference.kind {
    case .reply, .part: return EventForm(head: nil, message: nil, cursor: cursor)
    case .correction, .reactions, .pin:
      return form(.messageUpdated, entry, cursor, target.flatMap { rendering.message($0, naming) })
    case .retraction(let reason), .moderation(let reason):
      guard let target else { return EventForm(head: nil, message: nil, cursor: cursor) }
      return form(
        .messageDeleted, entry, cursor,
        MessageDeletedBody(
          dialogId: rendering.id(entry.dialog), messageId: reference.targetID.description,
          by: naming.id(entry.author), reason: reason, message: rendering.message(target, naming)))
    }
  }

  /// Returns the event of a change for the user alone. `target` is needed for `delivery` only.
  private static func form(
    of change: PerUserMessageChange, _ entry: Entry, _ cursor: String, _ rendering: Rendering,
    _ naming: ParticipantNaming, _ target: Entry?
  ) -> EventForm {
    let dialog = rendering.id(change.dialog)
    let message = rendering.id(change.target)
    switch change.change {
    case .hidden:
      return form(
        .messageDeleted, entry, cursor,
        MessageDeletedBody(
          dialogId: dialog, messageId: message ?? "", by: entry.author.name, reason: nil, whom: .me))
    case .cleared(leaves: false):
      return form(.dialogCleared, entry, cursor, DialogClearedBody(dialogId: dialog, messageId: message))
    case .cleared(leaves: true):
      return form(.dialogDeleted, entry, cursor, DialogDeletedBody(dialogId: dialog, message: nil, whom: .me))
    case .starred(let isStarred):
      return form(
        .messageStarred, entry, cursor,
        MessageStarredBody(dialogId: dialog, messageId: message ?? "", starred: isStarred))
    case .delivery: return form(.messageUpdated, entry, cursor, target.flatMap { rendering.message($0, naming) })
    }
  }

  private static func form(
    of change: RoomChange, in name: RoomName, _ entry: Entry, _ cursor: String, _ rendering: Rendering,
    _ naming: ParticipantNaming, _ present: Room?
  ) -> EventForm {
    let message = rendering.notice(entry, change, naming)
    // The fallback is not needed with a sound store: a change of a room that does not exist.
    let room =
      change.room ?? present
      ?? Room(name: name, externalID: nil, createdAt: entry.time, settings: RoomSettings())
    switch change.change {
    case .created:
      return form(
        .dialogCreated, entry, cursor, DialogCreatedBody(dialog: rendering.dialog(room), message: message))
    case .settings, .topic:
      return form(
        .dialogUpdated, entry, cursor, DialogUpdatedBody(dialog: rendering.dialog(room), message: message))
    case .member(let member):
      return form(
        .memberUpdated, entry, cursor,
        MemberUpdatedBody(
          dialogId: rendering.id(entry.dialog), member: rendering.member(member, naming),
          dialog: rendering.dialog(room),
          message: message))
    case .destroyed:
      return form(
        .dialogDeleted, entry, cursor, DialogDeletedBody(dialogId: rendering.id(entry.dialog), message: message))
    }
  }

  private static func form(_ name: EventName, _ entry: Entry, _ cursor: String, _ body: some JSONWritable) -> EventForm
  {
    var writer = JSONWriter()
    let dataStart = open(name, entry, cursor, &writer)
    body.write(to: &writer)
    return EventForm(
      name, head: ByteBuffer(bytes: writer.bytes), dataStart: dataStart, message: nil, cursor: cursor)
  }

  /// Writes a frame up to the name of `data`; the object stays open for `prevCursor`. Returns where the data begin.
  private static func open(_ name: EventName, _ entry: Entry, _ cursor: String, _ writer: inout JSONWriter) -> Int {
    writer.beginObject()
    writer.member("type", name.rawValue)
    writer.member("cursor", cursor)
    writer.member("time", entry.time)
    writer.name("data")
    return writer.bytes.count
  }

  /// A complete frame for one viewer.
  struct Frame {
    fileprivate let head: ByteBuffer
    fileprivate let prevCursor: String
    private static let name: StaticString = ",\"prevCursor\":\""

    var count: Int { head.readableBytes + Self.name.utf8CodeUnitCount + prevCursor.utf8.count + 2 }

    func write(to buffer: inout ByteBuffer) {
      buffer.writeImmutableBuffer(head)
      buffer.writeStaticString(Self.name)
      buffer.writeString(prevCursor)
      buffer.writeStaticString("\"}")
    }
  }

  /// Returns the frame; `nil` if there is none.
  func frame(after prevCursor: String) -> Frame? { head.map { Frame(head: $0, prevCursor: prevCursor) } }
}

extension ContactGroupChange.Act {
  /// The name in `contacts.changed`.
  fileprivate var word: String {
    switch self {
    case .joined, .linked: "joined"
    case .left, .unlinked: "left"
    case .renamed: "renamed"
    }
  }
}
