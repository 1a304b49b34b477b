import Addresses
import Basics

/// Replaces the whole list of bookmarks, and writes those of the server. `Bookmark` explains why they are typed.
extension Judge {
  // MARK: The list

  /// Replaces the list (XEP-0402 5.3.2): bookmarks missing from it are removed, unchanged ones are not announced. A long list is
  /// compared in several posts (`leave`). The last of them writes `BookmarksDraft.changesMax` changes, the others are for further posts.
  mutating func setBookmarks(_ post: Post, _ draft: BookmarksDraft) throws {
    let owner = post.author
    let known = try writer.node(Bookmark.node, of: owner.id)
    var node = try known ?? newNode(Bookmark.node, of: owner, [])
    var comparison = post.begun?.comparison ?? BookmarkComparison(draft, end: head)
    // Everything is checked before anything is written, and by what is named alone: a list that is refused costs what it is charged.
    guard comparison.named.count <= node.capacity else { throw Problem.nodeFull }
    if let others = draft.others, others.count > Limits.itemBytesMax { throw Problem.payloadTooBig }
    for (id, wish) in comparison.left.prefix(draft.comparedAtOnce) {
      var bookmark = wish
      let item = try writer.item(id, in: Bookmark.node, of: owner.id)
      var was: Bookmark?
      if case .bookmark(let kept)? = item?.content {
        was = kept
        (bookmark.notifications, bookmark.isPinned) = (kept.notifications, kept.isPinned)
        bookmark.extensions = kept.extensions
      }
      if bookmark.byteCount > Limits.itemBytesMax { throw Problem.payloadTooBig }
      if bookmark == was { continue }
      // Space freed by others is not counted: none is refused after some have been written.
      comparison.growth += max(0, bookmark.byteCount - (was?.byteCount ?? 0))
      comparison.wanted.append(BookmarkChanges.Change(id: id, bookmark: bookmark, replaced: item?.position))
    }
    comparison.left = comparison.left.dropFirst(draft.comparedAtOnce)
    if !comparison.left.isEmpty {
      return leave(Post.Begun(left: post.intent, entry: nil, isSpread: false, comparison: comparison))
    }
    let (named, wanted, growth) = (comparison.named, comparison.wanted, comparison.growth)
    if growth > 0, try published(by: owner.id, creator: nil).bytes + growth > Limits.publishedBytesMax {
      throw Problem.publishedTooMuch
    }
    let old = try writer.itemIDs(in: Bookmark.node, of: owner.id)
    charge(rows: old.count)
    let gone = old.filter { !named.contains($0) }

    if let others = draft.others {
      try writer.setValue(of: owner.id, node: ValueKey.bookmarks, item: ValueKey.bytes, others.isEmpty ? nil : others)
    }
    if known == nil { try store(node) }
    let removals = gone.map { BookmarkChanges.Change(id: $0, bookmark: nil, replaced: nil) }
    let changes = BookmarkChanges(changes: (removals + wanted)[...], end: comparison.end, max: max(1, draft.changesMax))
    var receipt = Receipt(position: head)
    receipt.value = try write(changes, in: &node, of: owner)
    receipt.position = head
    receipt.isRepeat = gone.isEmpty && wanted.isEmpty && draft.others == nil
    settle(post, receipt)
  }

  /// Writes further changes of a list.
  mutating func changeBookmarks(_ post: Post, _ changes: BookmarkChanges) throws {
    var receipt = Receipt(position: head)
    // The node may have been deleted meanwhile.
    if var node = try writer.node(Bookmark.node, of: post.author.id) {
      receipt.value = try write(changes, in: &node, of: post.author)
    }
    receipt.position = head
    settle(post, receipt)
  }

  /// Writes as many changes as one post writes, and announces the list. Returns those that are left; `nil` for none.
  private mutating func write(
    _ changes: BookmarkChanges, in node: inout Node, of owner: Party
  ) throws -> BookmarkChanges? {
    isGathering = true
    defer { isGathering = false }
    for change in changes.changes.prefix(changes.max) {
      let item = try writer.item(change.id, in: node.name, of: owner.id)
      if let bookmark = change.bookmark {
        guard item?.position == change.replaced else { continue }
        try put(NodePublication.Item(id: change.id, content: .bookmark(bookmark)), in: &node, of: owner)
      } else if let item, item.position <= changes.end {
        try remove(item, from: &node, of: owner, notifies: true)
      }
    }
    isGathering = false
    try tellBookmarks(of: owner)
    var rest = changes
    rest.changes = changes.changes.dropFirst(changes.max)
    return rest.changes.isEmpty ? nil : rest
  }

  /// Announces the whole list to those of the owner's clients that know no items: a long one once a second, and one that is too long
  /// for a stanza not at all.
  mutating func tellBookmarks(of owner: Party) throws {
    guard !isGathering, hub.isAnyInterested(in: Bookmark.listNode, of: owner.id) else { return }
    let node = try writer.node(Bookmark.node, of: owner.id)
    let (count, bytes) = (node?.itemCount ?? 0, node?.byteCount ?? 0)
    if bytes > Limits.bookmarkListBytesMax { return }
    let isShort = count <= Limits.shortBookmarkListMax && bytes <= Limits.shortBookmarkListBytesMax
    guard isShort || hub.bookmarkLists.isDue(owner, now: now) else { return }
    try announceBookmarks(of: owner)
  }

