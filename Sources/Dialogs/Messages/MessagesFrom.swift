public import Addresses

/// The setting of who may write to a user (`UserSettings.messagesFrom`). Theory:
///
/// With `contacts` a user hears those in their roster, whatever the subscription, and those to whom they have written:
/// whoever is asked may answer. Others, here or elsewhere, are refused, and may ask to become a contact. What is stored
/// nowhere (headlines, chat states, messages that are not to be kept) is heard from the roster alone, since it is
/// relayed without reading the store. Rooms have rules of their own, and calls have `callsFrom`.
extension Judge {
  /// Checks the recipient's setting. That of a remote user is checked by their own server.
  mutating func checkMayWrite(_ author: Party, to peer: Party) throws {
    if try !mayWrite(author, to: peer) { throw Problem.notHeard }
  }

  /// Returns whether the recipient's setting lets the author write to them.
  mutating func mayWrite(_ author: Party, to peer: Party) throws -> Bool {
    if peer.realm.isRemote || peer.id == author.id { return true }
    return try messagesFrom(of: peer) == .everybody || isAcquainted(peer, with: author)
  }

  private mutating func messagesFrom(of user: Party) throws -> Visibility {
    let seen = SeenAddress(address: user.address, home: user.realm)
    if let known = users[seen]??.messagesFrom { return known }
    let found = try writer.userSettings(of: user.id).messagesFrom
    users[seen]??.messagesFrom = found
    return found
  }

  mutating func setMessagesFrom(_ setting: Visibility, of user: Party) {
    users[SeenAddress(address: user.address, home: user.realm)]??.messagesFrom = setting
    tell(
      .contactSnapshot(user.id) {
        $0.with(messagesFrom: setting)
      })
  }
}

extension ContactSnapshot {
  /// Returns whether an address is in the roster, whatever the subscription (`Contact.isChosen`).
  func hasInRoster(_ address: BareJID) -> Bool { contact(address)?.isChosen(by: user.address) == true }
}

extension Contact {
  /// Whether its owner has chosen this user: the item is in the roster, and the address was somebody's when the owner last
  /// changed it. Who registers a free address later is a stranger, and not the one whom the owner meant.
  func isChosen(by owner: BareJID) -> Bool {
    subscription.isInRoster
      && (peer != nil || subscription.to || subscription.from || !address.hasDomain(owner.domain))
  }

  /// Returns the item as another server may have it: what its owner has asked or approved of an address that was nobody's is
  /// void here, and would be valid there.
  public func exported(by owner: BareJID) -> Contact {
    var contact = self
    if !isChosen(by: owner) { contact.subscription = subscription.withoutRequests }
    return contact
  }
}

extension Problem {
  static let notHeard = Problem(
    .forbidden, "not-a-contact", "They hear only those whom they know. Ask them to be added as a contact.")
}
