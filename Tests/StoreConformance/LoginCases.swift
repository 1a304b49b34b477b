import Basics
import Dialogs

enum LoginCase {
  static func grant(_ user: UserID, byte: UInt8) -> Grant {
    Grant(
      id: 0, user: user, device: "device\(byte)", access: [byte, 1, 0], accessExpires: Timestamp(milliseconds: 100),
      refresh: [byte, 2, 0], previousRefresh: nil, createdAt: Timestamp(milliseconds: 1),
      usedAt: Timestamp(milliseconds: 2), client: nil)
  }
}

extension LoginCase {
  static func client(_ user: UserID, _ agent: String, _ source: Access.Source = .password) -> Client {
    Client(
      id: 0, user: user, agent: agent, software: "S", device: nil, source: source,
      new: Client.Token(mechanism: "HT", nonce: [1, 0, 2], expires: Timestamp(milliseconds: 9)),
      createdAt: Timestamp(milliseconds: 1), usedAt: Timestamp(milliseconds: 2))
  }

  static func keys(_ byte: UInt8, _ hash: SCRAMHash = .sha256) -> SCRAMKeys {
    SCRAMKeys(
      hash: hash, salt: [7, 7], iterations: 9, storedKey: [UInt8](repeating: byte, count: hash.byteCount),
      serverKey: [UInt8](repeating: byte + 1, count: hash.byteCount))
  }
}

