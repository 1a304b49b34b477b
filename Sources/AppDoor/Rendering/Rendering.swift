import Accounts
import Addresses
import Basics
import Dialogs
import JSON

/// Renders the core's values in the app protocol. Pure but for the sealing of ids.
struct Rendering: Sendable {
  let parley: Parley
  let realm: RealmID
  /// Whether the `id` of an XMPP client's stanza is shown as the `clientId` of its message, as in `message.before_send`: to backends
  /// alone. Apps match their own messages by `clientId`, and other clients choose their ids as they like.
  var showsStanzaIDs = false

  func id(_ dialog: DialogID) -> String { parley.dialogID(dialog, in: realm).description }
  func id(_ entry: Position) -> String? { entry > .zero ? parley.entryID(entry, in: realm).description : nil }
  func cursor(_ position: Position) -> String { parley.cursor(position, in: realm) }

  // MARK: Users

  /// Returns a user as one viewer may see them.
  func user(_ view: UserView, distance: Int? = nil) -> UserBody {
    var body = user(view.user)
    body.lastSeenAt = view.showsLastSeen ? parley.hub.lastSeen(of: view.user) : nil
    body.contactsMetadata = view.contactsMetadata.map { RawObject(trusted: $0) }
    body.distance = distance
    return body
  }

  /// Returns the caller's own view.
  func me(_ user: User, _ settings: UserSettings, _ account: Account, terms required: String?) -> MeBody {
    let view = UserView(user: user, showsLastSeen: true, contactsMetadata: settings.contactsMetadata)
    return MeBody(
      user: self.user(view), privateMetadata: settings.privateMetadata.map { RawObject(trusted: $0) } ?? .empty,
      lastSeenVisibility: settings.lastSeen.wire, searchable: settings.isSearchable, matchable: settings.isMatchable,
      callsFrom: settings.callsFrom.wire, messagesFrom: settings.messagesFrom.wire,
      terms: settings.terms.map { TermsBody(version: $0.version, acceptedAt: $0.time) },
      termsRequired: settings.requiring(required), email: account.subject(.email), phone: account.subject(.phone),
      hasPassword: account.hasPassword, secondFactor: account.hasSecondFactor,
      lastLoginAt: account.lastLogin)
  }

  /// Returns the part of a user that anyone may see.
  func user(_ user: User) -> UserBody {
    UserBody(
      id: user.name, jid: user.address.description, name: user.profile.displayName, status: user.profile.status,
      avatarHash: user.profile.avatarHash, avatarUrl: user.profile.avatarURL,
      metadata: user.profile.metadata.map { RawObject(trusted: $0) } ?? .empty,
      createdAt: user.realm.isRemote ? nil : user.createdAt, deleted: user.state == .deleted ? true : nil,
      guest: user.isGuest && user.state != .deleted ? true : nil, remote: user.realm.isRemote ? true : nil)
  }

  /// Returns the user in an event of a changed profile.
  func user(_ party: Party, _ profile: Profile) -> UserBody {
    UserBody(
      id: party.name, jid: party.address.description, name: profile.displayName, status: profile.status,
      avatarHash: profile.avatarHash, avatarUrl: profile.avatarURL,
      metadata: profile.metadata.map { RawObject(trusted: $0) } ?? .empty, remote: party.realm.isRemote ? true : nil)
  }

  /// Returns the id of an address: the localpart within the realm, otherwise the JID (`User.name`).
  func userID(_ address: BareJID, domain: String) -> String {
    if address.hasDomain(domain), let local = address.local, !ReservedWords.contains(local) { return local }
    return address.description
  }

  func contact(_ contact: Contact, domain: String) -> ContactBody {
    ContactBody(
      userId: userID(contact.address, domain: domain), jid: contact.address.description, name: contact.name,
      groups: contact.groups, state: contact.subscription.wireState, shared: !contact.sharedBy.isEmpty)
  }

  func block(_ pattern: BlockPattern, domain: String) -> BlockBody {
    let isUser = pattern.jid.isBare && pattern.jid.local != nil && pattern.jid.hasDomain(domain)
    return BlockBody(userId: isUser ? userID(pattern.jid.bare, domain: domain) : nil, jid: pattern.jid.description)
  }

  /// Returns the user's presence over all sessions, with `lastSeen` if there is none.
  func presence(of party: Party, lastSeen: Timestamp?) -> PresenceBody {
    guard let presence = parley.hub.presence(of: party.id) else { return absence(of: party, lastSeen: lastSeen) }
    return PresenceBody(
      userId: party.name, online: true, availability: presence.availability.wire, status: presence.status,
      lastSeenAt: nil)
  }

