import Addresses

// The settings of dialogs. Theory:
//
// The settings are a small value in the user's row of the dialog. Pushes and apps read them only there. XMPP clients
// write some of them in a bookmark (XEP-0402): the notifications (XEP-0492), and what is pinned (XEP-0469). A written
// bookmark changes the settings; changed settings are written into the bookmark, if there is one.
//
// No bookmark is created for that: clients enter the rooms that have one, and would show a chat with a user as a room.
// So the settings of direct chats are synchronized with a bookmark only if a client has created one under that address,
// as XEP-0492 does not define another place. A new bookmark without settings takes up the stored ones; one that is
// older than the dialog is read when the dialog begins.
extension Judge {
  mutating func settings(
    _ post: Post, of dialog: DialogID, _ draft: DialogSettingsDraft
  ) throws {
    let user = post.author
    // Marks and rows of a batch are written late, settings at once.
    guard let was = try writer.settings(of: user.id, in: dialog), let chat = try chat(dialog, of: user) else {
      throw try writer.roomName(dialog) == nil ? Problem.dialogUnknown : Problem.roomUnknown
    }
    let displayed = try displayed(by: user, in: dialog, chat)
    var settings = was
    if let alerts = draft.alerts { settings.alerts = alerts }
    if let until = draft.mutedUntil { settings.mutedUntil = until.flatMap { time < $0 ? $0 : nil } }
    if let isPinned = draft.isPinned { settings.isPinned = isPinned }
    if let isArchived = draft.isArchived { settings.isArchived = isArchived }
    if let isUnread = draft.isMarkedUnread { settings.unreadAt = isUnread ? displayed : nil }
    if let days = draft.retentionDays {
      try check(days: days, was: was.retentionDays, in: user.realm, isRoom: writer.roomName(dialog) != nil)
      settings.retentionDays = days
    }
    // The mark stays for a moment in a room that is ending, whose last entry is the notice of that.
    if settings.isPinned, !was.isPinned, let state = try lookUp(.dialog(dialog), for: user), !state.room.isDestroyed {
      try keep(state, by: post)
    }

    let item = try writer.item(chat.description, in: Bookmark.node, of: user.id)
    if case .bookmark(var bookmark)? = item?.content, var node = try writer.node(Bookmark.node, of: user.id) {
      let before = bookmark
      if settings.alerts != was.alerts { bookmark.notifications.set(settings.alerts, for: .phone) }
      bookmark.isPinned = settings.isPinned
      // Details unknown to the server may keep a rule that should be removed.
      settings.alerts = bookmark.notifications.alerts(for: .phone)
      let entry = try change(was, to: settings, displayed: displayed, in: dialog, of: user, by: post)
      if bookmark != before {
        // The user can set this in no other way, so the bounds of the list do not apply.
        try put(
          NodePublication.Item(id: chat.description, content: .bookmark(bookmark)), in: &node, of: user, isMirror: true)
      }
      return settle(post, receipt(entry, dialog, settings, displayed: displayed))
    }
    let entry = try change(was, to: settings, displayed: displayed, in: dialog, of: user, by: post)
    settle(post, receipt(entry, dialog, settings, displayed: displayed))
  }

  private func receipt(
    _ entry: Entry?, _ dialog: DialogID, _ settings: DialogSettings, displayed: Position
  ) -> Receipt {
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.isRepeat = entry == nil
    receipt.value = DialogSettingsChange(
      dialog: dialog, settings: settings, isMarkedUnread: settings.isMarkedUnread(displayed: displayed))
    return receipt
  }

