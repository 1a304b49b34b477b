import Basics
import Dialogs

extension Scene {
  fileprivate func invite(
    _ byte: UInt8, by inviter: Party?, name: String? = nil, expires: Int64 = 1_000
  ) -> Invite {
    Invite(
      realm: realm.id, kind: inviter == nil ? .account : .contact, token: [byte, 0, 0xff], inviter: inviter?.id,
      name: name, createdAt: Timestamp(milliseconds: 1), expires: Timestamp(milliseconds: expires))
  }

  fileprivate func report(of reported: String, by reporter: Party, at time: Int64) -> Report {
    Report(
      realm: realm.id, reporter: reporter.id, reported: reported, reason: "urn:xmpp:reporting:spam", text: "",
      consent: [.thirdParty],
      messages: [Report.Message(id: "2", text: "Buy!"), Report.Message(id: "1", text: nil)],
      createdAt: Timestamp(milliseconds: time))
  }
}

extension StoreConformance {
  static let invites: [Case] = [
    Case(name: "an invitation gets a number, is found by its token, and is used once") { scene in
      let (one, two) = try scene.write { writer in
        (
          try writer.put(scene.invite(1, by: scene.romeo)),
          try writer.put(scene.invite(2, by: nil, name: "benvolio"))
        )
      }
      try require(one.id != 0 && two.id > one.id, "no numbers")
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.invite(token: [1, 0, 0xff]), one)
        try equal(try reader.invite(token: [1, 0]), nil)
        try equal(try reader.invites(in: scene.realm.id, limit: 10), [one, two])
        try equal(try reader.invites(in: scene.realm.id, limit: 1), [one])
        try equal(try reader.inviteCount(by: scene.romeo.id, in: scene.realm.id), 1)
        try equal(try reader.inviteCount(by: nil, in: scene.realm.id), 1)
        try equal(try reader.inviteCount(by: scene.nurse.id, in: scene.realm.id), 0)
      }
      try scene.write { try $0.setUsed(two.id) }
      try equal(try scene.read { try $0.invite(token: two.token)?.isUsed }, true)
      // A used invite stays until it expires; an unused one can be removed.
      try equal(try scene.write { try $0.removeInvite(two.id) }, false)
      try equal(try scene.write { try $0.removeInvite(one.id) }, true)
      try equal(try scene.write { try $0.removeInvite(one.id) }, false)
      try equal(try scene.read { try $0.invites(in: scene.realm.id, limit: 10).map(\.id) }, [two.id])
    },
    Case(name: "an invitation reserves its name until it is used or over") { scene in
      let invite = try scene.write { try $0.put(scene.invite(1, by: nil, name: "benvolio", expires: 500)) }
      func reserving(_ time: Int64) throws -> Invite? {
        try scene.read {
          try $0.invite(reserving: "benvolio", in: scene.realm.id, after: Timestamp(milliseconds: time))
        }
      }
      try equal(try reserving(499), invite)
      try equal(try reserving(500), nil)
      try scene.write { try $0.setUsed(invite.id) }
      try equal(try reserving(1), nil)
    },
    Case(name: "invitations go when they are over, and with their inviter") { scene in
      try scene.write {
        _ = try $0.put(scene.invite(1, by: scene.romeo, expires: 10))
        _ = try $0.put(scene.invite(2, by: scene.romeo, expires: 20))
        _ = try $0.put(scene.invite(3, by: scene.juliet, expires: 30))
        _ = try $0.put(scene.invite(4, by: nil, expires: 30))
        try $0.removeInvites(before: Timestamp(milliseconds: 20))
      }
      try equal(try scene.read { try $0.invites(in: scene.realm.id, limit: 10).map { $0.token[0] } }, [2, 3, 4])
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try equal(try scene.read { try $0.invites(in: scene.realm.id, limit: 10).map { $0.token[0] } }, [3, 4])
      // A number is never given out again.
      let last = try scene.read { try $0.invites(in: scene.realm.id, limit: 10).map(\.id).max() ?? 0 }
      let next = try scene.write { writer in
        _ = try writer.removeInvite(last)
        return try writer.put(scene.invite(9, by: nil))
      }
      try require(next.id > last, "a number was given out again")
    },
    Case(name: "reports are counted, read with what they quote, and put away") { scene in
      let (one, two) = try scene.write { writer in
        (
          try writer.insert(scene.report(of: "nurse@verona.example", by: scene.romeo, at: 10)),
          try writer.insert(scene.report(of: "spam.example", by: scene.juliet, at: 20))
        )
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.report(one.id), one)
        try equal(try reader.report(99), nil)
        try equal(try reader.reports(in: scene.realm.id, limit: 10), [two, one])
        try equal(try reader.reports(in: scene.realm.id, limit: 1), [two])
        func count(_ reporter: Party?, _ time: Int64) throws -> Int {
          try reader.reportCount(by: reporter?.id, in: scene.realm.id, since: Timestamp(milliseconds: time))
        }
        try equal(try count(nil, 0), 2)
        try equal(try count(nil, 20), 1)
        try equal(try count(scene.romeo, 10), 1)
        try equal(try count(scene.romeo, 11), 0)
      }
      try equal(try scene.write { try $0.removeReport(one.id) }, true)
      try equal(try scene.write { try $0.removeReport(one.id) }, false)
      try equal(try scene.read { try $0.reports(in: scene.realm.id, limit: 10) }, [two])
    },
    Case(name: "reports wait to be forwarded, the one that is due first at the beginning") { scene in
      func at(_ time: Int64) -> Timestamp { Timestamp(milliseconds: time) }
      let ids = try scene.write { writer in
        try (1...4).map { try writer.insert(scene.report(of: "spam.example", by: scene.romeo, at: $0)).id }
      }
      try scene.write { writer in
        try writer.set(Report.Forwarding(.waiting, at: at(30)), of: ids[0])
        try writer.set(Report.Forwarding(.waiting, at: at(20)), of: ids[1])
        try writer.set(Report.Forwarding(.forwarded, at: at(10)), of: ids[2])
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.reportsToForward(limit: 10).map(\.id), [ids[1], ids[0]])
        try equal(try reader.reportsToForward(limit: 1).map(\.id), [ids[1]])
        try equal(try reader.report(ids[2])?.forwarding, Report.Forwarding(.forwarded, at: at(10)))
        try equal(try reader.report(ids[3])?.forwarding, nil)
      }
      try scene.write { try $0.set(Report.Forwarding(.unreached, at: at(40)), of: ids[1]) }
      try equal(try scene.read { try $0.reportsToForward(limit: 10).map(\.id) }, [ids[0]])
    },
  ]
}