  /// Returns the presence of one session; for remote users, whose other sessions are unknown.
  func presence(_ presence: Presence) -> PresenceBody {
    PresenceBody(
      userId: presence.from.name, online: presence.isAvailable, availability: presence.availability.wire,
      status: presence.status, lastSeenAt: presence.isAvailable ? nil : presence.time)
  }

  /// Returns the presence of a user who is offline, or appears so to this viewer.
  func absence(of party: Party, lastSeen: Timestamp?) -> PresenceBody {
    PresenceBody(
      userId: party.name, online: false, availability: .offline, status: nil,
      lastSeenAt: lastSeen)
  }

  // MARK: Dialogs

  /// Returns the part of a private dialog that both users see.
  func dialog(_ id: DialogID, _ first: Party, _ second: Party, createdAt: Timestamp?) -> DialogBody {
    DialogBody(
      id: self.id(id), type: DialogBody.Kind.isPrivate.rawValue,
      memberIds: first.id == second.id ? [first.name] : [first.name, second.name],
      createdAt: createdAt)
  }

  func dialog(_ view: DialogView, peer: UserView?, mentions: Int64, updatedAt: Timestamp?) -> DialogBody {
    var body = dialog(view.dialog.id, view.dialog.first, view.dialog.second, createdAt: view.dialog.createdAt)
    body.updatedAt = updatedAt
    body.user = peer.map { user($0) }
    body.lastMessage = view.lastMessage.flatMap { message($0, .open) }
    body.me = DialogBody.Mine(
      unreadCount: view.mark.unread(ordinal: view.dialog.ordinal), mentionCount: mentions,
      readMessageId: id(view.mark.displayed), deliveredMessageId: id(view.mark.delivered),
      settings: settings(view.settings, view.mark))
    return body
  }

  func settings(_ settings: DialogSettings, _ mark: Mark) -> DialogSettingsBody {
    self.settings(
      DialogSettingsChange(
        dialog: mark.dialog, settings: settings, isMarkedUnread: settings.isMarkedUnread(displayed: mark.displayed)))
  }

  func settings(_ change: DialogSettingsChange) -> DialogSettingsBody {
    let settings = change.settings
    return DialogSettingsBody(
      dialogId: id(change.dialog), notify: settings.alerts?.wire.rawValue,
      mutedUntil: settings.isMuted(at: parley.clock.now) ? settings.mutedUntil : nil,
      pinned: settings.isPinned, archived: settings.isArchived, markedUnread: change.isMarkedUnread,
      retentionDays: settings.retentionDays)
  }

  func marker(_ mark: Mark, of user: Party, _ naming: ParticipantNaming) -> MarkerBody {
    MarkerBody(
      dialogId: id(mark.dialog), userId: naming.id(user), delivered: id(mark.delivered), read: id(mark.displayed))
  }

  // MARK: Messages

  /// Returns a message; `nil` if no app shows the entry.
  func message(_ entry: Entry, _ naming: ParticipantNaming) -> MessageBody? {
    if case .room(let change) = entry.fact { return notice(entry, change, naming) }
    guard case .message(let message) = entry.fact, message.sequence > 0,
      let (content, metadata) = content(message.content, entry.state)
    else { return nil }
    var body = MessageBody(
      id: entry.id.description, seq: message.sequence, dialogId: id(entry.dialog), senderId: naming.id(entry.author),
      clientId: message.traits.contains(.fromApp) || showsStanzaIDs ? message.envelope.id : nil,
      sentAt: entry.time, content: content, metadata: metadata)
    if entry.room != nil { body.senderNick = message.envelope.fromResource }
    if let reference = message.reference, reference.kind == .reply, entry.state?.retraction == nil {
      body.replyTo = reference.targetID.description
    }
    body.mentions = mentions(entry.mentions, naming)
    if let forwarded = message.forwarded, entry.state?.retraction == nil {
      body.forwardedFrom = ForwardedFromBody(
        senderId: forwarded.author.flatMap { naming.knows($0) ? $0.name : nil }, sentAt: forwarded.at)
    }
    if let state = entry.state {
      body.editedAt = state.editedAt
      body.deletedAt = state.retraction?.at
      body.deletedBy = state.retraction.map { naming.id($0.by) }
      body.reactions = reactions(state.reactions, naming)
      body.pinnedAt = state.pin?.at
      body.pinnedBy = state.pin.map { naming.id($0.by) }
      body.version = state.revision
      body.delivery = state.delivery.map { DeliveryBody($0) }
    }
    return body
  }

  private func mentions(_ mentions: [Mention], _ naming: ParticipantNaming) -> [MentionBody]? {
    if mentions.isEmpty { return nil }
    return mentions.map {
      MentionBody(userId: naming.id($0.party), begin: $0.place?.lowerBound, end: $0.place?.upperBound)
    }
  }

