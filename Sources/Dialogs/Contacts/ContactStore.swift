public import Addresses

/// Reads contacts and blocks: the users' own items, of which `StoreReader.contact(of:_:)` and its like compose what a
/// roster shows.
public protocol ContactReader {
  func ownContact(of owner: UserID, _ address: BareJID) throws -> Contact?
  /// Returns the items that are not removed, by address.
  func ownContacts(of owner: UserID) throws -> [Contact]
  /// Returns the items changed after `version`, removed ones included, by version ascending, at most `limit`; `push` is
  /// true if the roster shows the item.
  func ownContactChanges(of owner: UserID, after version: Position, limit: Int) throws -> [ContactChange]
  /// Returns the highest version of any item, removed ones included; `.zero` if there is none yet.
  func ownRosterVersion(of owner: UserID) throws -> Position
  /// Returns how many removed items are stored.
  func removedContactCount(of owner: UserID) throws -> Int
  /// Returns how many of the user's newest items, removed ones included, are requests that wait for an answer.
  ///
  /// - Parameter looksMax: The number of items that are looked at, by version descending.
  func requestCount(of owner: UserID, amongNewest looksMax: Int) throws -> Int
  /// Returns the rows of a block list by rank.
  func rankedBlocks(of owner: UserID) throws -> [RankedBlock]
}

extension ContactReader {
  /// Returns a block list in the user's order.
  public func blocks(of owner: UserID) throws -> [BlockPattern] { try rankedBlocks(of: owner).map(\.pattern) }
}

/// Changes contacts and blocks.
public protocol ContactWriter {
  func put(_ contact: Contact) throws
  /// Removes a contact, leaving a tombstone with this version for roster versioning.
  func remove(_ contact: Contact, version: Position) throws
  /// Deletes the tombstones that were left first, at least one; returns the version of the last of them.
  func deleteRemovedContacts(of owner: UserID, oldest count: Int) throws -> Position?
  /// Inserts a row of a block list, whose rank no other row of the list has.
  func insert(_ block: RankedBlock, of owner: UserID) throws
  func removeBlock(rank: Int, of owner: UserID) throws
}
