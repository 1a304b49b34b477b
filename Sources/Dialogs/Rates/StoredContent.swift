/// How the content of a post counts for its author's bytes of the day (`StoredBytes`).
enum StoredContent {
  /// It does not count here: it is a message, which `Judge.stores` counts by its `Reference.Kind`; it stores nothing; it replaces
  /// content with a bound of its own; or an operator or the server stores it.
  case uncounted
  /// It counts, and is refused when its author has reached the limit of the day.
  case counted
  /// It counts, but is refused only at twice the limit, since its author must still be able to do it: to remove content, to
  /// be protected from others, to moderate a room, or to replace a former state in the log.
  case needed
}

extension Intent {
  var storedContent: StoredContent {
    switch self {
    case .message, .link, .contactGroup, .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver,
      .outbox, .signal, .confirm, .leave, .endTyping, .imported, .refused, .erase, .work, .scheduledMessage(.send):
      .uncounted
    case .call(let intent): intent.storedContent
    // Settings, such as who may write to the user, are not in the log.
    case .profile(let draft) where draft.hasSettingsAlone: .uncounted
    case .profile(let draft) where draft.removesAlone: .needed
    case .contact, .befriend, .redeem, .profile, .remoteProfile: .counted
    case .removeContact, .block, .unblock, .report, .openDialog, .marker, .settings, .perUser, .draft,
      .scheduledMessage:
      .needed
    case .subscription(let act, _, _):
      switch act {
      case .subscribe, .subscribed: .counted
      case .unsubscribe, .unsubscribed: .needed
      }
    case .node(let intent, _):
      switch intent {
      // The user's read position (XEP-0490).
      case .publish(let draft) where draft.node == Displayed.node: .needed
      case .publish, .bookmarks, .bookmarkChanges: .counted
      case .affiliate(_, let changes) where changes.values.contains(where: { $0 != nil && $0 != .outcast }): .counted
      case .retract, .purge, .delete, .create, .configure, .affiliate, .subscribers: .needed
      case .eraseEntries, .tellBookmarks: .uncounted
      }
    case .visit(let visit):
      switch visit.act {
      case .publish: .counted
      case .subscribe, .unsubscribe, .pause, .retract: .needed
      }
    case .room(let intent): intent.storedContent
    }
  }
}

extension ProfileDraft {
  fileprivate var hasSettingsAlone: Bool {
    displayName == nil && fullName == nil && status == nil && metadata == nil && avatarURL == nil && avatar == nil
      && vCard == nil
  }

  /// Whether the draft only removes texts and the picture.
  fileprivate var removesAlone: Bool {
    let texts = [displayName, fullName, status, metadata, avatarURL]
    return texts.allSatisfy { ($0.flatMap { $0 } ?? "").isEmpty } && avatar.flatMap { $0 } == nil && vCard == nil
  }
}

extension CallIntent {
  fileprivate var storedContent: StoredContent {
    switch self {
    // A ringing call can still be answered and ended. `Judge.ring` counts a new call as a message, after excluding repeats.
    case .start, .move, .said: .needed
    case .negotiation(let negotiation): if case .end = negotiation.act { .needed } else { .uncounted }
    case .signal, .expire: .uncounted
    }
  }
}

extension RoomIntent {
  fileprivate var storedContent: StoredContent {
    switch self {
    case .create, .topic, .invite, .register: .counted
    // A picture takes as many bytes as a hundred bans, and is not needed to moderate a room.
    case .configure(_, let draft) where draft.avatar.flatMap({ $0 }) != nil: .counted
    // An owner must be able to close a flooded room, or make it moderated. A member who enters by another nick changes
    // their reserved nick.
    case .configure, .members, .roles, .destroy, .enter, .decline: .needed
    // Among these, only `marker` stores anything: one mark for each member, without content of the stanza.
    case .introduce, .show, .probe, .exit, .say, .signal, .whisper, .pass, .face, .marker, .prepare, .abandon,
      .askForVoice, .expelOutsiders, .endMembers, .endEmpty, .removeContent, .occupants, .place, .headcounts, .vacate,
      .lose, .readNicks, .come:
      .uncounted
    }
  }
}

extension Reference.Kind {
  /// How a message with such a reference to an earlier one counts.
  var storedContent: StoredContent {
    switch self {
    case .retraction, .moderation: .needed
    case .reactions(let emoji): emoji.isEmpty ? .needed : .counted
    case .pin(let isPinned): isPinned ? .counted : .needed
    case .reply, .correction, .part: .counted
    }
  }
}
