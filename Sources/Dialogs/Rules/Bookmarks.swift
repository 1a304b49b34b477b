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
      bookmark.extensions = was?.extensions ?? []
      if bookmark.byteCount > Limits.itemBytesMax { throw Problem.payloadTooBig }
      if bookmark == was { continue }
      growth += bookmark.byteCount - (was?.byteCount ?? 0)
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

  /// Somebody was made a member of a room by somebody else: their clients enter
  /// it, now and when they come. What they have written in a bookmark of it stays.
  mutating func bookmark(_ room: Room, for party: Party, nick: String?, _ writer: any StoreWriter) throws {
    let known = try writer.node(Bookmark.node, of: party.id)
    let id = room.address.description
    var bookmark = Bookmark(address: room.address)
    if known != nil, case .bookmark(let kept)? = try writer.item(id, in: Bookmark.node, of: party.id)?.content {
      bookmark = kept
    }
    let was = bookmark
    bookmark.autojoins = true
    bookmark.name = room.settings.name ?? bookmark.name
    bookmark.nick = nick ?? bookmark.nick
    // Without it the room would not let them in (XEP-0045 7.2.5).
    bookmark.password = room.settings.password ?? bookmark.password
    if bookmark == was { return }
    do {
      var node = try known ?? newNode(Bookmark.node, of: party, [], writer)
      try put(NodePublication.Item(id: id, content: .bookmark(bookmark)), in: &node, of: party, writer)
    } catch is Problem {
      // Their list is full. Nothing was written; they are a member all the same,
      // and have been invited.
    }
  }

  /// They are a member no more, or there is no room any more.
  mutating func unbookmark(_ room: Room, for party: Party, _ writer: any StoreWriter) throws {
    guard let item = try writer.item(room.address.description, in: Bookmark.node, of: party.id),
      var node = try writer.node(Bookmark.node, of: party.id)
    else { return }
    try remove(item, from: &node, of: party, notifies: true, writer)
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
