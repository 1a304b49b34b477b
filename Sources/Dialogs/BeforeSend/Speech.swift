import Addresses
import Basics

/// A message that an intent sends to others in its author's name. `Intent.speech` is the one place that finds it: the
/// question to the backend is made of it, and so is the intent that the backend has changed.
struct Speech: Sendable {
  /// Those to whom it is said.
  enum Place: Sendable {
    case user(BareJID)
    case room(RoomReference)
    /// A dialog of either kind.
    case dialog(DialogID)
    /// The dialog of a scheduled message of the author's.
    case scheduled(Int64)
  }

  private(set) var place: Place
  /// The dialog of the place, if it exists; `nil` until the store has been read.
  private(set) var dialog: DialogID?
  /// The content as it is stored or relayed. A forward has none.
  private(set) var content: Content
  /// The content with all that XMPP clients show of `content.extras`; `nil` if they have not been read, or have nothing to show.
  private(set) var read: Content?
  private(set) var mentions: [MentionDraft]
  private(set) var forward: ForwardDraft?
  private(set) var reference: ReferenceDraft?
  /// The author's id of the message.
  private(set) var id: String?
  /// Whether it was sent by the app protocol, otherwise by XMPP.
  let isFromApp: Bool
  /// The time at which a scheduled message is due; `nil` for others.
  private(set) var due: Timestamp?
  private let makeIntent: @Sendable (Speech) -> Intent

  fileprivate init(
    to place: Place, _ content: Content, mentions: [MentionDraft] = [], forward: ForwardDraft? = nil,
    reference: ReferenceDraft? = nil, id: String? = nil, isFromApp: Bool, due: Timestamp? = nil,
    makeIntent: @escaping @Sendable (Speech) -> Intent
  ) {
    self.place = place
    self.content = content
    self.mentions = mentions
    self.forward = forward
    self.reference = reference
    self.id = id
    self.isFromApp = isFromApp
    self.due = due
    self.makeIntent = makeIntent
  }

  /// The intent with this content, these mentions and this forward.
  var intent: Intent { makeIntent(self) }

  /// The content as its receivers get it; `nil` if people are shown nothing, as of a reaction, and for a forward whose message
  /// has not been found.
  var shown: Content? {
    if let forward {
      if case .asked(let content, _) = forward.source { return content }
      return nil
    }
    return read ?? (content.kind == .none ? nil : content)
  }

  /// Reads what XMPP clients show. It may be more than apps are shown, such as bodies in other languages.
  mutating func readExtras(_ rewriting: any ContentRewriting) {
    guard forward == nil, content.kind != .encrypted, !content.extras.isEmpty else { return }
    read = rewriting.shown(content)
  }

  /// Replaces the text. The places of mentions, which belong to the old text, are removed.
  mutating func change(to text: String, _ rewriting: any ContentRewriting) {
    mentions = mentions.map { MentionDraft(address: $0.address, begin: nil, end: nil) }
    if case .asked(let content, _)? = forward?.source {
      forward?.source = .asked(content, saying: text)
      return
    }
    if content.kind != .none { content.text = text }
    if !content.extras.isEmpty { content.extras = rewriting.extras(content.extras, saying: text) }
  }

  /// Returns the same with what only the store knows, by one read: the dialog and its users, and the content of the message to forward.
  /// The committer checks again whether the author may forward the message, and write there, and refuses the forward if the message is
  /// another by then.
  func found(for author: Party, in parley: Parley) async -> Speech {
    let position = forward.flatMap { parley.position(of: $0.message, in: author.realm) }
    do throws(Problem) {
      return try await parley.read { reader -> Speech in
        var found = try self.placed(for: author, reader)
        if let forward = self.forward {
          let content = try forward.content(at: position, for: author, reader)
          found.forward?.source = .asked(content, saying: nil)
        }
        return found
      }
    } catch {
      // Without its dialog a text is asked about all the same.
      var found = self
      found.forward?.source = .refused(error)
      return found
    }
  }

  /// Returns the same with the dialog, if it exists already, and with the other user of a private dialog or the address of a room.
  private func placed(for author: Party, _ reader: any StoreReader) throws -> Speech {
    // The posts of users elsewhere have a provisional id, and the store has another.
    let author =
      try author.isProvisional ? reader.user(author.address, seenFrom: author.realm)?.party ?? author : author
    var found = self
    switch place {
    case .user(let address):
      if let peer = try reader.user(address, seenFrom: author.realm) {
        found.dialog = try reader.dialog(between: author.id, and: peer.id)?.id
      }
    case .room(.address(let address)):
      if let room = try reader.room(at: address), !room.isDestroyed { found.dialog = room.name.dialog }
    case .room(.dialog(let id)), .dialog(let id):
      found.dialog = id
      if let dialog = try reader.dialog(id) {
        if let peer = PrivateDialog(dialog).access(for: author.id)?.peer { found.place = .user(peer.address) }
      } else if let room = try reader.roomName(id) {
        found.place = .room(.address(room.address))
      }
    case .scheduled(let id):
      guard let message = try reader.scheduled(id, of: author.id) else { break }
      found.place = .dialog(message.dialog)
      found.reference = message.replyTo.map { ReferenceDraft(kind: .reply, target: .entry($0)) }
      found.id = message.key.id
      found.due = due ?? message.due
      return try found.placed(for: author, reader)
    }
    return found
  }
}

