public import Addresses

/// What a user elsewhere tells a client here about themselves: the name and the picture that they publish to those who see
/// their presence (XEP-0163). `nil` leaves the one unchanged, `.some(nil)` removes it.
public struct RemoteProfileDraft: Sendable {
  /// At most `Limits.displayNameBytesMax`; a longer one is refused.
  public var displayName: String??
  /// At most `Limits.avatarBytesMax`; a larger one is refused.
  public var avatar: Avatar??

  public init(displayName: String?? = nil, avatar: Avatar?? = nil) {
    self.displayName = displayName
    self.avatar = avatar
  }
}

/// The names and pictures of users elsewhere, which apps show. Theory:
///
/// The other server sends what its user publishes to each client here that wants to know and sees that user's presence:
/// when the client comes online, and at each change. One row for each user elsewhere and home keeps the last of it, for
/// lists and notifications. The client that was sent it is told the profile in any case: another one may have changed the
/// row first.
extension Judge {
  /// Keeps what a user elsewhere says about themselves, and tells the client that it was sent to. It is heard from those
  /// alone whose presence the client's user has subscribed to.
  mutating func remoteProfile(_ post: Post, _ draft: RemoteProfileDraft, to client: FullJID) throws {
    let author = post.author
    guard author.realm.isRemote, let host = try user(client.bare, seenFrom: author.realm)?.party, !host.realm.isRemote,
      try writer.contact(of: host.id, author.address)?.subscription.to == true,
      try !blockList(of: host.id).blocks(JID(author.address))
    else { throw Problem.unreachable }
    // What may be refused comes first.
    if let avatar = draft.avatar ?? nil { try Self.check(avatar) }
    var profile = Profile()
    profile.displayName = draft.displayName ?? nil
    try Self.check(profile)
    guard var user = try writer.user(known(author, metBy: host).id), user.state == .active else {
      throw Problem.unreachable
    }
    let before = user.profile
    if let name = draft.displayName { user.profile.displayName = name }
    if let avatar = draft.avatar { user.profile.avatarHash = avatar?.hash }
    if user.profile != before {
      try writer.update(user)
      if let avatar = draft.avatar, user.profile.avatarHash != before.avatarHash {
        countBeside(avatar?.bytes.count ?? 0)
        try setAvatar(avatar, of: user.id)
      }
    }
    tell(.signal(.profile(user.party, user.profile), nil, user.party, .user(client.bare, resource: client.resource)))
    settle(post)
  }
}

extension Hub {
  /// Returns the sessions of apps of a user, if they have subscribed to the presence of a contact and have not blocked it.
  public func appSessions(of host: BareJID, subscribedTo contact: BareJID) -> [OnlineSession] {
    guard let user = user(at: host), let theirs = contactSnapshot(of: user),
      theirs.contact(contact)?.subscription.to == true, !theirs.blocks(JID(contact))
    else { return [] }
    return onlineSessions(of: user).filter { $0.door == .app }
  }

  /// Returns such a session.
  public func appSession(_ client: FullJID, subscribedTo contact: BareJID) -> OnlineSession? {
    appSessions(of: client.bare, subscribedTo: contact).first { $0.resource == client.resource }
  }
}
