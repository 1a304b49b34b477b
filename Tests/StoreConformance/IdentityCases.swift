import Basics
import Dialogs

extension StoreConformance {
  static let identities: [Case] = [
    Case(name: "an identity is one user's, and a user has several") { scene in
      let (mail, prn) = (Identity(.email, "romeo@montague.example"), Identity(.external, "romeo"))
      let (same, google) = (Identity(.email, "romeo"), Identity(.provider("google"), "romeo"))
      try scene.write { writer in
        for (index, identity) in [mail, prn, google].enumerated() {
          try writer.put(
            UserIdentity(identity, of: scene.romeo.id, since: Timestamp(milliseconds: Int64(index))), in: scene.realm.id
          )
        }
        // Again, later: the first time stays.
        try writer.put(UserIdentity(mail, of: scene.romeo.id, since: Timestamp(milliseconds: 9)), in: scene.realm.id)
        try writer.put(UserIdentity(same, of: scene.nurse.id, since: Timestamp(milliseconds: 1)), in: scene.realm.id)
      }
      do {
        try scene.write { writer in
          try writer.put(UserIdentity(prn, of: scene.nurse.id, since: Timestamp(milliseconds: 1)), in: scene.realm.id)
        }
        throw Unmet(description: "an identity has two users")
      } catch is StoreConflict {}
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.user(of: prn, in: scene.realm.id), scene.romeo.id)
        try equal(try reader.user(of: same, in: scene.realm.id), scene.nurse.id)
        try equal(try reader.user(of: Identity(.provider("facebook"), "romeo"), in: scene.realm.id), nil)
        try equal(
          try reader.identities(of: scene.romeo.id).map { "\($0.identity) \($0.since.milliseconds)" },
          ["\(mail) 0", "\(prn) 1", "\(google) 2"])
      }
    },
    Case(name: "an identity goes alone, or with its user") { scene in
      let (mail, phone) = (Identity(.email, "romeo@montague.example"), Identity(.phone, "+39045800000"))
      try scene.write { writer in
        for identity in [mail, phone] {
          try writer.put(
            UserIdentity(identity, of: scene.romeo.id, since: Timestamp(milliseconds: 1)), in: scene.realm.id)
        }
        try writer.remove(mail, of: scene.nurse.id)
        try writer.remove(phone, of: scene.romeo.id)
      }
      try equal(try scene.read { try $0.identities(of: scene.romeo.id).map(\.identity) }, [mail])
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try equal(try scene.read { try $0.identities(of: scene.romeo.id).map(\.identity) }, [])
      try equal(try scene.read { try $0.user(of: mail, in: scene.realm.id) }, nil)
    },
  ]
}