  /// Announces a long list that has changed within the second since it was announced.
  mutating func tellBookmarks(_ post: Post) throws {
    if hub.isAnyInterested(in: Bookmark.listNode, of: post.author.id) { try announceBookmarks(of: post.author) }
    settle(post)
  }

  private mutating func announceBookmarks(of owner: Party) throws {
    let none = NodeItem(id: Bookmark.listItem, content: .bookmarks([], others: []), position: head, time: time)
    let list = try Bookmark.list(of: owner.id, writer) ?? none
    tell(
      .node(
        NodeEvent(
          owner: owner, node: Bookmark.listNode, kind: .published(list), configuration: Bookmark.listConfiguration),
        nil))
  }

  // MARK: Bookmarks by the server

  /// Bookmarks a room for a user who becomes a member without a client in it, so that their clients enter it, now and
  /// when they connect. An existing bookmark keeps what the user has written. This happens only once: if the user
  /// removes the bookmark later, or its `autojoin`, it stays so, and a renamed room keeps the bookmark's name (XEP-0402
  /// 3: it is the user's).
  ///
  /// - Returns: whether clients that follow bookmarks are told.
  mutating func bookmark(_ room: Room, for party: Party, nick: String?) throws -> Bool {
    // A remote user's bookmarks are at their own server.
    if party.realm.isRemote { return false }
    let known = try writer.node(Bookmark.node, of: party.id)
    let id = room.address.description
    var bookmark = Bookmark(address: room.address)
    if known != nil, case .bookmark(let kept)? = try writer.item(id, in: Bookmark.node, of: party.id)?.content {
      bookmark = kept
    }
    let was = bookmark
    bookmark.autojoins = true
    bookmark.name = bookmark.name ?? room.settings.name
    bookmark.nick = nick ?? bookmark.nick
    // The room's password is needed to enter it (XEP-0045 7.2.5).
    bookmark.password = room.settings.password ?? bookmark.password
    if bookmark == was { return false }
    do {
      var node = try known ?? newNode(Bookmark.node, of: party, [])
      try put(NodePublication.Item(id: id, content: .bookmark(bookmark)), in: &node, of: party)
      return node.configuration.notifies
    } catch is Problem {
      // The list is full. Nothing was written; the user is a member all the same, and is invited.
      return false
    }
  }

  /// Removes the bookmark of a user who is no longer a member, or of a destroyed room.
  mutating func unbookmark(_ room: Room, for party: Party) throws {
    guard let item = try writer.item(room.address.description, in: Bookmark.node, of: party.id),
      var node = try writer.node(Bookmark.node, of: party.id)
    else { return }
    try remove(item, from: &node, of: party, notifies: true)
  }

  // MARK: Bookmarks removed by users

  /// Leaves a public dialog whose bookmark the user has removed as an item, as they can join it again. Members of a
  /// closed room stay, for they could not come back by themselves, and so do owners and admins.
  ///
  /// A list without the bookmark (XEP-0048) has no such effect: clients that know only the list write back what they
  /// have read, and may not have seen the bookmark at all.
  mutating func unbookmarked(_ id: String, by post: Post) throws {
    guard let address = try? BareJID(id), let state = try lookUp(.address(address), for: post.author),
      !state.room.isDestroyed, !state.room.settings.isMembersOnly,
      let was = try member(post.author.id, in: state), was.affiliation.isMember, was.affiliation < .admin
    else { return }
    try apply(
      MemberDraft(address: post.author.address, affiliation: Affiliation.none), to: post.author, was: was, by: post,
      in: state)
  }
}

extension Bookmark {
  /// The configuration of the view, as XEP-0048 3.1 requires.
  public static let listConfiguration: NodeConfiguration = {
    var configuration = NodeConfiguration()
    configuration.access = .whitelist
    return configuration
  }()

  /// The id of the view's only item (XEP-0048 3.1).
  public static let listItem = "current"

  /// Returns all bookmarks as one item; `nil` if there never was one.
  public static func list(of owner: UserID, _ reader: any StoreReader) throws -> NodeItem? {
    let others = try reader.value(of: owner, node: ValueKey.bookmarks, item: ValueKey.bytes)
    guard try reader.node(node, of: owner) != nil || others != nil else { return nil }
    let items = try reader.items(in: node, of: owner, newest: true, limit: Limits.itemsPerNodeMax)
    let bookmarks = items.compactMap { item -> Bookmark? in
      guard case .bookmark(let bookmark) = item.content else { return nil }
      return bookmark
    }
    return NodeItem(
      id: listItem, content: .bookmarks(bookmarks, others: others ?? []), position: items.last?.position ?? .zero,
      time: items.last?.time ?? Timestamp(milliseconds: 0))
  }
}
