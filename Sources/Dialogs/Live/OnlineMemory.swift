import Addresses
import Basics
import Synchronization

// The memory that is kept for users as long as they are online: their contacts and blocks, and what their sessions show, enter and
// remember. Theory:
//
// Each part has a bound in bytes, but a user with as many sessions as one may have reaches some ten megabytes, and a hundred such users
// a gigabyte. So each user counts with the sum of the parts, beyond the bytes that ordinary users have, who therefore cost nothing there.
// Users of one network are one holder of `SessionMemory.online`, as one person has many accounts for nothing: otherwise whoever has many
// contacts would lose their session again and again to accounts that each have a little less. Where all of that memory is held, the network
// with the most loses a session: in it the user with the most loses the session with the most, which cannot be resumed, as it would have
// the same again. The rest of the network counts again when that session has ended, and loses the next one if that is not enough.

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

/// The bytes of the users who count, by network, and the holders of these networks.
final class OnlineMemory: Sendable {
  private struct Network {
    var users: [UserID: Int] = [:]
    /// The sum of those of the users.
    var bytes = 0
    /// The holder; `nil` until the next change once it has been ended.
    var holder: MemoryBound.Holder?
  }

  private let bound: MemoryBound
  /// Returns the name of a client's network, by the address of its session; `nil` if its user counts alone.
  let name: @Sendable (_ peer: String?) -> String?
  /// Networks without a user who counts are not in it.
  private let networks = Mutex<[String: Network]>([:])

  init(_ bound: MemoryBound, name: @escaping @Sendable (_ peer: String?) -> String?) {
    self.bound = bound
    self.name = name
  }

  /// Sets the bytes of a user, above 0 if the user counts. `hold` must follow, outside of all locks.
  func set(_ bytes: Int, of user: UserID, in name: String) {
    networks.withLock { networks in
      let before = networks[name]?.users[user] ?? 0
      guard bytes != before else { return }
      networks[name, default: Network()].bytes += bytes - before
      networks[name]?.users[user] = bytes > 0 ? bytes : nil
      if networks[name]?.users.isEmpty == true { networks[name] = nil }
    }
  }

  /// Holds the bytes of a network. That may end holders, for which `end` is called with their network.
  func hold(_ name: String, end: @escaping @Sendable () -> Void) {
    var held: Int?
    while true {
      let next: (holder: MemoryBound.Holder, bytes: Int)? = networks.withLock { networks in
        guard let network = networks[name] else { return nil }
        let holder = network.holder ?? bound.enter(name, end: end)
        networks[name]?.holder = holder
        return (holder, network.bytes)
      }
      // Another thread may have held what a later change has set before this one did, which then holds it again.
      guard let next, next.bytes != held else { return }
      next.holder.hold(next.bytes)
      held = next.bytes
    }
  }

  /// Notes that the holder of a network has been ended. Returns the user of it with the most bytes.
  func ended(_ name: String) -> UserID? {
    networks.withLock { networks in
      networks[name]?.holder = nil
      return networks[name]?.users.max { $0.value < $1.value }?.key
    }
  }
}

extension Hub {
  /// Counts what is kept for a user, after it has changed. That may end a session of the network with the most.
  func countMemory(of user: UserID) {
    let network: String? = shard(user).users.withLock { users in
      guard let online = users[user] else { return nil }
      let bytes = online.heldBytes - Limits.onlineBytesUncounted
      if bytes <= 0 && online.countedIn == nil { return nil }
      let network = online.countedIn ?? self.network(of: online)
      users[user]?.countedIn = bytes > 0 ? network : nil
      memory.set(max(0, bytes), of: user, in: network)
      return network
    }
    if let network { holdMemory(of: network) }
  }

  /// Holds what is kept for the users of a network, after that of one has been set.
  func holdMemory(of network: String) {
    memory.hold(network) { [weak self] in self?.giveUp(network) }
  }

  /// Returns the network in which a user counts: that of the first session with one, or else the user's address.
  private func network(of online: Online) -> String {
    for onlineSession in online.onlineSessions {
      if let name = memory.name(onlineSession.session.peer) { return name }
    }
    return online.contactSnapshot.user.address.description
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

  /// Ends a session of a network, for others: of the user with the most, the one with the most.
  private func giveUp(_ network: String) {
    guard let user = memory.ended(network), let online = online(user) else { return }
    let all = online.onlineSessions + online.lingering.map(\.onlineSession)
    guard let largest = all.max(by: { $0.heldBytes < $1.heldBytes })?.session else { return }
    largest.lane.deliver(.signal(.closed(.tooLarge), .direct), to: largest)
  }
}
