import Addresses
import Basics

// The memory that is kept for users as long as they are online: their contacts and blocks, and what their sessions show, enter and
// remember. Theory:
//
// Each part has a bound in bytes, but a user with as many sessions as one may have reaches some ten megabytes, and a hundred such users
// a gigabyte. So each user counts with the sum of the parts as a holder of `SessionMemory.online`, beyond the bytes that ordinary users
// have, who therefore cost nothing there. Where all of that memory is held, the user with the most loses the session with the most, which
// cannot be resumed: it would have the same again. If that is not enough, the user loses the next one.

/// The addresses that a session's directed presence was sent to, each once, the oldest first.
struct DirectedPresences: Sendable {
  private(set) var addresses: [BareJID] = []
  /// The bytes of the addresses in memory.
  private(set) var bytes = 0

  /// Notes a presence that was sent to an address. Beyond `Limits.directedMax` or `Limits.directedBytesMax` the oldest addresses are
  /// forgotten.
  mutating func sent(isAvailable: Bool, to address: BareJID) {
    if let index = addresses.firstIndex(of: address) { remove(at: index) }
    guard isAvailable else { return }
    addresses.append(address)
    bytes += Self.bytes(of: address)
    while addresses.count > Limits.directedMax || bytes > Limits.directedBytesMax { remove(at: 0) }
  }

  private mutating func remove(at index: Int) { bytes -= Self.bytes(of: addresses.remove(at: index)) }

  private static func bytes(of address: BareJID) -> Int {
    address.description.heldBytes + MemoryLayout<BareJID>.stride
  }
}

extension OnlineSession {
  /// The bytes that are kept for the session, about. A presence is kept as it came and as clients are sent it.
  var heldBytes: Int {
    2 * (presence?.byteCount ?? 0) + directed.bytes + doorBytes + roomCount * Limits.placeBytes
      + followedCount * Limits.followedRoomBytes
  }
}

extension Hub.Online {
  /// The bytes that are kept for the user, about.
  fileprivate var heldBytes: Int {
    let ofSessions = onlineSessions.reduce(contactSnapshot.heldBytes) { $0 + $1.heldBytes }
    return lingering.reduce(ofSessions) { $0 + $1.onlineSession.heldBytes }
  }
}

extension Hub {
  /// Counts what is kept for a user, after it has changed. That may end sessions of the user with the most.
  func countMemory(of user: UserID) {
    var counted: Int?
    while true {
      let next: (holder: MemoryBound.Holder, bytes: Int)? = shard(user).users.withLock { users in
        guard let online = users[user] else { return nil }
        let bytes = online.heldBytes - Limits.onlineBytesUncounted
        guard bytes > 0 else {
          if online.memory != nil { users[user]?.memory = nil }
          return nil
        }
        let holder =
          online.memory
          ?? memory.enter("\(online.contactSnapshot.user.address)") { [weak self] in self?.giveUp(user) }
        if online.memory == nil { users[user]?.memory = holder }
        return (holder, bytes)
      }
      // Another thread may have counted a later change before this one, which then counts it again.
      guard let next, next.bytes != counted else { return }
      next.holder.hold(next.bytes)
      counted = next.bytes
    }
  }

  /// Notes how many bytes a session's door keeps for it, about, beside what it shows, enters and remembers here.
  public func setDoorBytes(_ bytes: Int, of session: any LiveSession) {
    update(session) { $0.doorBytes = bytes }
    countMemory(of: session.party.id)
  }

  /// Notes in how many rooms a session is. Does nothing if it is not registered, as those of people elsewhere.
  func setRoomCount(_ count: Int, of session: SessionID, by user: UserID) {
    let isThere: Bool = shard(user).users.withLock { users in
      guard let index = users[user]?.onlineSessions.firstIndex(where: { $0.session.id == session }) else {
        return false
      }
      users[user]!.onlineSessions[index].roomCount = count  // found just above
      return true
    }
    if isThere { countMemory(of: user) }
  }

  /// Ends the session of a user that has the most, for others. What is left counts again once that session has ended.
  private func giveUp(_ user: UserID) {
    let largest: (any LiveSession)? = shard(user).users.withLock { users in
      guard let online = users[user] else { return nil }
      users[user]?.memory = nil
      let all = online.onlineSessions + online.lingering.map(\.onlineSession)
      return all.max { $0.heldBytes < $1.heldBytes }?.session
    }
    if let largest { largest.lane.deliver(.signal(.closed(.tooLarge), .direct), to: largest) }
  }
}
