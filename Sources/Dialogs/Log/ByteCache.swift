import Addresses

/// A cache that estimates its bytes, so that its owner can bound them: entries may be long by other people's choice, and a bound in
/// entries would have to assume the longest ones. The owner empties the cache at the bound.
public struct ByteCache<Key: Hashable, Value> {
  /// The bytes of an entry in the table, which is at most about twice as long as what it holds.
  @inlinable static var slotBytes: Int { 2 * MemoryLayout<(Key, Value)>.stride }

  // The functions are inlinable, so that they are specialised in other modules, which call them for each row that they read.
  @usableFromInline var entries: [Key: Value] = [:]
  @usableFromInline var heldBytes = 0
  @usableFromInline let outside: @Sendable (Key, Value) -> Int

  /// - Parameter outside: returns the bytes that an entry has outside of the table, such as those of its texts. They must
  ///   not change while the entry is in the cache.
  public init(outside: @escaping @Sendable (Key, Value) -> Int) { self.outside = outside }

  /// The estimated bytes of all entries.
  @inlinable public var bytes: Int { heldBytes }

  /// The value of a key; `nil` if there is none, and setting `nil` removes it.
  @inlinable public subscript(key: Key) -> Value? {
    get { entries[key] }
    set {
      guard let newValue else {
        removeValue(forKey: key)
        return
      }
      if let before = entries.updateValue(newValue, forKey: key) { heldBytes -= size(key, before) }
      heldBytes += size(key, newValue)
    }
  }

  /// Removes an entry and returns it, so that it can be changed in place and set again.
  @inlinable @discardableResult
  public mutating func removeValue(forKey key: Key) -> Value? {
    guard let value = entries.removeValue(forKey: key) else { return nil }
    heldBytes -= size(key, value)
    return value
  }

  /// Removes all entries.
  @inlinable public mutating func removeAll() {
    entries = [:]
    heldBytes = 0
  }

  @inlinable func size(_ key: Key, _ value: Value) -> Int { Self.slotBytes + outside(key, value) }
}

extension ByteCache: Sendable where Key: Sendable, Value: Sendable {}

extension String {
  /// The bytes of a text in its own heap block, with the header of the block.
  package var heldBytes: Int { utf8.count + Limits.textHeaderBytes }
}

extension Party {
  /// The bytes of its address in memory.
  package var heldBytes: Int { address.description.heldBytes }
}

extension RoomName {
  /// The bytes of its address in memory.
  package var heldBytes: Int { address.description.heldBytes }
}

extension Member {
  /// The bytes of its texts in memory.
  var heldBytes: Int { party.heldBytes + (nick?.heldBytes ?? 0) + (reason?.heldBytes ?? 0) }
}

extension Room {
  /// The bytes of a room in memory beside its people, with its places in two tables.
  var heldBytes: Int {
    let texts: [String?] = [name.address.description, externalID, userExternalID, topic?.text, topic?.nick]
    return Limits.cachedRoomBytes + settings.textBytes + texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
  }
}

extension Judge {
  /// The caches in which the judge remembers rows of the store (`Limits.cacheBytesMax`).
  private enum Cache: CaseIterable {
    case users, blocks, rosterSizes, requestBytes, preferences, dialogs, rooms, memberships, nicks, nodePeople
  }

  private func bytes(of cache: Cache) -> Int {
    switch cache {
    case .users: users.bytes
    case .blocks: blocks.bytes
    case .rosterSizes: rosterSizes.bytes
    case .requestBytes: requestBytes.bytes
    case .preferences: preferences.bytes
    case .dialogs: dialogs.bytes
    case .rooms: rooms.bytes
    case .memberships: rooms.membershipBytes
    case .nicks: rooms.nickBytes
    case .nodePeople: nodePeople.bytes
    }
  }

  private mutating func empty(_ cache: Cache) {
    switch cache {
    case .users: users.removeAll()
    case .blocks: blocks.removeAll()
    case .rosterSizes: rosterSizes.removeAll()
    case .requestBytes: requestBytes.removeAll()
    case .preferences: preferences.removeAll()
    case .dialogs: dialogs.removeAll()
    case .rooms: rooms.forgetRooms()
    case .memberships: rooms.forgetMemberships()
    case .nicks: rooms.forgetLooks()
    case .nodePeople: nodePeople.forget()
    }
  }

  /// The bytes that the caches may still take.
  var freeCacheBytes: Int {
    var free = cacheBytesMax
    for cache in Cache.allCases { free -= bytes(of: cache) }
    return free
  }

  /// Empties the largest cache as long as it, or all caches together, exceed their bound. Called between batches, so a batch may exceed
  /// the bound by the rows that it reads.
  mutating func boundCaches() {
    while true {
      var (sum, largest, most) = (0, Cache.users, 0)
      for cache in Cache.allCases {
        let count = bytes(of: cache)
        sum += count
        if count > most { (largest, most) = (cache, count) }
      }
      guard most > Limits.oneCacheBytesMax || sum > cacheBytesMax else { return }
      empty(largest)
    }
  }
}
