/// How what a post stores counts for the bytes of its author's day (`StoredBytes`).
enum StoredContent {
  /// It does not: it is a message, which `Judge.stores` counts by its `Reference.Kind`; it leaves nothing; it replaces something that
  /// has a bound of its own; or an operator or the server stores it.
  case uncounted
  /// As messages do: it is refused when its author may store no more today.
  case counted
  /// As what its author must still be able to do then: to remove something, to be protected from others, to moderate a
  /// room, and what replaces its former state in the log. It is refused at twice the bound.
  case needed
}

extension Intent {
  var storedContent: StoredContent {
    switch self {
    case .message, .link, .contactGroup, .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver,
      .outbox, .signal, .confirm, .leave, .endTyping, .imported, .refused, .erase, .work, .scheduledMessage(.send):
      .uncounted
    case .call(let intent): intent.storedContent
    // Such as who may write to the user: the log has none of it.
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
      // How far the user has read (XEP-0490).
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

  /// Whether it only takes texts and the picture away from what others are shown.
  fileprivate var removesAlone: Bool {
    let texts = [displayName, fullName, status, metadata, avatarURL]
    return texts.allSatisfy { ($0.flatMap { $0 } ?? "").isEmpty } && avatar.flatMap { $0 } == nil && vCard == nil
  }
}

extension CallIntent {
  fileprivate var storedContent: StoredContent {
    switch self {
    // A call that rings can be answered and ended. `Judge.ring` counts a new one as a message, behind repeats.
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
    // A picture takes as many bytes as a hundred bans, and protects nobody.
    case .configure(_, let draft) where draft.avatar.flatMap({ $0 }) != nil: .counted
    // An owner closes a room that is flooded, or makes it moderated. A member who enters by another nick changes the one
    // that is reserved for them.
    case .configure, .members, .roles, .destroy, .enter, .decline: .needed
    // A member has one mark, which contains nothing of the stanza.
    case .introduce, .show, .probe, .exit, .say, .signal, .whisper, .pass, .face, .marker, .prepare, .abandon,
      .askForVoice, .expelOutsiders, .endMembers, .endEmpty, .removeContent, .occupants, .place, .headcounts, .vacate,
      .lose, .readNicks, .come:
      .uncounted
    }
  }
}

extension Reference.Kind {
  /// How a message that refers to an earlier one so counts.
  var storedContent: StoredContent {
    switch self {
    case .retraction, .moderation: .needed
    case .reactions(let emoji): emoji.isEmpty ? .needed : .counted
    case .pin(let isPinned): isPinned ? .counted : .needed
    case .reply, .correction, .part: .counted
    }
  }
}
