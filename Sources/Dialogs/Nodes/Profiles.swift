import Addresses
import Basics

/// Keeps the forms of a profile equal: see `ProfileNode`.
extension Judge {
  // MARK: The app, vcard-temp

  /// Changes the profile. `Receipt.isRepeat` tells that nothing changed, and no one was told.
  mutating func profile(_ post: Post, _ draft: ProfileDraft) throws {
    // All or nothing: what may be refused comes first.
    if let settings = draft.settings { try check(settings) }
    let isChanged = try apply(draft, by: post, from: nil)
    let isSet = try draft.settings.map { try set($0, of: post.author) } ?? false
    var receipt = Receipt(position: head)
    receipt.isRepeat = !isChanged && !isSet
    settle(post, receipt)
  }

  /// Applies a draft. Refuses before it writes.
  ///
  /// - Parameter source: the node that already has the new data.
  @discardableResult
  private mutating func apply(
    _ draft: ProfileDraft, by post: Post, from source: ProfileNode?
  ) throws -> Bool {
    let owner = post.author
    guard var user = try writer.user(owner.id) else { throw Problem.unreachable }
    let before = user
    let calledBefore = try writer.fullName(of: owner.id)
    let fullName = draft.fullName ?? calledBefore
    if let name = draft.displayName { user.profile.displayName = name }
    if let status = draft.status { user.profile.status = status }
    if let metadata = draft.metadata { user.profile.metadata = metadata }
    if let avatar = draft.avatar { user.profile.avatarHash = avatar?.hash }
    if let url = draft.avatarURL { user.profile.avatarURL = url }
    try Self.checkTexts(of: draft)
    try Self.check(user.profile)
    try Self.check(fullName: fullName)
    if let avatar = draft.avatar ?? nil { try Self.check(avatar) }
    try Self.check(vCard: draft.vCard)

    let isRecarded = try draft.vCard.map {
      try $0 != writer.value(of: owner.id, node: ValueKey.vCard, item: ValueKey.bytes) ?? []
    }
    let isRenamed = user.profile.displayName != before.profile.displayName
    let hasOtherNames = isRenamed || fullName != calledBefore
    let isPictured = user.profile.avatarHash != before.profile.avatarHash
    guard user.profile != before.profile || hasOtherNames || isRecarded == true else { return false }

    try show(before, owner)
    if isPictured { try setAvatar(draft.avatar ?? nil, of: owner.id) }
    if fullName != calledBefore {
      try writer.setValue(
        of: owner.id, node: ValueKey.profile, item: ValueKey.fullName, fullName.map { Array($0.utf8) })
    }
    if isRecarded == true, let vCard = draft.vCard {
      try writer.setValue(of: owner.id, node: ValueKey.vCard, item: ValueKey.bytes, vCard.isEmpty ? nil : vCard)
    }
    if user.profile != before.profile { try announce(user, by: post) }
    if isRenamed { try rename(user, version: head) }
    if isPictured { try mirror(draft.avatar ?? nil, instead: before.profile.avatarHash, from: source, owner) }
    if isRenamed, source != .nickname { try mirror(name: user.profile.displayName, owner) }
    if hasOtherNames || isPictured, source != .vCard4 { try mirrorCard(user.profile, fullName, owner) }
    return true
  }

  func setAvatar(_ avatar: Avatar?, of owner: UserID) throws {
    try writer.setValue(of: owner, node: ValueKey.avatar, item: ValueKey.bytes, avatar?.bytes)
    try writer.setValue(
      of: owner, node: ValueKey.avatar, item: ValueKey.mediaType, avatar.map { Array($0.mediaType.utf8) })
  }

  /// Announces the profile to sessions, which put the avatar's hash in their presence (XEP-0398 4), and to apps.
  private mutating func announce(_ user: User, by post: Post) throws {
    try writer.update(user)
    let entry = try insertOwn(.profile(user.profile), of: post.author, at: nextPosition())
    tell(
      .contactSnapshot(user.id) {
        $0.with(user: user)
      })
    tell(.entry(entry, author: nil))
    tell(.profile(post.author, user.profile, by: session(of: post), try contactSnapshot(of: post.author)))
  }