extension StoreConformance {
  static let logins: [Case] = [
    Case(name: "a client is found by its user and its UUID, and is replaced with its tokens") { scene in
      let (romeo, juliet) = (scene.romeo.id, scene.juliet.id)
      try scene.write {
        try $0.put(LoginCase.client(romeo, "a"))
        try $0.put(LoginCase.client(romeo, "b", .grant(5)))
        try $0.put(LoginCase.client(juliet, "a", .appPassword(6)))
      }
      try scene.reopen()
      guard var client = try scene.read({ try $0.client("a", of: romeo) }) else {
        throw Unmet(description: "no client")
      }
      var expected = LoginCase.client(romeo, "a")
      expected.id = client.id
      try equal(client, expected)
      try require(client.id != 0, "no number")
      client.current = Client.Token(
        mechanism: "HT2", nonce: [0xff], expires: Timestamp(milliseconds: 10), count: 8)
      client.new = nil
      client.device = "D"
      client.usedAt = Timestamp(milliseconds: 77)
      try scene.write { [client] in try $0.put(client) }
      try scene.read { reader in
        try equal(try reader.client("a", of: romeo), client)
        try equal(try reader.clients(of: romeo).map(\.agent), ["a", "b"])
        try equal(try reader.clients(of: romeo).map(\.source), [.password, .grant(5)])
        try equal(try reader.client("a", of: juliet)?.source, .appPassword(6))
        try equal(try reader.client("b", of: juliet), nil)
      }
    },
    Case(name: "clients are removed one by one, by their source and all") { scene in
      let (romeo, juliet) = (scene.romeo.id, scene.juliet.id)
      let sources: [Access.Source] = [.password, .grant(1), .grant(1), .grant(2), .appPassword(1)]
      try scene.write { writer in
        for (index, source) in sources.enumerated() { try writer.put(LoginCase.client(romeo, "\(index)", source)) }
        try writer.put(LoginCase.client(juliet, "x", .grant(1)))
        guard let first = try writer.client("0", of: romeo) else { throw Unmet(description: "no client") }
        // A user cannot remove another user's.
        try writer.removeClient(first.id, of: juliet)
        try equal(try writer.clients(of: romeo).count, 5)
        try writer.removeClient(first.id, of: romeo)
        try writer.removeClients(of: romeo, from: .grant(1))
        try equal(try writer.clients(of: romeo).map(\.agent), ["3", "4"])
        try writer.removeClients(of: romeo)
      }
      try equal(try scene.read { try $0.clients(of: romeo) }, [])
      try equal(try scene.read { try $0.clients(of: juliet).count }, 1)
    },
    Case(name: "an app password has the salts of the account's, and goes alone or with the others") { scene in
      let (romeo, juliet) = (scene.romeo.id, scene.juliet.id)
      func password(_ user: UserID, _ name: String) -> AppPassword {
        AppPassword(id: 0, user: user, name: name, createdAt: Timestamp(milliseconds: 3), usedAt: nil)
      }
      let ids = try scene.write { writer in
        try writer.setCredentials([LoginCase.keys(1), LoginCase.keys(1, .sha1)], for: romeo)
        let one = try writer.insertAppPassword(
          password(romeo, "one"), keys: [LoginCase.keys(2), LoginCase.keys(2, .sha1)])
        let two = try writer.insertAppPassword(password(romeo, "two"), keys: [LoginCase.keys(4)])
        _ = try writer.insertAppPassword(password(juliet, "hers"), keys: [LoginCase.keys(6)])
        try writer.setUsed(Timestamp(milliseconds: 9), appPassword: two.id, of: romeo)
        try writer.setUsed(Timestamp(milliseconds: 9), appPassword: one.id, of: juliet)
        return [one.id, two.id]
      }
      try scene.read { reader in
        let list = try reader.appPasswords(of: romeo)
        try equal(list.map(\.id), ids)
        try equal(list.map(\.name), ["one", "two"])
        try equal(list.map(\.usedAt), [nil, Timestamp(milliseconds: 9)])
        let keys = try reader.appPasswordKeys(of: romeo)
        try equal(keys.map(\.password), [ids[0], ids[0], ids[1]])
        try equal(keys.map(\.keys), [LoginCase.keys(2, .sha1), LoginCase.keys(2), LoginCase.keys(4)])
      }
      try scene.write { writer in
        try writer.removeAppPassword(ids[0], of: juliet)
        try equal(try writer.appPasswords(of: romeo).count, 2)
        try writer.removeAppPassword(ids[0], of: romeo)
        try equal(try writer.appPasswordKeys(of: romeo).map(\.password), [ids[1]])
        try writer.removeAppPasswords(of: romeo)
      }
      try equal(try scene.read { try $0.appPasswords(of: romeo) }, [])
      try equal(try scene.read { try $0.appPasswordKeys(of: romeo).count }, 0)
      try equal(try scene.read { try $0.appPasswords(of: juliet).count }, 1)
    },
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
        // A user cannot remove another user's.
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
      func removes(before time: Int64, slice: UInt8) throws {
        try scene.write { try $0.removeStreams(before: Timestamp(milliseconds: time), slice: slice) }
      }
      // Those of other slices are looked at another time.
      for slice in 0..<UInt8.max { try removes(before: 20, slice: slice) }
      try equal(try scene.read { try $0.handled(one) }, 6)
      try equal(try scene.read { try $0.handled(other) }, .max)
      try removes(before: 15, slice: .max)
      try equal(try scene.read { try $0.handled(one) }, 6)
      try removes(before: 20, slice: .max)
      try equal(try scene.read { try $0.handled(one) }, nil)
      try removes(before: 21, slice: 0)
      try equal(try scene.read { try $0.handled(other) }, nil)
    },
    Case(name: "suspended sessions are replaced whole") { scene in
      let sessions = (1...3).map { index in
        SuspendedSession(
          user: scene.romeo.id, stream: StreamNonce(high: .max, low: UInt64(index)),
          expires: Timestamp(milliseconds: 77), state: [UInt8](repeating: UInt8(index), count: index * 1_000))
      }
      func found(_ bytesMax: Int = .max, inAll: Int = .max) throws -> [SuspendedSession] {
        try scene.read { try $0.suspended(bytesMax: bytesMax, inAll: inAll) }
      }
      try scene.write { try $0.setSuspended(sessions) }
      try scene.reopen()
      try equal(try found(), sessions)
      // The largest are left out.
      try equal(try found(2_999), Array(sessions[..<2]))
      try equal(try found(inAll: 5_999), Array(sessions[..<2]))
      try equal(try found(inAll: 2_999), [sessions[0]])
      try equal(try found(999), [])
      try scene.write { try $0.setSuspended([sessions[2]]) }
      try equal(try found(), [sessions[2]])
      try scene.write { try $0.setSuspended([]) }
      try equal(try found(), [])
    },
    Case(name: "the stanzas of suspended sessions are read and removed by themselves") { scene in
      func session(_ number: UInt64, _ stanzas: [UInt8], expires: Int64 = 77) -> SuspendedSession {
        SuspendedSession(
          user: number == 3 ? scene.juliet.id : scene.romeo.id, stream: StreamNonce(high: .max, low: number),
          expires: Timestamp(milliseconds: expires), state: [UInt8(number)], stanzas: stanzas)
      }
      func stanzas() throws -> [[[UInt8]]] {
        try scene.read { reader in
          try [UInt64(1), 2, 3].map { try reader.stanzas(of: StreamNonce(high: .max, low: $0)) }
        }
      }
      func states() throws -> [[UInt8]] {
        try scene.read { try $0.suspended(bytesMax: .max, inAll: .max).map(\.state) }
      }
      try scene.write {
        try $0.setSuspended([session(1, [10]), session(2, [20, 21], expires: 99), session(3, [30])])
      }
      try scene.reopen()
      try equal(try stanzas(), [[[10]], [[20, 21]], [[30]]])
      // The sessions of this process are forgotten, and their stanzas wait.
      try scene.write { try $0.forgetSuspended() }
      try equal(try states(), [])
      try equal(try stanzas(), [[[10]], [[20, 21]], [[30]]])
      // The next stop: one has nothing more, one has, one is not there any more.
      try scene.write { try $0.setSuspended([session(1, [], expires: 98), session(2, [22], expires: 99)]) }
      try equal(try states(), [[1], [2]])
      try equal(try stanzas(), [[[10]], [[20, 21], [22]], [[30]]])
      func sweep(_ time: Int64, limit: Int = 9) throws -> Int {
        try scene.write { try $0.removeStanzas(expiredBefore: Timestamp(milliseconds: time), limit: limit) }
      }
      // Those of before expire with the session as the last stop has stored it.
      try equal(try sweep(98), 1)
      try equal(try stanzas(), [[[10]], [[20, 21], [22]], []])
      try scene.write { try $0.removeSuspended(StreamNonce(high: .max, low: 1)) }
      try equal(try states(), [[2]])
      try equal(try stanzas(), [[], [[20, 21], [22]], []])
      try equal(try sweep(99), 0)
      try equal(try sweep(100, limit: 1), 1)
      try equal(try stanzas().map(\.count), [0, 1, 0])
      try equal(try sweep(100, limit: 1), 1)
      try equal(try sweep(100, limit: 1), 0)
      try equal(try stanzas(), [[], [], []])
      // What a deleted user was sent is personal data.
      try scene.write {
        try $0.setSuspended([session(1, [10]), session(3, [30])])
        try $0.erasePersonalData(scene.juliet.id)
      }
      try equal(try stanzas(), [[[10]], [], []])
      try equal(try states(), [[1]])
    },
  ]
}
