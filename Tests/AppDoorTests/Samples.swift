import Basics
import HTTPPort
import JSON
import StoreConformance
import Testing

@testable import AppDoor

/// Values of every wire type, with every member, and the schema that describes
/// each.
struct Sample: Sendable, CustomTestStringConvertible {
  let schema: String
  /// The JSON that the server writes.
  let written: JSONValue
  /// The values that it holds, as JSON has them.
  let held: Set<String>
  var testDescription: String { schema }

  init<Value: Hashable & JSONWritable>(_ schema: String, _ value: Value) throws {
    var writer = JSONWriter()
    value.write(to: &writer)
    self.schema = schema
    written = try JSONValue(parsing: writer.bytes)
    held = Set(Self.leaves(value))
  }

  private static func leaves(_ value: Any) -> [String] {
    switch value {
    case let text as String: return [text]
    case let time as Timestamp: return [time.description]
    case let object as RawObject: return object.value.leaves
    case let word as any RawRepresentable: return ["\(word.rawValue)"]
    default:
      let mirror = Mirror(reflecting: value)
      return mirror.displayStyle == nil ? ["\(value)"] : mirror.children.flatMap { leaves($0.value) }
    }
  }
}

enum Samples {
  static let time = Timestamp(milliseconds: 1_784_021_400_123)
  static let user = UserBody(
    id: "juliet", jid: "juliet@localhost", name: "Juliet \"J\"", status: "balcony\n",
    avatarHash: String(repeating: "a", count: 40),
    avatarUrl: "https://elsewhere.example/j.png", metadata: RawObject(trusted: #"{"team":7}"#),
    contactsMetadata: RawObject(trusted: #"{"floor":2}"#), createdAt: time, lastSeenAt: time, distance: 3,
    deleted: true, guest: true, remote: true)
  static let me = MeBody(
    user: user, privateMetadata: RawObject(trusted: #"{"theme":"dark"}"#), lastSeenVisibility: "contacts",
    searchable: true, matchable: false, callsFrom: "contacts", messagesFrom: "contacts",
    terms: TermsBody(version: "1", acceptedAt: time),
    termsRequired: "2",
    email: "juliet@capulet.example", phone: "+390458000000", hasPassword: true, secondFactor: false, lastLoginAt: time)
  static let export = ExportBody(
    id: "1", status: "done", createdAt: time, finishedAt: time, url: "https://localhost/uploads/a/export.tar",
    expiresAt: time, size: 10_240, incomplete: true)
  static let match = ContactMatchBody(hash: String(repeating: "0a", count: 32), user: user)
  static let content = ContentBody(
    type: "custom", text: "hi 😀", fields: RawObject(trusted: #"{"kind":"poll","payload":{"a":[1,true,null]}}"#))
  static let message = MessageBody(
    id: "m", seq: 3, dialogId: "d", senderId: "romeo", clientId: "c", sentAt: time, content: content,
    metadata: RawObject(trusted: #"{"k":"v"}"#), replyTo: "m0",
    mentions: [MentionBody(userId: "nurse", begin: 0, end: 2), MentionBody(userId: "juliet")],
    editedAt: time, deletedAt: time, deletedBy: "juliet",
    reactions: ReactionsBody(lines: [
      .init(emoji: "👍\"\\", userIds: ["romeo", "nurse"]), .init(emoji: "🌹", userIds: ["romeo"]),
    ]), version: 7, senderNick: "R", forwardedFrom: ForwardedFromBody(senderId: "nurse", sentAt: time), pinnedAt: time,
    pinnedBy: "juliet", delivery: DeliveryBody(state: .failed, code: "remote-server-timeout", text: "Nobody there."))
  static let receipt = ReceiptBody(userId: "romeo", delivered: true, read: true, deliveredAt: time, readAt: time)
  static let marker = MarkerBody(dialogId: "d", userId: "romeo", delivered: "m2", read: "m1")
  static let contact = ContactBody(
    userId: "romeo", jid: "romeo@localhost", name: "R", groups: ["a", "b"], state: .mutual, shared: true)
  static let iceServer = IceServerBody(
    urls: ["turn:relay:3478?transport=udp"], username: "1:romeo@localhost", credential: "c=", expiresAt: time)
  static let identity = IdentityBody(id: "i", type: "provider", provider: "google", subject: "1", createdAt: time)
  static let device = DeviceBody(
    id: "d", platform: "ios", locale: "it",
    push: DeviceBody.Push(
      provider: "apns", kind: "alert", environment: "sandbox", appId: "org.example.chat", silent: true),
    updatedAt: time, current: true)
  static let block = BlockBody(userId: "tybalt", jid: "tybalt@localhost")
  /// A dialog with the members of all types of dialogs.
  static let dialog: DialogBody = {
    var dialog = group
    dialog.memberIds = ["juliet", "romeo"]
    dialog.user = user
    return dialog
  }()
  static let settings = DialogSettingsBody(
    dialogId: "d", notify: "mentions", mutedUntil: time, pinned: true, archived: false, markedUnread: true,
    retentionDays: 30)
  static let draft = DraftBody(dialogId: "d", text: "Good \"morning\"", replyTo: "m0", updatedAt: time)
  static let call = CallBody(
    id: "c", dialogId: "d", callerId: "romeo", kind: .video, state: .ended, reason: .busy, media: .sdp, createdAt: time,
    ringingAt: time, startedAt: time, endedAt: time,
    participants: [
      .init(userId: "romeo", role: .caller, deviceId: "phone"), .init(userId: "juliet", role: .callee, deviceId: nil),
    ])
  static let scheduled = ScheduledMessageBody(
    id: "a1", dialogId: "d", clientId: "c", sendAt: time, createdAt: time, state: .failed, content: content,
    metadata: RawObject(trusted: #"{"k":"v"}"#), replyTo: "m0",
    mentions: [MentionBody(userId: "nurse", begin: 0, end: 2)],
    messageId: "m", code: "dialog-unknown", detail: "There is none.")
  static let group: DialogBody = {
    var group = DialogBody(
      id: "d", type: "group", jid: "g@conference.localhost", memberCount: 3, name: "G", about: "A", topic: "T",
      avatarHash: String(repeating: "b", count: 40), metadata: RawObject(trusted: #"{"k":1}"#),
      settings: RoomSetting.members(of: .noDefaults, isFederated: true), temporary: true, externalId: "e",
      createdAt: time)
    group.ownerId = "juliet"
    group.updatedAt = time
    group.lastMessage = message
    group.me = .init(
      role: "owner", nick: "J", kicked: true, unreadCount: 2, mentionCount: 1, readMessageId: "m1",
      deliveredMessageId: "m2", settings: settings, draft: draft)
    return group
  }()
  static let member = MemberBody(
    userId: "romeo", jid: "romeo@localhost", role: "watcher", nick: "R", name: "Romeo", joinedAt: time, kicked: true)
  static let presence = PresenceBody(
    userId: "romeo", online: true, availability: .doNotDisturb, status: "x", lastSeenAt: time)
  static let problem: ProblemBody = {
    var problem = ProblemBody(
      status: 404, detail: "There is none.", code: "dialog-unknown", field: "dialogId", retryAfter: 3, challenge: "c",
      secondFactor: "sms", target: "2e1de")
    problem.requestId = "r"
    return problem
  }()

  static let thumbnail = ThumbnailBody(
    url: "https://localhost/uploads/a/b/thumbnail.jpg", mediaType: "image/jpeg", width: 4, height: 3)

  /// Returns the samples by the name of their schema in `openapi.yaml`.
  static func rest() throws -> [Sample] {
    [
      try Sample("Mention", MentionBody(userId: "romeo", begin: 0, end: 5)),
      try Sample("User", user), try Sample("Message", message), try Sample("Marker", marker),
      try Sample("Contact", contact), try Sample("Block", block), try Sample("Dialog", dialog),
      try Sample(
        "Attachment",
        AttachmentBody(
          id: "a", name: "r\u{f6}se.jpg", mediaType: "image/jpeg", size: 7, sha256: String(repeating: "a", count: 64),
          width: 1, height: 2, durationMs: 3, url: "https://localhost/uploads/a/b", purpose: "message",
          expiresAt: time, uploadUrl: "https://localhost/uploads/a/b?key=c", uploadUntil: time, thumbnail: thumbnail)),
      try Sample("Thumbnail", thumbnail),
      try Sample(
        "Storage",
        StorageBody(
          bytes: 1, bytesMax: 2, files: 3, filesMax: 4, dayBytes: 5, dayBytesMax: 6, fileBytesMax: 7, slots: 8)),
      try Sample("DialogSettings", settings),
      try Sample("Call", call), try Sample("CallParticipant", call.participants[0]),
      try Sample("CallPage", PageBody(items: [call], nextCursor: "n")),
      try Sample("Draft", draft), try Sample("ScheduledMessage", scheduled),
      try Sample("ScheduledMessagePage", PageBody(items: [scheduled], nextCursor: "n")),
      try Sample("Member", member), try Sample("MemberPage", PageBody(items: [member], nextCursor: "n")),
      try Sample("Presence", presence), try Sample("Problem", problem), try Sample("Health", HealthBody()),
      try Sample(
        "Session",
        SessionBody(accessToken: "a", refreshToken: "r", expiresAt: time, user: user, deviceId: "d", termsRequired: "2")
      ),
      try Sample("Me", me), try Sample("Terms", TermsBody(version: "1", acceptedAt: time)),
      try Sample("Location", LocationBody(expiresAt: time)), try Sample("Export", export),
      try Sample("ExportPage", PageBody(items: [export], nextCursor: "n")), try Sample("ContactMatch", match),
      try Sample("ContactMatchPage", PageBody(items: [match], nextCursor: "n")),
      try Sample("ContactMatchSalt", ContactMatchSaltBody(salt: "a", algorithm: "sha-256", hashesMax: 500)),
      try Sample(
        "SessionSummary",
        SessionSummaryBody(id: "d", deviceId: "d", client: "c", createdAt: time, usedAt: time, current: false)),
      try Sample(
        "AppPassword", AppPasswordBody(id: "1", name: "n", password: "p", createdAt: time, usedAt: time)),
      try Sample(
        "AppPasswordPage",
        PageBody(items: [AppPasswordBody(id: "1", name: "n", createdAt: time)], nextCursor: "n")),
      try Sample(
        "Info",
        InfoBody(
          server: "parley", version: "1", protocols: ["v1"], domain: "localhost", features: ["sync"],
          grants: ["password"], providers: ["google"],
          authorizationEndpoints: [
            .init(provider: "google", url: "https://a", clientId: "c", scope: "openid", redirectUris: ["https://b/"])
          ], registration: true, webSocketUrl: "wss://localhost/v1/ws",
          limits: .init(
            textCharacters: 1, messageBytes: 2, metadataBytes: 3, pageItems: 4, syncEvents: 5, syncWaitSeconds: 6,
            attachmentBytes: 7), pushProviders: ["webpush"], webPushKey: "k",
          termsUrl: "https://a/terms")),
      try Sample("Device", device), try Sample("DevicePage", PageBody(items: [device], nextCursor: "n")),
      try Sample("Nonce", NonceBody(nonce: "n", expiresAt: time)),
      try Sample("Identity", identity), try Sample("IdentityPage", PageBody(items: [identity], nextCursor: "n")),
      try Sample("Sent", SentBody(expiresAt: time)),
      try Sample("Enrolment", EnrolmentBody(method: "totp", secret: "A", uri: "otpauth://totp/x", expiresAt: time)),
      try Sample("RecoveryCodes", RecoveryCodesBody(recoveryCodes: ["a-b", "c-d"])),
      try Sample("UserPage", PageBody(items: [user], nextCursor: "n")),
      try Sample("ContactPage", PageBody(items: [contact], nextCursor: "n")),
      try Sample("BlockPage", PageBody(items: [block, BlockBody(userId: nil, jid: "evil.example")], nextCursor: "n")),
      try Sample("Delivery", DeliveryBody(state: .failed, code: "remote-server-timeout", text: "Nobody there.")),
      try Sample("ForwardedFrom", ForwardedFromBody(senderId: "nurse", sentAt: time)),
      try Sample("EditPage", PageBody(items: [EditBody(text: "t", at: time)], nextCursor: "n")),
      try Sample("Edit", EditBody(text: "t", at: time)),
      try Sample("Receipt", receipt), try Sample("ReceiptPage", PageBody(items: [receipt], nextCursor: "n")),
      try Sample("MessagePage", PageBody(items: [message, message], nextCursor: "n")),
      try Sample(
        "Invitation",
        InvitationBody(username: "nina", inviterId: "juliet", inviterName: "Juliet", expiresAt: time)),
      try Sample(
        "NewInvitation",
        NewInvitationBody(
          url: "https://chat.example.org/invite/t", xmppUri: "xmpp:juliet@example.org?roster;preauth=t;ibr=y",
          token: "t",
          expiresAt: time)),
      try Sample("MarkerPage", PageBody(items: [marker], nextCursor: "n")),
      try Sample(
        "History",
        HistoryBody(
          items: [message], nextCursor: "n",
          opened: OpenedDialogBody(
            dialog: dialog, members: PageBody(items: [member], nextCursor: "n"), pins: PageBody(items: [message]),
            markers: PageBody(items: [marker]), users: PageBody(items: [user])))),
      try Sample(
        "DialogPage", DialogPageBody(items: [dialog], nextCursor: "n", cursor: "c", totalUnread: 2, totalMentions: 1)),
      try Sample("IceServer", iceServer), try Sample("IceServerPage", PageBody(items: [iceServer])),
      try Sample(
        "SessionPage",
        PageBody(
          items: [
            SessionSummaryBody(id: "d", deviceId: "d", client: "c", createdAt: time, usedAt: time, current: true)
          ],
          nextCursor: "n")),
      try Sample(
        "Sync", SyncBody(events: [RawObject(trusted: #"{"type":"resync","time":"x","data":{}}"#)], cursor: "c")),
    ]
  }

  /// Returns the samples by the name of their message in `asyncapi.yaml`.
  static func events() throws -> [Sample] {
    func durable<Body: Hashable & Sendable & JSONWritable>(_ name: EventName, _ body: Body) throws -> Sample {
      try Sample(name.rawValue, EventFrame(name, cursor: "c2", time: time, data: body, prevCursor: "c1"))
    }
    func signal<Body: Hashable & Sendable & JSONWritable>(_ name: EventName, _ body: Body) throws -> Sample {
      try Sample(name.rawValue, EventFrame(name, time: time, data: body))
    }
    return [
      try durable(.messageCreated, MessageEventBody(message: message)),
      try durable(.messageUpdated, MessageEventBody(message: message)),
      try durable(
        .messageDeleted,
        MessageDeletedBody(dialogId: "d", messageId: "m", by: "juliet", reason: "Too loud", message: message)),
      try durable(.markerUpdated, MarkerUpdatedBody(marker: marker)),
      try durable(.draftUpdated, DraftUpdatedBody(dialogId: "d", draft: draft)),
      try durable(
        .scheduledUpdated,
        ScheduledUpdatedBody(
          scheduledMessageId: "a1", dialogId: "d", sendAt: time, state: .failed, messageId: "m", code: "dialog-unknown",
          detail: "There is none.")),
      try durable(.callUpdated, CallUpdatedBody(call: call)),
      try signal(
        .callSignal,
        CallSignalBody(
          callId: "c", dialogId: "d", senderId: "romeo", action: .candidate, sdp: "v=0\r\n",
          candidate: RawObject(trusted: #"{"candidate":"candidate:1 1 UDP 1 192.0.2.1 9 typ host"}"#),
          info: RawObject(trusted: #"{"muted":true}"#))),
      try signal(
        .custom,
        CustomEventBody(
          dialogId: "d", senderId: "romeo", kind: "wave", payload: RawObject(trusted: #"{"hand":"left"}"#))),
      try durable(.contactUpdated, ContactUpdatedBody(contact: contact, removed: true)),
      try durable(.contactsChanged, ContactsChangedBody(change: "joined", userIds: ["romeo"])),
      try durable(.blockUpdated, BlockUpdatedBody(blocks: [block], blocked: true)),
      try durable(.userUpdated, UserUpdatedBody(user: user)),
      try durable(.dialogCreated, DialogCreatedBody(dialog: dialog, message: message)),
      try durable(.settingsUpdated, SettingsUpdatedBody(settings: settings)),
      try durable(.dialogCleared, DialogClearedBody(dialogId: "d", messageId: "m")),
      try durable(.messageStarred, MessageStarredBody(dialogId: "d", messageId: "m", starred: true)),
      try durable(.dialogUpdated, DialogUpdatedBody(dialog: group, message: message)),
      try durable(.dialogDeleted, DialogDeletedBody(dialogId: "d", message: message)),
      try durable(
        .dialogInvited,
        DialogInvitedBody(
          dialogId: "d", jid: "g@conference.localhost", name: "G", inviterId: "romeo", reason: "Come", elsewhere: true)),
      try durable(
        .memberUpdated, MemberUpdatedBody(dialogId: "d", member: member, dialog: group, message: message)),
      try signal(.ready, ReadyBody(user: user, deviceId: "d", cursor: "c", features: ["sync"])),
      try signal(.caughtUp, CaughtUpBody(cursor: "c", totalUnread: 4, totalMentions: 3)),
      try signal(.resync, ResyncBody(reason: .tooFarBehind, cursor: "c")),
      try signal(.typingUpdated, TypingUpdatedBody(dialogId: "d", userIds: ["romeo"])),
      try signal(.presenceUpdated, PresenceUpdatedBody(presence: presence)),
      try signal(
        .unreadUpdated,
        UnreadUpdatedBody(dialogId: "d", unreadCount: 1, mentionCount: 1, totalUnread: 2, totalMentions: 2)),
      try signal(.sessionRevoked, SessionRevokedBody(reason: "revoked")),
      try signal(.goAway, GoAwayBody(reason: "shutdown", retryAfterMs: 1_000)),
    ]
  }
}

/// `message.created` and `message.updated`, which `EventForm` writes without a type of their own.
private struct MessageEventBody: Hashable, Sendable, JSONObjectWritable {
  let message: MessageBody
  func writeMembers(to writer: inout JSONWriter) { writer.member("message", message) }
}

extension JSONValue {
  /// The names of all members, and the values that have no others in them.
  var leaves: [String] {
    switch self {
    case .object(let members): members.flatMap { [$0.name] + $0.value.leaves }
    case .array(let values): values.flatMap(\.leaves)
    case .number(let text), .string(let text): [text]
    case .bool(let value): ["\(value)"]
    case .null: []
    }
  }
}
