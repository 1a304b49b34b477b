import Addresses

/// The contacts and blocks of users without a session that posts have needed: an app may change its user's status, or wait for
/// events, again and again without one, and thousands of contacts are not read each time. The judge applies their changes
/// (`Effect.contactSnapshot`).
///
/// Bounded by `Limits.keptContactsBytesMax`: at the bound all are dropped.
struct KeptContacts {
  private var snapshots: [UserID: (snapshot: ContactSnapshot, bytes: Int)] = [:]
  private var bytes = 0

  subscript(user: UserID) -> ContactSnapshot? { snapshots[user]?.snapshot }

  /// Keeps a snapshot that has just been read. The rosters that doors make of it are not kept.
  mutating func keep(_ snapshot: ContactSnapshot) {
    drop(snapshot.user.id)
    let size = snapshot.heldBytes
    if bytes + size > Limits.keptContactsBytesMax { self = KeptContacts() }
    snapshots[snapshot.user.id] = (snapshot.with(), size)
    bytes += size
  }

  /// Applies a change of anything but contacts and blocks.
  mutating func change(_ user: UserID, _ change: (ContactSnapshot) -> ContactSnapshot) {
    guard let known = snapshots[user] else { return }
    let changed = change(known.snapshot)
    snapshots[user] = (changed, changed.heldBytes)
    bytes += changed.heldBytes - known.bytes
    if bytes > Limits.keptContactsBytesMax { self = KeptContacts() }
  }

  mutating func drop(_ user: UserID) {
    if let known = snapshots.removeValue(forKey: user) { bytes -= known.bytes }
  }
}

extension Profile {
  /// The bytes of its texts.
  var byteCount: Int {
    [displayName, status, avatarHash, metadata, avatarURL].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
  }
}
