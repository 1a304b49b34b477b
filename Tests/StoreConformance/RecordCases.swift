import Basics
import Dialogs

extension Scene {
  fileprivate func invite(_ token: UInt8, by inviter: UserID?, expires: Int64, id: Int64 = 0) -> Invite {
    Invite(
      id: id, realm: realm.id, kind: .account, token: [token], inviter: inviter, name: nil, createdAt: time,
      expires: Timestamp(milliseconds: expires))
  }
}

extension StoreConformance {
  /// The verbs of records, by a kind that is as good as any other.
  static let records: [Case] = [
    Case(name: "records meet all conditions, in order, up to the limit") { scene in
      try scene.write { writer in
        for (token, expires) in [(1, 40), (2, 30), (3, 20), (4, 10)] as [(UInt8, Int64)] {
          try writer.put(scene.invite(token, by: token == 1 ? nil : scene.romeo.id, expires: expires))
        }
      }
      try scene.read { reader in
        func tokens(_ found: [Invite]) -> [UInt8] { found.map { $0.token[0] } }
        try equal(tokens(try reader.records(Invite.self)), [1, 2, 3, 4], "by key")
        try equal(tokens(try reader.records(Invite.self, isDescending: true, limit: 2)), [4, 3], "descending")
        try equal(tokens(try reader.records(Invite.self, by: .expires, limit: 3)), [4, 3, 2], "by a field")
        try equal(tokens(try reader.records(Invite.self, .equal(.inviter, nil as UserID?))), [1], "without a value")
        let open = try reader.records(Invite.self, .present(.inviter), .above(.expires, 20 as Int64))
        try equal(tokens(open), [2], "both")
        let none = try reader.records(Invite.self, .above(.inviter, nil as UserID?), .atLeast(.expires, 0 as Int64))
        try equal(tokens(none), [], "nothing is above nothing, and the other condition keeps its value")
        try equal(
          tokens(try reader.records(Invite.self, .atLeast(.expires, 20 as Int64), .atMost(.expires, 30 as Int64))),
          [2, 3], "bounds that belong to the range")
        try equal(tokens(try reader.records(Invite.self, .below(.expires, 20 as Int64))), [4], "a bound that does not")
        try equal(try reader.count(Invite.self, .equal(.inviter, scene.romeo.id)), 3, "how many")
        try equal(try reader.count(Invite.self, .equal(.inviter, scene.romeo.id), limit: 2), 2, "how many at most")
        try equal(try reader.count(Invite.self, limit: 9), 4, "fewer than the limit")
        try equal(try reader.record(Invite.self, .equal(.token, [9])), nil, "none")
      }
    },
    Case(name: "a record is replaced by its key, its number is never another's, and conditions change and remove it") {
      scene in
      let ids = try scene.write { writer in
        try [1, 2, 3].map { try writer.put(scene.invite($0, by: nil, expires: 10)).id }
      }
      try equal(Set(ids).count, 3, "numbers")
      try scene.write { writer in
        try writer.put(scene.invite(7, by: nil, expires: 70, id: ids[0]))
        try equal(
          try writer.update(Invite.self, .equal(.expires, 10 as Int64), to: [.isUsed: true.field]), 2, "changed")
        try writer.replace(scene.invite(9, by: nil, expires: 90, id: ids[2] + 1))
        try equal(try writer.remove(Invite.self, .equal(.id, ids[2])), 1, "removed")
        try equal(try writer.remove(Invite.self, .equal(.id, ids[2])), 0, "removed again")
        let later = try writer.put(scene.invite(4, by: nil, expires: 10)).id
        try require(later > ids[2], "a number is given again")
      }
      try scene.read { reader in
        try equal(try reader.records(Invite.self).map { $0.token[0] }, [7, 2, 4], "what is there")
        try equal(try reader.record(Invite.self, .equal(.token, [7]))?.expires.milliseconds, 70, "replaced")
        try equal(try reader.records(Invite.self).map(\.isUsed), [false, true, false], "changed")
      }
    },
  ]
}
