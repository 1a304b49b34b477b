import Addresses

/// Bookmarks: the whole list at once, and those the server writes. What they are
/// and why they are typed: `Bookmark`.
extension Judge {
  // MARK: The list

  /// XEP-0402 5.3.2: what is not in the list any more goes, what is unchanged
  /// is not told of.
  mutating func setBookmarks(_ post: Post, _ draft: BookmarksDraft, _ writer: any StoreWriter) throws {
    let owner = post.author
    let known = try writer.node(Bookmark.node, of: owner.id)
    var node = try known ?? newNode(Bookmark.node, of: owner, [], writer)
    let old = try bookmarks(of: owner, writer)
    var kept: [String: Bookmark] = [:]
    for item in old { if case .bookmark(let bookmark) = item.content { kept[item.id] = bookmark } }
    var wanted: [Bookmark] = []
    var named: Set<BareJID> = []
    var growth = 0
    for var bookmark in draft.bookmarks where named.insert(bookmark.address).inserted {
      let was = kept[bookmark.address.description]
      if let was {
        (bookmark.notifications, bookmark.isPinned) = (was.notifications, was.isPinned)
        bookmark.extensions = was.extensions
      }
      if bookmark.byteCount > Limits.itemBytesMax { throw Problem.payloadTooBig }
      if bookmark == was { continue }
      // What others free is not counted: none is refused when some have been written.
      growth += max(0, bookmark.byteCount - (was?.byteCount ?? 0))
      wanted.append(bookmark)
    }
    let gone = old.filter { item in !named.contains { $0.description == item.id } }
    // All is checked before anything is written.
    guard named.count <= node.configuration.capacity else { throw Problem.nodeFull }
    if let others = draft.others, others.count > Limits.itemBytesMax { throw Problem.payloadTooBig }
    if growth > 0, try writer.published(by: owner.id).bytes + growth > Limits.publishedBytesMax {
      throw Problem.publishedTooMuch
    }

    if let others = draft.others {
      try writer.setVault(owner.id, node: Vault.bookmarks, item: Vault.bytes, others.isEmpty ? nil : others)
    }
    if known == nil { try writer.put(node) }
    isGathering = true
    defer { isGathering = false }
    for item in gone { try remove(item, from: &node, of: owner, notifies: true, writer) }
    for bookmark in wanted {
      try put(
        NodePublication.Item(id: bookmark.address.description, content: .bookmark(bookmark)), in: &node, of: owner,
        writer)
    }
    isGathering = false
    try tellBookmarks(of: owner, writer)
    var receipt = Receipt(position: head)
    receipt.isRepeat = gone.isEmpty && wanted.isEmpty && draft.others == nil
    settle(post, receipt)
  }

  private func bookmarks(of owner: Party, _ writer: any StoreWriter) throws -> [NodeItem] {
    try writer.items(in: Bookmark.node, of: owner.id, newest: true, limit: Limits.itemsPerNodeMax)
  }

  /// The list as a whole, for those of the owner's clients that know no items.
  mutating func tellBookmarks(of owner: Party, _ writer: any StoreWriter) throws {
    guard !isGathering, hub.isAnyInterested(in: Bookmark.listNode, of: owner.id) else { return }
    let none = NodeItem(id: Bookmark.listItem, content: .bookmarks([], others: []), position: head, time: time)
    let list = try Bookmark.list(of: owner.id, writer) ?? none
    tell(
      .node(
        NodeEvent(
          owner: owner, node: Bookmark.listNode, kind: .published(list), configuration: Bookmark.listConfiguration),
        nil))
  }

  // MARK: What the server writes

  /// Somebody becomes a member of a room without a client that is in it: their
  /// clients enter it, now and when they come. What they have written in a bookmark
  /// of it stays. That is the only time: whoever takes the bookmark away later, or
  /// `autojoin` out of it, keeps it so, and a room that is renamed has the name that
  /// the bookmark got (XEP-0402 3: it is the user's).
  ///
  /// - Returns: whether clients that follow bookmarks are told.
  mutating func bookmark(_ room: Room, for party: Party, nick: String?, _ writer: any StoreWriter) throws -> Bool {
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
    // Without it the room would not let them in (XEP-0045 7.2.5).
    bookmark.password = room.settings.password ?? bookmark.password
    if bookmark == was { return false }
    do {
      var node = try known ?? newNode(Bookmark.node, of: party, [], writer)
      try put(NodePublication.Item(id: id, content: .bookmark(bookmark)), in: &node, of: party, writer)
      return node.configuration.notifies
    } catch is Problem {
      // Their list is full. Nothing was written; they are a member all the same,
      // and are invited.
      return false
    }
  }

  /// They are a member no more, or there is no room any more.
  mutating func unbookmark(_ room: Room, for party: Party, _ writer: any StoreWriter) throws {
    guard let item = try writer.item(room.address.description, in: Bookmark.node, of: party.id),
      var node = try writer.node(Bookmark.node, of: party.id)
    else { return }
    try remove(item, from: &node, of: party, notifies: true, writer)
  }

  /// The room is gone: so are the bookmarks of those who were its members, of
  /// `Limits.memberChangesMax` of them in this post and of the others in later ones.
  mutating func unbookmarkAll(
    of room: Room, after: UserID?, _ post: Post, _ writer: any StoreWriter
  ) throws {
    let members = try writer.members(
      of: room.id, among: [.watcher, .member, .admin, .owner], after: after, limit: Limits.memberChangesMax)
    for member in members { try unbookmark(room, for: member.party, writer) }
    guard members.count == Limits.memberChangesMax, let last = members.last else { return }
    tell(
      .later(
        Post(
          author: post.author, intent: .room(.unbookmark(.dialog(room.id), after: last.party.id)), completion: .none)))
  }

  mutating func unbookmark(
    _ post: Post, _ reference: RoomReference, after: UserID, _ writer: any StoreWriter
  ) throws {
    if let state = try lookUp(reference, for: post.author, writer), state.room.isDestroyed {
      try unbookmarkAll(of: state.room, after: after, post, writer)
    }
    settle(post)
  }

  // MARK: What users take away

  /// A user has taken the bookmark of a room away, item by item: they leave a public
  /// dialog, which they can join again. Membership of a closed one stays, for they
  /// could not come back by themselves, and so do owners and admins, who look after it.
  ///
  /// A list without it (XEP-0048) does not say so much: clients that know only the
  /// list write what they have read, and may not have seen the bookmark at all.
  mutating func unbookmarked(_ id: String, by post: Post, _ writer: any StoreWriter) throws {
    guard let address = try? BareJID(id), let state = try lookUp(.address(address), for: post.author, writer),
      !state.room.isDestroyed, !state.room.settings.isMembersOnly,
      let was = try member(post.author.id, in: state, writer), was.affiliation.isMember, was.affiliation < .admin
    else { return }
    try apply(
      MemberDraft(address: post.author.address, affiliation: Affiliation.none), to: post.author, was: was, by: post,
      in: state, writer)
  }
}

extension Bookmark {
  /// Of the view: what clients of XEP-0048 expect of its node (3.1).
  public static let listConfiguration: NodeConfiguration = {
    var configuration = NodeConfiguration()
    configuration.access = .whitelist
    return configuration
  }()

  /// The id of the view's one item (XEP-0048 3.1).
  public static let listItem = "current"

  /// All bookmarks as one item; nil: there never was one.
  public static func list(of owner: UserID, _ reader: any StoreReader) throws -> NodeItem? {
    let others = try reader.vault(owner, node: Vault.bookmarks, item: Vault.bytes)
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