  // MARK: Bounds

  /// Checks the texts that are set anew: older ones must not keep a user from changing others.
  static func checkTexts(of draft: ProfileDraft) throws(Problem) {
    if let name = draft.displayName ?? nil { try PlainText.check(name, field: "name") }
    if let status = draft.status ?? nil { try PlainText.check(status, field: "status") }
  }

  static func check(_ profile: Profile) throws(Problem) {
    for (field, value, bound) in [
      ("name", profile.displayName, Limits.displayNameBytesMax), ("status", profile.status, Limits.statusBytesMax),
      ("metadata", profile.metadata, Limits.metadataBytesMax),
      ("avatarUrl", profile.avatarURL, Limits.avatarURLBytesMax),
    ] {
      if let value, value.utf8.count > bound {
        throw Problem(.tooLarge, "\(field)-too-long", "\(field) has at most \(bound) bytes.", field: field)
      }
    }
  }

  static func check(fullName: String?) throws(Problem) {
    if let fullName, fullName.utf8.count > Limits.displayNameBytesMax {
      throw Problem(.tooLarge, "name-too-long", "A name has at most \(Limits.displayNameBytesMax) bytes.")
    }
  }

  static func check(vCard: [UInt8]?) throws(Problem) {
    if let vCard, vCard.count > Limits.vCardBytesMax {
      throw Problem(.tooLarge, "vcard-too-large", "A vCard has at most \(Limits.vCardBytesMax) bytes.")
    }
  }

  static func check(_ avatar: Avatar) throws(Problem) {
    if avatar.bytes.count > Limits.avatarBytesMax {
      throw Problem(
        .tooLarge, "avatar-too-large", "An avatar has at most \(Limits.avatarBytesMax) bytes.", field: "avatar")
    }
  }

  /// Checks an item against its node, and against the bounds of the profile: once the item is written nothing is
  /// refused any more.
  static func check(_ item: NodePublication.Item, in name: String) throws(Problem) {
    guard let view = ProfileNode(rawValue: name) else {
      for view in ProfileNode.allCases where view.holds(item.content) { throw Problem.payloadInvalid }
      return
    }
    guard view.holds(item.content) else { throw Problem.payloadInvalid }
    switch item.content {
    case .nickname(let name): if name.utf8.count > Limits.displayNameBytesMax { throw Problem.payloadTooBig }
    case .avatar(let avatar):
      // Clients cache avatars by this hash (XEP-0084 4.1).
      guard avatar.hash == item.id else {
        throw Problem(.malformed, "payload-invalid", "The id of a picture is the SHA-1 of its bytes.")
      }
      if avatar.bytes.count > Limits.avatarBytesMax { throw Problem.payloadTooBig }
    case .card(let card):
      for name in [card.fullName, card.displayName] {
        if let name, name.utf8.count > Limits.displayNameBytesMax { throw Problem.payloadTooBig }
      }
      if let photo = card.photo, photo.bytes.count > Limits.avatarBytesMax { throw Problem.payloadTooBig }
    case .avatarMetadata, .opaque, .bookmark, .bookmarks, .displayed: break
    }
  }

  /// Checks that the data of an avatar is published before its metadata (XEP-0084 4.2): otherwise contacts could not
  /// fetch it.
  func check(_ item: NodePublication.Item, of owner: Party) throws {
    guard case .avatarMetadata(let metadata) = item.content, !metadata.hashes.isEmpty else { return }
    let shown = try writer.user(owner.id)?.profile.avatarHash
    for hash in metadata.hashes {
      if try hash == shown || writer.item(hash, in: ProfileNode.avatarData.rawValue, of: owner.id) != nil { return }
    }
    throw Problem(.missing, "item-unknown", "Publish the data of the picture before its metadata.")
  }

  // MARK: From a node

