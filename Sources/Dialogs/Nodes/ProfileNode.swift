/// The nodes of a user's profile (XEP-0163). Theory:
///
/// There is one profile: the display name, the full name, the avatar. It is shown in several forms:
///
///     the app's user                     name, avatarHash         the profile itself
///     vcard-temp                         FN, NICKNAME, PHOTO      XEP-0054, built when it is read
///     presence                           the avatar's hash        XEP-0153, from the user's contact snapshot
///     http://jabber.org/protocol/nick    the name                 XEP-0172
///     urn:xmpp:avatar:data, :metadata    the avatar               XEP-0084
///     urn:xmpp:vcard4                    fn, nickname, photo      XEP-0292
///
/// The last four are ordinary items, which are found, read, announced and configured as in XEP-0060. Writing any of the
/// forms changes the profile, and in the same post the committer writes the other items with the same data
/// (`Nodes/Profiles.swift`). An item that the server wrote never changes the profile, so there are no cycles.
///
/// The other content of a vCard stays in its own form, byte for byte.
public enum ProfileNode: String, CaseIterable, Sendable {
  case nickname = "http://jabber.org/protocol/nick"
  case avatarData = "urn:xmpp:avatar:data"
  case avatarMetadata = "urn:xmpp:avatar:metadata"
  case vCard4 = "urn:xmpp:vcard4"

  /// The initial configuration of a node that a client creates.
  var configuration: NodeConfiguration {
    var configuration = NodeConfiguration()
    if self == .vCard4 {
      // Everyone may read it (XEP-0292 9); events do not contain the vCard itself (3.3).
      configuration.access = .open
      configuration.deliversPayloads = false
    }
    return configuration
  }

  /// The initial configuration of a node that the server creates. Data that the app or a vcard-temp shows to everyone
  /// is not hidden here; the owner can configure it otherwise.
  var mirrored: NodeConfiguration {
    var configuration = configuration
    if self == .avatarData || self == .avatarMetadata { configuration.access = .open }
    return configuration
  }

  func holds(_ content: NodeContent) -> Bool {
    switch (self, content) {
    case (.nickname, .nickname), (.avatarData, .avatar), (.avatarMetadata, .avatarMetadata), (.vCard4, .card): true
    case (.nickname, _), (.avatarData, _), (.avatarMetadata, _), (.vCard4, _): false
    }
  }
}

/// The content of an item of `ProfileNode.avatarMetadata` (XEP-0084 4.2).
public struct AvatarMetadata: Hashable, Sendable {
  /// The metadata of an avatar for which the server created the item.
  public struct Info: Hashable, Sendable {
    public let hash: String
    public let mediaType: String
    public let byteCount: Int
    public let size: ImageSize?

    public init(hash: String, mediaType: String, byteCount: Int, size: ImageSize?) {
      self.hash = hash
      self.mediaType = mediaType
      self.byteCount = byteCount
      self.size = size
    }

    public init(_ avatar: Avatar) {
      self.init(
        hash: avatar.hash, mediaType: avatar.mediaType, byteCount: avatar.bytes.count, size: ImageSize(of: avatar.bytes)
      )
    }
  }

  public enum Form: Hashable, Sendable {
    /// There is no avatar.
    case none
    case info(Info)
    /// The element as a client wrote it.
    case said([UInt8])
  }
  /// The hashes of the image's forms that are not on the web, in the listed order.
  public let hashes: [String]
  public let form: Form

  public init(hashes: [String], form: Form) {
    self.hashes = hashes
    self.form = form
  }

  var byteCount: Int {
    let listed = hashes.reduce(0) { $0 + $1.utf8.count }
    if case .said(let bytes) = form { return listed + bytes.count }
    return listed
  }
}

/// The content of an item of `ProfileNode.vCard4`.
public struct Card4: Hashable, Sendable {
  public var fullName: String?
  /// The display name: the nickname, else the full name.
  public var displayName: String?
  /// The vCard as a client wrote it, without its photo; empty if no client has. Its names count only as the two fields
  /// above.
  public var bytes: [UInt8]
  /// The photo, which is part of the profile: it is written and announced, but never stored here. `nil` leaves it
  /// unchanged.
  public var photo: Avatar?

  public init(fullName: String?, displayName: String?, bytes: [UInt8] = [], photo: Avatar? = nil) {
    self.fullName = fullName
    self.displayName = displayName
    self.bytes = bytes
    self.photo = photo
  }

  var byteCount: Int { bytes.count + (fullName?.utf8.count ?? 0) + (displayName?.utf8.count ?? 0) }
}

extension NodePublication.Item {
  /// The item without what is stored in the profile alone.
  var stored: Self {
    guard case .card(var card) = content else { return self }
    card.photo = nil
    return Self(id: id, content: .card(card))
  }
}

extension StoreReader {
  /// Returns the avatar, if the viewer may see it: a user who may read neither of the nodes has no other access to it
  /// (XEP-0398 6 and 7). That of a user elsewhere is for those who have subscribed to their presence, as it was sent to
  /// such ones.
  public func avatar(of user: User, for viewer: Party) throws -> Avatar? {
    if user.profile.avatarHash == nil { return nil }
    if user.realm.isRemote {
      return try contact(of: viewer.id, user.address)?.subscription.to == true ? avatar(of: user) : nil
    }
    if user.id != viewer.id {
      let contact = try contact(of: user.id, viewer.address)
      let affiliations = try affiliations(of: viewer.address, with: user.id)
      let subscriptions = try subscriptions(of: viewer.address, with: user.id)
      for view in [ProfileNode.avatarMetadata, .avatarData] {
        let name = view.rawValue
        let relation = NodeRelation(
          contact: contact, affiliation: affiliations[name],
          isSubscribed: subscriptions.contains { $0.node == name && $0.1.state == .subscribed })
        if try node(name, of: user.id)?.configuration.denial(to: relation) != nil { return nil }
      }
    }
    return try avatar(of: user)
  }

  /// Returns the full name; `nil` if it is the display name.
  public func fullName(of user: UserID) throws -> String? {
    try value(of: user, node: ValueKey.profile, item: ValueKey.fullName).map { String(decoding: $0, as: UTF8.self) }
  }
}