  /// Groups reactions by emoji; the core has them by user.
  private func reactions(_ reactions: [MessageState.Reaction], _ naming: ParticipantNaming) -> ReactionsBody? {
    if reactions.isEmpty { return nil }
    var lines: [ReactionsBody.Line] = []
    var places: [String: Int] = [:]
    for reaction in reactions {
      let id = naming.id(reaction.user)
      for emoji in reaction.emoji {
        if let place = places[emoji] {
          lines[place].userIds.append(id)
        } else {
          places[emoji] = lines.count
          lines.append(ReactionsBody.Line(emoji: emoji, userIds: [id]))
        }
      }
    }
    return ReactionsBody(lines: lines)
  }

  func content(_ content: Content, _ state: MessageState?) -> (ContentBody, metadata: RawObject?)? {
    // A live retraction still has the original content, which must not be sent.
    if let retraction = state?.retraction { return (deleted(retraction), nil) }
    guard let kind = content.kind.wire else { return nil }
    var metadata: RawObject?
    var fields = RawObject.empty
    if let stored = content.fields {
      (fields, metadata) = StoredFields.split(RawObject(trusted: stored))
    }
    if content.kind.isFile {
      var writer = JSONWriter()
      writer.beginObject()
      writer.name("attachments")
      writer.beginArray()
      for file in content.attachments { attachment(file).write(to: &writer) }
      writer.endArray()
      if let waveform = fields.value["waveform"] {
        writer.name("waveform")
        writer.value(waveform)
      }
      writer.endObject()
      fields = RawObject(trusted: writer.text)
    }
    return (ContentBody(type: kind.rawValue, text: state?.text ?? content.text, fields: fields), metadata)
  }

  private func deleted(_ retraction: MessageState.Retraction) -> ContentBody {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("reason", retraction.reason)
    writer.endObject()
    return ContentBody(
      type: ContentBody.Kind.deleted.rawValue, text: "This message was deleted.",
      fields: RawObject(trusted: writer.text))
  }
}

/// Joins a message's own fields and its metadata in the core's one column: `metadata` is a reserved member among the
/// fields.
enum StoredFields {
  static func join(_ fields: RawObject, _ metadata: RawObject?) -> String? {
    if fields.isEmpty && metadata == nil { return nil }
    var writer = JSONWriter()
    writer.beginObject()
    writer.members(of: fields)
    writer.member("metadata", metadata)
    writer.endObject()
    return writer.text
  }

  static func split(_ stored: RawObject) -> (fields: RawObject, metadata: RawObject?) {
    guard case .object(let members) = stored.value else { return (.empty, nil) }
    let metadata = members.first { $0.name == "metadata" }.flatMap { RawObject($0.value) }
    let fields = RawObject(.object(members.filter { $0.name != "metadata" })) ?? .empty
    return (fields, metadata)
  }
}

extension Content.Kind {
  var wire: ContentBody.Kind? {
    switch self {
    case .none, .invitation: nil
    case .text: .text
    case .encrypted: .encrypted
    case .custom: .custom
    case .location: .location
    case .contact: .contact
    case .sticker: .sticker
    case .image: .image
    case .video: .video
    case .audio: .audio
    case .file: .file
    case .system: .system
    case .call: .call
    }
  }
}

extension DeliveryBody {
  init(_ delivery: MessageState.Delivery) {
    switch delivery {
    case .queued: self.init(state: .queued)
    case .failed(let failure): self.init(state: .failed, code: failure.condition, text: failure.text)
    }
  }
}

extension Visibility {
  var wire: String {
    switch self {
    case .nobody: "nobody"
    case .contacts: "contacts"
    case .everybody: "everybody"
    }
  }
}

extension UserSettings {
  /// Returns the version that the user still has to accept.
  func requiring(_ version: String?) -> String? { terms?.version == version ? nil : version }
}

extension Presence.Availability {
  var wire: PresenceBody.Availability {
    switch self {
    case .online: .online
    case .chat: .chat
    case .away: .away
    case .extendedAway: .extendedAway
    case .doNotDisturb: .doNotDisturb
    case .offline: .offline
    }
  }

  init(_ wire: PresenceBody.Availability) {
    self =
      switch wire {
      case .online: .online
      case .chat: .chat
      case .away: .away
      case .extendedAway: .extendedAway
      case .doNotDisturb: .doNotDisturb
      case .offline: .offline
      }
  }
}

extension Subscription {
  /// The nine states of RFC 6121 A.1 for apps; the table is in `docs/app-protocol.md`. A request that waits for the
  /// user's answer comes first, as an app must show it.
  var wireState: ContactBody.State {
    if from && to { return .mutual }
    if pendingIn { return .pendingIn }
    if pendingOut { return .pendingOut }
    if to { return .following }
    if from { return .followedBy }
    return .none
  }
}
