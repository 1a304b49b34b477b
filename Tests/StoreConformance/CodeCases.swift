import Basics
import Dialogs

extension StoreConformance {
  static let codes: [Case] = [
    Case(name: "one code of a subject is valid at a time, for each purpose") { scene in
      let mail = Identity(.email, "romeo@montague.example")
      func code(_ seed: UInt8, of user: UserID?, _ expires: Int64) -> OneTimeCode {
        OneTimeCode(
          identity: mail, user: user, seed: [seed], expires: Timestamp(milliseconds: expires), attemptsLeft: 5)
      }
      var second = code(2, of: nil, 20)
      try scene.write { writer in
        try writer.put(code(1, of: nil, 10), in: scene.realm.id)
        try writer.put(second, in: scene.realm.id)
        try writer.put(code(3, of: scene.romeo.id, 30), in: scene.realm.id)
        second.attemptsLeft = 4
        try writer.put(second, in: scene.realm.id)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.code(for: mail, of: nil, in: scene.realm.id), second)
        try equal(try reader.code(for: mail, of: scene.romeo.id, in: scene.realm.id), code(3, of: scene.romeo.id, 30))
        try equal(try reader.code(for: mail, of: scene.nurse.id, in: scene.realm.id), nil)
        try equal(try reader.code(for: Identity(.phone, mail.subject), of: nil, in: scene.realm.id), nil)
      }
      try scene.write { try $0.removeCodes(endedBy: Timestamp(milliseconds: 20)) }
      try equal(try scene.read { try $0.code(for: mail, of: nil, in: scene.realm.id) }, nil)
      try scene.write { try $0.removeCode(for: mail, of: scene.romeo.id, in: scene.realm.id) }
      try equal(try scene.read { try $0.code(for: mail, of: scene.romeo.id, in: scene.realm.id) }, nil)
    },
    Case(name: "password resets are found by their hash, and go with their user or their time") { scene in
      func reset(_ hash: UInt8, _ user: UserID?, _ expires: Int64) -> PasswordReset {
        PasswordReset(hash: [hash], user: user, expires: Timestamp(milliseconds: expires))
      }
      let all = [
        reset(1, scene.romeo.id, 10), reset(2, scene.romeo.id, 20), reset(3, nil, 30), reset(4, scene.nurse.id, 40),
      ]
      try scene.write { writer in for each in all { try writer.put(each) } }
      for each in all { try equal(try scene.read { try $0.passwordReset(token: each.hash) }, each) }
      try scene.write { writer in
        try writer.removePasswordResets(endedBy: Timestamp(milliseconds: 10))
        try writer.removePasswordResets(of: scene.nurse.id)
      }
      let left = try scene.read { reader in try all.compactMap { try reader.passwordReset(token: $0.hash) } }
      try equal(left, [all[1], all[2]])
    },
    Case(name: "a second factor is replaced, and goes with its recovery codes") { scene in
      var factor = SecondFactor(
        user: scene.romeo.id, sealedSecret: [1, 2], isOn: false, lastStep: 0,
        createdAt: Timestamp(milliseconds: 5))
      try scene.write { writer in
        try writer.put(factor)
        factor.isOn = true
        factor.lastStep = 1 << 40
        try writer.put(factor)
        try writer.setRecoveryCodes([[9]], of: scene.romeo.id)
        try writer.setRecoveryCodes([[1], [2], [3]], of: scene.romeo.id)
        try writer.removeRecoveryCode([2], of: scene.romeo.id)
        try writer.removeRecoveryCode([3], of: scene.nurse.id)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.secondFactor(of: scene.romeo.id), factor)
        try equal(try reader.secondFactor(of: scene.nurse.id), nil)
        try equal(Set(try reader.recoveryCodes(of: scene.romeo.id)), [[1], [3]])
      }
      try scene.write { try $0.removeSecondFactor(of: scene.romeo.id) }
      try equal(try scene.read { try $0.secondFactor(of: scene.romeo.id) }, nil)
      try equal(try scene.read { try $0.recoveryCodes(of: scene.romeo.id) }, [])
    },
    Case(name: "the data about signing in is erased with the user") { scene in
      let mail = Identity(.email, "romeo@montague.example")
      try scene.write { writer in
        try writer.put(
          OneTimeCode(
            identity: mail, user: scene.romeo.id, seed: [1], expires: Timestamp(milliseconds: 9), attemptsLeft: 5),
          in: scene.realm.id)
        try writer.put(
          PasswordReset(hash: [1], user: scene.romeo.id, expires: Timestamp(milliseconds: 9)))
        try writer.put(
          SecondFactor(
            user: scene.romeo.id, sealedSecret: [1], isOn: true, lastStep: 1, createdAt: Timestamp(milliseconds: 5)))
        try writer.setRecoveryCodes([[1]], of: scene.romeo.id)
        try writer.setLastLogin(Timestamp(milliseconds: 7), of: scene.romeo.id)
      }
      try equal(try scene.read { try $0.lastLogin(of: scene.romeo.id) }, Timestamp(milliseconds: 7))
      try equal(try scene.read { try $0.lastLogin(of: scene.nurse.id) }, nil)
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try scene.read { reader in
        try equal(try reader.code(for: mail, of: scene.romeo.id, in: scene.realm.id), nil)
        try equal(try reader.passwordReset(token: [1]), nil)
        try equal(try reader.secondFactor(of: scene.romeo.id), nil)
        try equal(try reader.recoveryCodes(of: scene.romeo.id), [])
        try equal(try reader.lastLogin(of: scene.romeo.id), nil)
      }
    },
  ]
}
