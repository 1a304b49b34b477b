import Basics
import Dialogs

extension Scene {
  fileprivate func key(_ id: Int64, _ name: String, scopes: Set<AppKey.Scope> = [.usersRead]) -> AppKey {
    AppKey(
      id: id, realm: realm.id, name: name, prefix: "parley_\(id)", hash: [UInt8(id), 0, 0xff], scopes: scopes,
      createdAt: Timestamp(milliseconds: 1))
  }

  fileprivate func hook(_ id: Int64) -> Hook {
    Hook(
      id: id, realm: realm.id, url: "https://a.example/hook", events: ["message.*", "user.created"], secret: [0, 1, 2],
      isTrusted: id == 1, createdAt: Timestamp(milliseconds: 1),
      progress: Hook.Progress(position: Position(3), outboxEvent: 2))
  }

  fileprivate func failure(_ hook: Int64, _ message: String, outboxEvent: Int64 = 0) -> HookFailure {
    HookFailure(
      hook: hook, position: Position(5), outboxEvent: outboxEvent, event: "message.created", message: message,
      failedAt: Timestamp(milliseconds: 7), reason: "status 500")
  }
}

extension StoreConformance {
  static let backends: [Case] = [
    Case(name: "a key is found by its hash, and is its realm's") { scene in
      let (one, two) = (scene.key(1, "one", scopes: [.usersRead, .webhooks]), scene.key(2, "two"))
      try scene.write { writer in
        try writer.put(two)
        try writer.put(one)
        try writer.setUsed(Timestamp(milliseconds: 9), appKey: 2)
      }
      try scene.reopen()
      var used = two
      used.usedAt = Timestamp(milliseconds: 9)
      try scene.read { reader in
        try equal(try reader.appKey(hash: [1, 0, 0xff]), one)
        try equal(try reader.appKey(hash: [1, 0]), nil)
        try equal(try reader.appKeys(in: scene.realm.id), [one, used])
        try equal(try reader.appKeys(in: RealmID(99)), [])
      }
      try equal(try scene.write { try $0.removeAppKey(1, in: RealmID(99)) }, false)
      try equal(try scene.write { try $0.removeAppKey(1, in: scene.realm.id) }, true)
      try equal(try scene.write { try $0.removeAppKey(1, in: scene.realm.id) }, false)
      try equal(try scene.read { try $0.appKey(hash: one.hash) }, nil)
    },
    Case(name: "acts are kept by number and age, those of each realm for themselves, and read backwards") { scene in
      func record(_ number: Int, _ surface: AuditActor.Surface = .http) -> AuditRecord {
        AuditRecord(
          actor: AuditActor(
            surface, realm: surface == .http ? scene.realm.id : AuditActor.operators, key: 1, name: "one",
            keyPrefix: "parley_a", origin: "192.0.2.1"),
          time: Timestamp(milliseconds: Int64(number)), operation: "users.add", object: "romeo", status: 200 + number,
          code: number == 5 ? "user-unknown" : "")
      }
      func insert(_ record: AuditRecord, since time: Int64 = 0) throws {
        try scene.write { try $0.insert(record, keeping: 3, since: Timestamp(milliseconds: time)) }
      }
      try insert(record(0, .socket))
      for number in 1...5 { try insert(record(number)) }
      let kept = try scene.read { try $0.audit(in: nil, before: .max, limit: 10) }
      try equal(kept.map(\.status), [205, 204, 203, 200])
      var last = record(5)
      last.id = kept[0].id
      try equal(kept[0], last)
      try insert(record(6, .xmpp), since: 1)
      try equal(try scene.read { try $0.audit(in: AuditActor.operators, before: .max, limit: 10) }.map(\.status), [206])
      try scene.read { reader in
        let all = try reader.audit(in: scene.realm.id, before: .max, limit: 10)
        try equal(all.map(\.status), [205, 204, 203])
        try equal(try reader.audit(in: scene.realm.id, before: all[0].id, limit: 1).map(\.status), [204])
        try equal(try reader.audit(in: RealmID(99), before: .max, limit: 10), [])
      }
    },
    Case(name: "a hook keeps its progress when it is changed, and itself when that moves") { scene in
      var hook = scene.hook(1)
      try scene.write { try $0.put(keepingProgress: hook) }
      hook.progress = Hook.Progress(position: Position(9), outboxEvent: 4)
      (hook.progress.attempts, hook.progress.failures) = (1, 2)
      (hook.progress.failingSince, hook.progress.next) = (Timestamp(milliseconds: 10), Timestamp(milliseconds: 20))
      (hook.progress.state, hook.progress.reason) = (.disabled, "status 500")
      try scene.write { [hook] in try $0.setProgress(hook.progress, of: 1) }
      hook.url = "https://b.example/hook"
      (hook.previousSecret, hook.previousUntil) = ([9], Timestamp(milliseconds: 99))
      var stale = hook
      stale.progress = Hook.Progress(position: .zero, outboxEvent: 0)
      try scene.write { [stale] in try $0.put(keepingProgress: stale) }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.hook(1), hook)
        try equal(try reader.hooks(), [hook])
        try equal(try reader.hook(2), nil)
      }
      try scene.write { writer in
        try writer.insert(scene.failure(1, "evt_1"), keeping: 10)
        for position in [Position(3), Position(4)] {
          try writer.put(HookLane(hook: 1, dialog: DialogID(5), position: position))
        }
        try equal(try writer.hookLanes(of: 1).map(\.position), [Position(4)])
        try writer.removeHook(1)
        try writer.setProgress(hook.progress, of: 1)
      }
      try equal(try scene.read { try $0.hooks().count + (try $0.hookFailureCount(of: 1)) }, 0)
      try equal(try scene.read { try $0.hookLanes(of: 1).count }, 0)
    },
    Case(name: "outbox events are kept in order until no hook needs them") { scene in
      func outboxEvent(_ kind: OutboxEvent.Kind, _ user: Party) -> OutboxEvent {
        OutboxEvent(
          realm: scene.realm.id, kind: kind, user: user.id, detail: 3, time: Timestamp(milliseconds: 5),
          position: Position(2))
      }
      try equal(try scene.read { try $0.lastOutboxEvent() }, 0)
      try scene.write { writer in
        try writer.insert(outboxEvent(.userCreated, scene.romeo))
        try writer.insert(outboxEvent(.userDeleted, scene.romeo))
        try writer.insert(outboxEvent(.reportCreated, scene.juliet))
      }
      try scene.read { reader in
        let all = try reader.outboxEvents(in: scene.realm.id, after: 0, limit: 10)
        try equal(all.map(\.kind), [.userCreated, .userDeleted, .reportCreated])
        try equal(all.map(\.id).sorted(), all.map(\.id))
        try equal(try reader.outboxEvents(in: scene.realm.id, after: all[0].id, limit: 1), [all[1]])
        try equal(try reader.outboxEvent(all[2].id), all[2])
        try equal(try reader.lastOutboxEvent(), all[2].id)
      }
      let ids = try scene.read { try $0.outboxEvents(in: scene.realm.id, after: 0, limit: 10).map(\.id) }
      try scene.write { writer in
        // A failure still names the first.
        try writer.insert(scene.failure(1, "evt_1", outboxEvent: ids[0]), keeping: 10)
        try writer.removeOutboxEvents(in: scene.realm.id, upTo: ids[2])
      }
      try scene.read { reader in
        try equal(try reader.outboxEvents(in: scene.realm.id, after: 0, limit: 10).map(\.id), [ids[0]])
        try equal(try reader.lastOutboxEvent(), ids[2])
      }
    },
    Case(name: "failures are kept, the newest, each once, and are due when somebody asks") { scene in
      for number in 1...4 {
        try scene.write { try $0.insert(scene.failure(1, "evt_\(number)"), keeping: 3) }
      }
      try scene.write { try $0.insert(scene.failure(1, "evt_4"), keeping: 3) }
      try scene.write { try $0.insert(scene.failure(2, "evt_4"), keeping: 3) }
      let all = try scene.read { try $0.hookFailures(of: 1, after: 0, limit: 10) }
      try equal(all.map(\.message), ["evt_2", "evt_3", "evt_4"])
      try equal(try scene.read { try $0.hookFailures(of: 1, after: all[0].id, limit: 1) }, [all[1]])
      try equal(try scene.write { try $0.setHookFailuresDue([all[1].id, 999], of: 1) }, 1)
      try equal(try scene.write { try $0.setHookFailuresDue([all[1].id], of: 2) }, 0)
      try equal(try scene.read { try $0.dueHookFailures(of: 1, limit: 10).map(\.message) }, ["evt_3"])
      var changed = all[1]
      (changed.reason, changed.failedAt) = ("status 502", Timestamp(milliseconds: 8))
      try scene.write { [changed] in try $0.replace(changed) }
      try equal(try scene.read { try $0.dueHookFailures(of: 1, limit: 10).count }, 0)
      try equal(try scene.read { try $0.hookFailures(of: 1, after: all[0].id, limit: 1) }, [changed])
      try equal(try scene.write { try $0.removeHookFailures([all[0].id], of: 1) }, 1)
      try equal(try scene.write { try $0.setHookFailuresDue(nil, of: 1) }, 2)
      try equal(try scene.write { try $0.removeHookFailures(nil, of: 1) }, 2)
      try equal(try scene.read { try $0.hookFailureCount(of: 2) }, 1)
    },
    Case(name: "the log is read by position, whatever the dialog") { scene in
      let (one, two, three) = try scene.write { writer in
        (
          try scene.say("one", by: scene.romeo, to: scene.juliet, writer),
          try scene.say("two", by: scene.nurse, to: scene.romeo, writer),
          try scene.say("three", by: scene.juliet, to: scene.romeo, writer)
        )
      }
      try scene.read { reader in
        try equal(try reader.log(for: .hooks, after: .zero, limit: 10), [one, two, three])
        try equal(try reader.log(for: .hooks, after: one.position, limit: 1), [two])
        try equal(try reader.entry(at: two.position, for: .hooks), two)
        try equal(try reader.entry(at: Position(999), for: .hooks).map(\.position), nil)
      }
    },
  ]
}
