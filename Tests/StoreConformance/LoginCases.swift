import Dialogs

enum LoginCase {
  static func grant(_ user: UserID, byte: UInt8) -> Grant {
    Grant(
      id: 0, user: user, device: "device\(byte)", access: [byte, 1, 0], accessExpires: Timestamp(milliseconds: 100),
      refresh: [byte, 2, 0], previousRefresh: nil, createdAt: Timestamp(milliseconds: 1),
      usedAt: Timestamp(milliseconds: 2), client: nil)
  }
}

extension StoreConformance {
  static let logins: [Case] = [
    Case(name: "a grant gets a number and is found by its tokens") { scene in
      try scene.write {
        try $0.put(LoginCase.grant(scene.romeo.id, byte: 1))
        try $0.put(LoginCase.grant(scene.romeo.id, byte: 2))
        try $0.put(LoginCase.grant(scene.juliet.id, byte: 3))
      }
      try scene.read { reader in
        let found = try reader.grant(access: [1, 1, 0])
        try require((found?.id ?? 0) != 0, "no number")
        try equal(found?.device, "device1")
        try equal(try reader.grant(refresh: [2, 2, 0])?.device, "device2")
        try equal(try reader.grant(access: [1, 2, 0]), nil)
        try equal(try reader.grant(refresh: [9]), nil)
        try equal(Set(try reader.grants(of: scene.romeo.id).map(\.device)), ["device1", "device2"])
        try equal(try reader.grants(of: scene.nurse.id), [])
        try equal(Set(try reader.grants(of: scene.romeo.id).map(\.id)).count, 2)
      }
    },
    Case(name: "a grant is renewed, and its spent refresh token still finds it") { scene in
      var grant = try scene.write { writer in
        try writer.put(LoginCase.grant(scene.romeo.id, byte: 1))
        guard let grant = try writer.grant(access: [1, 1, 0]) else { throw Unmet(description: "no grant") }
        return grant
      }
      grant.previousRefresh = grant.refresh
      grant.refresh = [7]
      grant.access = [8]
      grant.accessExpires = Timestamp(milliseconds: 200)
      grant.usedAt = Timestamp(milliseconds: 9)
      grant.client = "client/1"
      try scene.write { [grant] in try $0.put(grant) }
      try scene.read { reader in
        try equal(try reader.grant(access: [8]), grant)
        try equal(try reader.grant(refresh: [7]), grant)
        try equal(try reader.grant(refresh: [1, 2, 0]), grant)
        try equal(try reader.grant(access: [1, 1, 0]), nil)
        try equal(try reader.grants(of: scene.romeo.id), [grant])
      }
    },
    Case(name: "grants are removed one by one and all") { scene in
      try scene.write { writer in
        for byte in 1...3 { try writer.put(LoginCase.grant(scene.romeo.id, byte: UInt8(byte))) }
        try writer.put(LoginCase.grant(scene.juliet.id, byte: 9))
        guard let first = try writer.grant(access: [1, 1, 0]) else { throw Unmet(description: "no grant") }
        // Not another user's.
        try writer.removeGrant(first.id, of: scene.juliet.id)
        try equal(try writer.grants(of: scene.romeo.id).count, 3)
        try writer.removeGrant(first.id, of: scene.romeo.id)
        try equal(try writer.grant(access: [1, 1, 0]), nil)
        try equal(try writer.grants(of: scene.romeo.id).count, 2)
        try writer.removeGrants(of: scene.romeo.id)
      }
      try equal(try scene.read { try $0.grants(of: scene.romeo.id) }, [])
      try equal(try scene.read { try $0.grants(of: scene.juliet.id).count }, 1)
    },
    Case(name: "a stream's count is kept until it is too old") { scene in
      let one = StreamNonce(high: .max, low: 1)
      let other = StreamNonce(high: 1, low: .max)
      try scene.write {
        try $0.setHandled(one, 5, at: Timestamp(milliseconds: 10))
        try $0.setHandled(other, .max, at: Timestamp(milliseconds: 20))
        try $0.setHandled(one, 6, at: Timestamp(milliseconds: 15))
      }
      try equal(try scene.read { try $0.handled(one) }, 6)
      try equal(try scene.read { try $0.handled(other) }, .max)
      try equal(try scene.read { try $0.handled(StreamNonce(high: 1, low: 1)) }, nil)
      try scene.write { try $0.removeStreams(before: Timestamp(milliseconds: 20)) }
      try equal(try scene.read { try $0.handled(one) }, nil)
      try equal(try scene.read { try $0.handled(other) }, .max)
    },
    Case(name: "suspended sessions are replaced whole") { scene in
      let sessions = (1...3).map { index in
        SuspendedSession(
          user: scene.romeo.id, stream: StreamNonce(high: .max, low: UInt64(index)),
          expires: Timestamp(milliseconds: 77), state: [UInt8](repeating: UInt8(index), count: index * 1_000))
      }
      try scene.write { try $0.setSuspended(sessions) }
      try scene.reopen()
      try equal(try scene.read { try $0.suspended() }, sessions)
      try scene.write { try $0.setSuspended([sessions[2]]) }
      try equal(try scene.read { try $0.suspended() }, [sessions[2]])
      try scene.write { try $0.setSuspended([]) }
      try equal(try scene.read { try $0.suspended() }, [])
    },
  ]
}