  /// Stores changed settings. Returns their entry; `nil` if they are equal, and nothing is written.
  ///
  /// - Parameter post: the post; `nil` if the user changed a bookmark.
  @discardableResult
  private mutating func change(
    _ was: DialogSettings, to settings: DialogSettings, displayed: Position, in dialog: DialogID, of user: Party,
    by post: Post? = nil
  ) throws -> Entry? {
    if settings == was { return nil }
    // The log contains only the last change, as with items of nodes.
    if was.position > .zero {
      try writer.erase(was.position, in: self.dialog(of: user, and: user).state.dialog.id)
    }
    var told = settings
    told.position = .zero
    let entry = try insertOwn(
      .settings(
        DialogSettingsChange(
          dialog: dialog, settings: told, isMarkedUnread: settings.isMarkedUnread(displayed: displayed))), of: user,
      at: nextPosition())
    told.position = entry.position
    try writer.put(told, of: user.id, in: dialog)
    owedPushes.settingsChanged(of: user.id, in: dialog)
    tell(.entry(entry, author: post.flatMap { session(of: $0) }))
    if try writer.roomName(dialog) != nil { tell(.alerts(user.id, dialog, .member(told.alerts))) }
    return entry
  }

  // MARK: Bookmarks

  /// Adds the stored settings to a new bookmark that contains none.
  mutating func adopting(_ bookmark: Bookmark, of owner: Party) throws -> Bookmark {
    guard let dialog = try dialog(at: bookmark.address, of: owner),
      let settings = try writer.settings(of: owner.id, in: dialog)
    else { return bookmark }
    var bookmark = bookmark
    if bookmark.notifications.isEmpty, let alerts = settings.alerts { bookmark.notifications.set(alerts, for: .phone) }
    bookmark.isPinned = bookmark.isPinned || settings.isPinned
    return bookmark
  }

  /// Updates the settings after a bookmark was written.
  mutating func follow(_ bookmark: Bookmark, of owner: Party) throws {
    guard let dialog = try dialog(at: bookmark.address, of: owner),
      let was = try writer.settings(of: owner.id, in: dialog)
    else { return }
    let displayed = try displayed(by: owner, in: dialog, bookmark.address)
    try change(was, to: was.following(bookmark), displayed: displayed, in: dialog, of: owner)
  }

  /// Returns the initial settings of a user's new dialog, which may have been bookmarked before.
  @discardableResult
  func begin(_ dialog: DialogID, at chat: BareJID, for user: Party) throws -> DialogSettings {
    guard !user.realm.isRemote,
      case .bookmark(let bookmark)? = try writer.item(chat.description, in: Bookmark.node, of: user.id)?.content
    else { return DialogSettings() }
    let settings = DialogSettings().following(bookmark)
    if settings != DialogSettings() { try writer.put(settings, of: user.id, in: dialog) }
    return settings
  }

  /// Returns the user's dialog or room; `nil` if there is none at this address.
  private mutating func dialog(at chat: BareJID, of user: Party) throws -> DialogID? {
    if let peer = try self.user(chat, seenFrom: user.realm)?.party {
      return try writer.dialog(between: user.id, and: peer.id)?.id
    }
    guard let room = try lookUp(.address(chat), for: user)?.room, !room.isDestroyed else { return nil }
    return room.id
  }

  private func chat(_ dialog: DialogID, of user: Party) throws -> BareJID? {
    if let known = try writer.dialog(dialog) { return known.peer(of: user.id).address }
    return try writer.roomName(dialog)?.address
  }

  /// Returns how far the user has read, after the previous posts of the batch.
  private mutating func displayed(
    by user: Party, in dialog: DialogID, _ chat: BareJID
  ) throws -> Position {
    if let peer = try self.user(chat, seenFrom: user.realm)?.party {
      return try self.dialog(of: user, and: peer).state.mark(of: user.id).displayed
    }
    guard let state = try lookUp(.dialog(dialog), for: user) else { return .zero }
    return try mark(of: user.id, in: state)?.displayed ?? .zero
  }
}

extension DialogSettings {
  /// The settings with those of a bookmark.
  fileprivate func following(_ bookmark: Bookmark) -> DialogSettings {
    var settings = self
    settings.alerts = bookmark.notifications.alerts(for: .phone)
    settings.isPinned = bookmark.isPinned
    return settings
  }
}

extension Problem {
  public static let dialogUnknown = Problem(
    .missing, "dialog-unknown", "There is no such dialog, or you are not in it.", field: "dialogId")
}
