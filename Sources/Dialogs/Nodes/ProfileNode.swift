/// The nodes in which a user's profile stands (XEP-0163). Theory:
///
/// There is one profile: what others call the user, the full name, the picture. It
/// is shown in many dresses:
///
///     the app's user                     name, avatarHash         the profile itself
///     vcard-temp                         FN, NICKNAME, PHOTO      XEP-0054, put together when it is read
///     presence                           the picture's hash       XEP-0153, out of the user's card
///     http://jabber.org/protocol/nick    the name                 XEP-0172
///     urn:xmpp:avatar:data, :metadata    the picture              XEP-0084
///     urn:xmpp:vcard4                    fn, nickname, photo      XEP-0292
///
/// The last four are items like any other, so that they are found, read, told and
/// configured as XEP-0060 says. Whoever writes one of the dresses changes the profile,
/// and in the same post the committer writes the other items that say the same
/// (`Nodes/Profiles.swift`). The profile never follows an item that the server wrote,
/// so nothing goes round.
///
/// What a vCard says beside the three fields stays in its own form, byte for byte.
public enum ProfileNode: String, CaseIterable, Sendable {
  case nickname = "http://jabber.org/protocol/nick"
  case avatarData = "urn:xmpp:avatar:data"
  case avatarMetadata = "urn:xmpp:avatar:metadata"
  case vCard4 = "urn:xmpp:vcard4"

  /// How the node begins where a client makes it.
  var configuration: NodeConfiguration {
    var configuration = NodeConfiguration()
    if self == .vCard4 {
      // XEP-0292 9: for the world to read; 3.3: events without the vCard itself.
      configuration.access = .open
      configuration.deliversPayloads = false
    }
    return configuration
  }

  /// How it begins where the server makes it. What the app or a vcard-temp shows to
  /// everybody is not hidden here; the owner can configure it otherwise.
  var mirrored: NodeConfiguration {
    var configuration = configuration
    if self == .avatarData || self == .avatarMetadata { configuration.access = .open }
    return configuration
  }

  func holds(_ content: NodeContent) -> Bool {
    switch (self, content) {
    case (.nickname, .nickname), (.avatarData, .avatar), (.avatarMetadata, .avatarMetadata), (.vCard4, .card): true
    default: false
    }
  }
}

/// What an item of `ProfileNode.avatarMetadata` says (XEP-0084 4.2).
public struct AvatarMetadata: Hashable, Sendable {
  /// About a picture that the server made the item for.
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
    /// There is no picture.
    case none
    case info(Info)
    /// The element as a client wrote it.
    case said([UInt8])
  }
  /// Of the forms of the picture that are not somewhere on the web, as they are listed.
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

/// What an item of `ProfileNode.vCard4` says.
public struct Card4: Hashable, Sendable {
  public var fullName: String?
  /// What the user is called: the nickname, else the full name.
  public var displayName: String?
  /// The vCard as a client wrote it, without a picture that stood in it; empty: none
  /// has. Its names count as far as they are the two above.
  public var bytes: [UInt8]
  /// Only written and told, never stored: it is the profile's. nil: as it is.
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
  /// Without what becomes the profile's alone.
  var stored: Self {
    guard case .card(var card) = content else { return self }
    card.photo = nil
    return Self(id: id, content: .card(card))
  }
}

extension StoreReader {
  /// The picture, as far as somebody may see it: who may read neither of the nodes has
  /// no other way to it (XEP-0398 6 and 7).
  public func avatar(of user: User, for viewer: Party) throws -> Avatar? {
    if user.profile.avatarHash == nil { return nil }
    if user.id != viewer.id {
      let contact = try contact(of: user.id, viewer.address)
      let affiliations = try affiliations(of: viewer.address, with: user.id)
      let subscriptions = try subscriptions(of: viewer.address, with: user.id)
      for view in [ProfileNode.avatarMetadata, .avatarData] {
        let name = view.rawValue
        let standing = NodeStanding(
          contact: contact, affiliation: affiliations[name],
          isSubscribed: subscriptions.contains { $0.node == name && $0.1.state == .subscribed })
        if try node(name, of: user.id)?.configuration.denial(to: standing) != nil { return nil }
      }
    }
    return try avatar(of: user)
  }

  /// nil: the user is called by it.
  public func fullName(of user: UserID) throws -> String? {
    try vault(user, node: Vault.profile, item: Vault.fullName).map { String(decoding: $0, as: UTF8.self) }
  }
}