extension Intent {
  /// Returns the message that the intent sends to others in its author's name; `nil` for an intent that sends none.
  ///
  /// The rule: it is what receivers are shown as a message of the author's, stored or only relayed, now or later. An edit and a
  /// reply are messages with a reference. The following is none, although it may have texts: names, topics and avatars of rooms, and
  /// reasons of invitations, kicks, bans and retractions, which clients show as notices; profiles, presence and contact requests;
  /// reactions, pins, markers and calls; drafts, which nobody else sees; items of nodes; custom events, which apps interpret.
  /// Imports, work and announcements are the operator's.
  var speech: Speech? {
    switch self {
    case .message(let draft): return draft.speech { .message($0) }
    case .call(let intent):
      switch intent {
      // It is an ordinary message if there is no such call, and its stanza is relayed whole if there is one.
      case .said(let stanza):
        return stanza.message.speech { message in
          var stanza = stanza
          stanza.message = message
          return .call(.said(stanza))
        }
      case .start, .move, .signal, .negotiation, .expire: return nil
      }
    // A stanza with a body is a message, and no marker.
    case .marker: return nil
    // Asked about when it is stored: its author is answered then, and what is stored is what will be sent.
    case .scheduledMessage(let intent):
      switch intent {
      case .schedule(let draft):
        return Speech(
          to: .dialog(draft.dialog), draft.content, mentions: draft.mentions,
          reference: draft.replyTo.map { ReferenceDraft(kind: .reply, target: .entry($0)) }, id: draft.key.id,
          isFromApp: true, due: draft.due
        ) { speech in
          var draft = draft
          draft.content = speech.content
          draft.mentions = speech.mentions
          return .scheduledMessage(.schedule(draft))
        }
      case .reschedule(let id, let due, let content):
        // Another time is no other text.
        guard let content else { return nil }
        return Speech(to: .scheduled(id), content, isFromApp: true, due: due) {
          .scheduledMessage(.reschedule(id, due: due, content: $0.content))
        }
      case .cancel, .send: return nil
      }
    case .room(let intent): return intent.speech
    case .signal(let signal, let target):
      switch signal {
      // What rooms elsewhere send to their occupants: their servers decide about it, and only they know the author.
      case .stanza(let stanza) where stanza.from.realm.isRemote && stanza.name == .message(.groupchat): return nil
      case .stanza(let stanza):
        return stanza.speech(to: .user(stanza.to)) { .signal(.stanza($0), to: target) }
      case .presence, .shown, .probes, .profile, .contactNamed, .occupant, .notice, .node, .announcement, .call,
        .undelivered, .closed:
        return nil
      }
    case .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .block, .report, .unblock,
      .profile, .remoteProfile, .openDialog, .settings, .perUser, .draft, .node, .visit, .archivePreferences,
      .setPrivateXML, .blob, .push, .goOnline, .handOver, .outbox, .confirm, .leave, .endTyping, .imported, .refused,
      .erase, .work:
      return nil
    }
  }
}

extension RoomIntent {
  fileprivate var speech: Speech? {
    switch self {
    case .say(let room, let draft): draft.speech(in: room) { .say(room, $0) }
    case .whisper(let room, let nick, let draft): draft.speech(in: room) { .whisper(room, nick: nick, $0) }
    case .signal(let room, let stanza): stanza.speech(to: .room(room)) { .room(.signal(room, $0)) }
    case .pass(let room, let nick, let stanza, let isQuestion):
      stanza.speech(to: .room(room)) { .room(.pass(room, nick: nick, $0, isQuestion: isQuestion)) }
    case .create, .introduce, .enter, .show, .probe, .exit, .face, .marker, .members, .roles, .configure, .prepare,
      .abandon, .topic, .invite, .decline, .askForVoice, .register, .destroy, .expelOutsiders, .endMembers, .endEmpty,
      .removeContent, .readNicks, .occupants, .place, .headcounts, .come, .vacate, .lose:
      nil
    }
  }
}

extension MessageDraft {
  fileprivate func speech(_ intent: @escaping @Sendable (MessageDraft) -> Intent) -> Speech {
    Speech(
      to: .user(to), content, mentions: mentions, forward: forward, reference: reference, id: envelope.id,
      isFromApp: traits.contains(.fromApp)
    ) { speech in
      var draft = self
      draft.content = speech.content
      draft.mentions = speech.mentions
      draft.forward = speech.forward
      return intent(draft)
    }
  }
}

extension RoomMessageDraft {
  fileprivate func speech(
    in room: RoomReference, _ intent: @escaping @Sendable (RoomMessageDraft) -> RoomIntent
  ) -> Speech {
    Speech(
      to: .room(room), content, mentions: mentions, forward: forward, reference: reference, id: envelope.id,
      isFromApp: traits.contains(.fromApp)
    ) { speech in
      var draft = self
      draft.content = speech.content
      draft.mentions = speech.mentions
      draft.forward = speech.forward
      return .room(intent(draft))
    }
  }
}

extension RelayedStanza {
  /// Returns what a relayed message says; `nil` for other stanzas, and for errors, which return what was said before.
  fileprivate func speech(to place: Speech.Place, _ intent: @escaping @Sendable (RelayedStanza) -> Intent) -> Speech? {
    switch name {
    case .message(.error), .iq, .presence: return nil
    case .message: break
    }
    return Speech(to: place, Content(kind: .none, extras: extras), id: id, isFromApp: false) {
      intent(self.with(extras: $0.content.extras))
    }
  }
}
