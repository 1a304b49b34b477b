import Addresses

/// The looks of the nicks of a room's occupants, or of its members. A nick is compared only with those that look like
/// it, so that this costs the same in a large room.
struct NickLooks: Equatable {
  private var looks: [UserID: NickLook] = [:]
  private var alike: [Int: [UserID]] = [:]

  // The order of users with the same hash depends on the order in which they were added.
  static func == (a: Self, b: Self) -> Bool {
    a.looks == b.looks && a.alike.mapValues { Set($0) } == b.alike.mapValues { Set($0) }
  }

  var count: Int { looks.count }

  subscript(user: UserID) -> NickLook? {
    get { looks[user] }
    set {
      if let was = looks[user] {
        for hash in was.hashes {
          alike[hash]?.removeAll { $0 == user }
          if alike[hash]?.isEmpty == true { alike[hash] = nil }
        }
      }
      looks[user] = newValue
      if let newValue {
        for hash in newValue.hashes { alike[hash, default: []].append(user) }
      }
    }
  }

  /// Returns somebody other than the user whose nick is copied.
  func holder(ofOriginalOf look: NickLook, besides user: UserID) -> UserID? {
    for hash in look.hashes {
      for other in alike[hash] ?? [] where other != user {
        if let held = looks[other], look.isCopy(of: held) { return other }
      }
    }
    return nil
  }
}