  /// Updates the profile after a client has written or removed an item: the newest item of a profile node becomes the
  /// profile.
  ///
  /// - Parameter said: the written item; `nil` if items were removed.
  mutating func follow(
    _ name: String, _ said: NodeContent?, by post: Post
  ) throws {
    guard let view = ProfileNode(rawValue: name) else { return }
    let owner = post.author
    let content = try said ?? writer.items(in: name, of: owner.id, newest: true, limit: 1).last?.content
    var draft = ProfileDraft()
    switch content {
    case .nickname(let nickname) where !nickname.showsNothing: draft.displayName = .some(nickname)
    case .nickname: draft.displayName = .some(try writer.fullName(of: owner.id))
    case .avatarMetadata(let metadata): draft.avatar = .some(try picture(metadata, of: owner))
    case .card(let card):
      draft.fullName = .some(card.fullName)
      draft.displayName = .some(card.displayName)
      if let photo = card.photo { draft.avatar = .some(photo) }
    // Data alone shows nothing, but its removal removes the avatar.
    case .avatar,
      nil where view == .avatarData:
      guard said == nil, let hash = try writer.user(owner.id)?.profile.avatarHash,
        try writer.item(hash, in: name, of: owner.id) == nil
      else { return }
      draft.avatar = .some(nil)
    case nil:
      switch view {
      case .nickname: draft.displayName = .some(try writer.fullName(of: owner.id))
      case .avatarMetadata: draft.avatar = .some(nil)
      case .vCard4: draft.fullName = .some(nil)
      case .avatarData: return
      }
    // Items stored before the server knew their node.
    case .opaque, .bookmark, .bookmarks, .displayed: return
    }
    try apply(draft, by: post, from: view)
  }

  /// Returns the avatar that the metadata names (XEP-0398 3.1); `nil` if none of them is stored.
  private mutating func picture(
    _ metadata: AvatarMetadata, of owner: Party
  ) throws -> Avatar? {
    for hash in metadata.hashes {
      let item = try writer.item(hash, in: ProfileNode.avatarData.rawValue, of: owner.id)
      if case .avatar(let avatar) = item?.content { return avatar }
    }
    // The current avatar is still shown, though its data item has made room for another.
    guard let user = try writer.user(owner.id), let avatar = try writer.avatar(of: user),
      metadata.hashes.contains(avatar.hash)
    else { return nil }
    try write(.avatar(avatar), as: avatar.hash, in: .avatarData, owner)
    return avatar
  }

  // MARK: To the nodes

  private mutating func write(
    _ content: NodeContent, as id: String?, in view: ProfileNode, _ owner: Party
  ) throws {
    let name = view.rawValue
    var node = try writer.node(name, of: owner.id) ?? Self.mirrored(view, owner, time)
    let id = try id ?? writer.items(in: name, of: owner.id, newest: true, limit: 1).last?.id ?? Self.itemID
    try put(NodePublication.Item(id: id, content: content), in: &node, of: owner, isMirror: true)
  }

  private static let itemID = "current"

  private static func mirrored(_ view: ProfileNode, _ owner: Party, _ time: Timestamp) -> Node {
    Node(owner: owner.id, name: view.rawValue, configuration: view.mirrored, createdAt: time)
  }

  /// Removes the item with this id.
  private mutating func remove(_ id: String, from view: ProfileNode, _ owner: Party) throws {
    guard var node = try writer.node(view.rawValue, of: owner.id),
      let item = try writer.item(id, in: node.name, of: owner.id)
    else { return }
    try remove(item, from: &node, of: owner, notifies: false)
  }

  /// Removes all items. A client may have configured the node to have thousands.
  private mutating func clear(_ view: ProfileNode, _ owner: Party) throws {
    guard var node = try writer.node(view.rawValue, of: owner.id) else { return }
    if node.itemCount > 1 { return try purge(&node, of: owner) }
    guard let item = try writer.items(in: node.name, of: owner.id, newest: true, limit: 1).last else { return }
    try remove(item, from: &node, of: owner, notifies: true)
  }

