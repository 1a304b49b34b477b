import Addresses

/// Checks posts that a component makes on behalf of a user (`Privileges`).
extension Judge {
  /// Returns a post made on behalf of a user as if the user had made it; other posts unchanged. Throws if the component
  /// may not act in that user's name.
  mutating func onBehalf(_ post: Post) throws -> Post {
    guard let behalf = post.behalf else { return post }
    guard post.author.realm.isRemote, privileges[post.author.realm].allows(behalf.right),
      behalf.right.covers(post.intent)
    else { throw Problem.unprivileged }
    let home = realms.home(of: post.author.realm)
    if behalf.user.local == nil {
      // The domain itself has no dialogs: its stanzas are only relayed.
      guard realms.realm(home)?.domain == behalf.user.domain, case .signal = post.intent else {
        throw Problem.unprivileged
      }
      return Post(post, by: Party(id: UserID(0), realm: home, address: behalf.user))
    }
    guard let user = try user(behalf.user, seenFrom: home), user.party.realm == home, user.state == .active else {
      throw Problem.unprivileged
    }
    if case .signal(_, .user(let address, _)) = post.intent,
      try blockList(of: user.party.id).blocks(JID(address))
    {
      throw Problem(.blocked, "you-block-this-user", "The user has blocked this address.")
    }
    return Post(post, by: user.party)
  }
}

extension Right {
  fileprivate func covers(_ intent: Intent) -> Bool {
    switch (self, intent) {
    case (.roster(isSet: true), .contact), (.roster(isSet: true), .removeContact): true
    case (.speak, .message), (.speak, .call(.said)), (.speak, .marker), (.speak, .signal(.stanza, _)): true
    case (.request, _): true
    case (.roster, _), (.speak, _): false
    }
  }
}

extension Problem {
  public static let unprivileged = Problem(
    .forbidden, "not-privileged", "The component is not granted this, or there is no such user of its domain.")
}