  private mutating func mirror(name: String?, _ owner: Party) throws {
    guard let name else { return try clear(.nickname, owner) }
    try write(.nickname(name), as: nil, in: .nickname, owner)
  }

  /// Mirrors the avatar, data before metadata (XEP-0398 3.2).
  private mutating func mirror(
    _ avatar: Avatar?, instead old: String?, from source: ProfileNode?, _ owner: Party
  ) throws {
    if source == .avatarMetadata { return }
    if let avatar, avatar.isKnown {
      if try writer.item(avatar.hash, in: ProfileNode.avatarData.rawValue, of: owner.id) == nil {
        try write(.avatar(avatar), as: avatar.hash, in: .avatarData, owner)
      }
      let metadata = AvatarMetadata(hashes: [avatar.hash], form: .info(AvatarMetadata.Info(avatar)))
      return try write(.avatarMetadata(metadata), as: avatar.hash, in: .avatarMetadata, owner)
    }
    guard try writer.node(ProfileNode.avatarMetadata.rawValue, of: owner.id) != nil else { return }
    let none = AvatarMetadata(hashes: [], form: .none)
    try write(.avatarMetadata(none), as: Self.itemID, in: .avatarMetadata, owner)
    // A removed avatar is removed from the data node too.
    if let old { try remove(old, from: .avatarData, owner) }
  }

  private mutating func mirrorCard(
    _ profile: Profile, _ fullName: String?, _ owner: Party
  ) throws {
    let newest = try writer.items(in: ProfileNode.vCard4.rawValue, of: owner.id, newest: true, limit: 1).last
    var bytes: [UInt8] = []
    switch newest?.content {
    case .card(let card)?: bytes = card.bytes
    // An item stored before the server knew the node: its names are ignored.
    case .opaque(let said)?: bytes = said
    case .bookmark?, .displayed?, .bookmarks?, .nickname?, .avatar?, .avatarMetadata?, nil: break
    }
    try write(
      .card(Card4(fullName: fullName, displayName: profile.displayName, bytes: bytes)), as: newest?.id, in: .vCard4,
      owner)
  }

  // MARK: Profiles older than their nodes

  /// Creates the nodes of a profile that has none: an operator set its name, or it is older than the nodes. Nothing is
  /// announced, as nothing has changed.
  mutating func show(_ user: User, _ owner: Party) throws {
    guard try writer.value(of: user.id, node: ValueKey.profile, item: ValueKey.shown) == nil else { return }
    try writer.setValue(of: user.id, node: ValueKey.profile, item: ValueKey.shown, [1])
    let fullName = try writer.fullName(of: user.id)
    if let name = user.profile.displayName { try lay(.nickname(name), as: Self.itemID, in: .nickname, owner) }
    if user.profile.displayName != nil || user.profile.avatarHash != nil {
      let card = Card4(fullName: fullName, displayName: user.profile.displayName)
      try lay(.card(card), as: Self.itemID, in: .vCard4, owner)
    }
    if let avatar = try writer.avatar(of: user), avatar.isKnown {
      try lay(.avatar(avatar), as: avatar.hash, in: .avatarData, owner)
      let metadata = AvatarMetadata(hashes: [avatar.hash], form: .info(AvatarMetadata.Info(avatar)))
      try lay(.avatarMetadata(metadata), as: avatar.hash, in: .avatarMetadata, owner)
    }
  }

  /// Stores an item at a position without an entry, unless the node exists.
  private mutating func lay(
    _ content: NodeContent, as id: String, in view: ProfileNode, _ owner: Party
  ) throws {
    if try writer.node(view.rawValue, of: owner.id) != nil { return }
    var node = Self.mirrored(view, owner, time)
    (node.itemCount, node.byteCount) = (1, content.byteCount)
    try store(node)
    try writer.put(
      NodeItem(id: id, content: content, position: nextPosition(), time: time), in: node.name, of: owner.id)
  }
}
