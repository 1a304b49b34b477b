import Addresses
import Dialogs

extension StoreConformance {
  static let contacts: [Case] = [
    Case(name: "a roster item is kept whole and replaced") { scene in
      var item = Contact(
        owner: scene.romeo.id, address: scene.juliet.address, peer: scene.juliet.id, name: "J\u{fc}li",
        groups: ["Friends", "", "a,b\nc"], subscription: .to, request: [], version: Position(4))
      let foreign = Contact(
        owner: scene.romeo.id, address: try BareJID("mercutio@elsewhere.example"), peer: nil,
        subscription: .nonePendingOut, version: Position(5))
      try scene.write {
        try $0.put(item)
        try $0.put(foreign)
      }
      try scene.read { reader in
        try equal(try reader.contact(of: scene.romeo.id, scene.juliet.address), item)
        try equal(try reader.contact(of: scene.juliet.id, scene.romeo.address), nil)
        try equal(Set(try reader.contacts(of: scene.romeo.id)), [item, foreign])
        try equal(try reader.contacts(of: scene.juliet.id), [])
      }
      item.name = nil
      item.groups = []
      item.subscription = .toPendingIn
      item.request = [0x3c, 0]
      item.version = Position(6)
      try scene.write { try $0.put(item) }
      try equal(try scene.read { try $0.contact(of: scene.romeo.id, scene.juliet.address) }, item)
      try equal(try scene.read { try $0.rosterVersion(of: scene.romeo.id) }, Position(6))
    },
    Case(name: "a removed item is gone, and its removal is told to who asks for changes") { scene in
      let item = contact(scene, scene.juliet, .both, 4)
      try scene.write {
        try $0.put(item)
        try $0.put(contact(scene, scene.nurse, .from, 5))
        try $0.remove(item, version: Position(6))
      }
      try scene.read { reader in
        try equal(try reader.contact(of: scene.romeo.id, scene.juliet.address), nil)
        try equal(try reader.contacts(of: scene.romeo.id).map(\.address), [scene.nurse.address])
        try equal(try reader.rosterVersion(of: scene.romeo.id), Position(6))
        try equal(try changes(reader, after: 0, scene), ["nurse shown 5", "juliet removed 6"])
        try equal(try changes(reader, after: 5, scene), ["juliet removed 6"])
        try equal(try changes(reader, after: 6, scene), [])
      }
      try scene.write { try $0.put(contact(scene, scene.juliet, .to, 7)) }
      try equal(try scene.read { try changes($0, after: 0, scene) }, ["nurse shown 5", "juliet shown 7"])
      try equal(try scene.read { try $0.contact(of: scene.romeo.id, scene.juliet.address)?.subscription }, .to)
    },
    Case(name: "a change that does not show in a roster is not to be pushed") { scene in
      try scene.write { try $0.put(contact(scene, scene.juliet, .nonePendingIn, 4)) }
      try equal(try scene.read { try changes($0, after: 0, scene) }, ["juliet hidden 4"])
      // The request is withdrawn: nothing was ever shown.
      try scene.write { try $0.remove(contact(scene, scene.juliet, .none, 5), version: Position(5)) }
      try scene.read { reader in
        try equal(try reader.ownContactChanges(of: scene.romeo.id, after: .zero, limit: 9).map(\.push), [false])
        try equal(try reader.contacts(of: scene.romeo.id), [])
        try equal(try reader.rosterVersion(of: scene.romeo.id), Position(5))
      }
    },
    Case(name: "a removal is told although the contact has asked again since") { scene in
      let item = contact(scene, scene.juliet, .both, 4)
      try scene.write {
        try $0.put(item)
        try $0.remove(item, version: Position(5))
        try $0.put(contact(scene, scene.juliet, .nonePendingIn, 6))
      }
      try scene.read { reader in
        try equal(try changes(reader, after: 4, scene), ["juliet removed 6"])
        // A client that has seen the removal gets no push.
        try equal(try reader.ownContactChanges(of: scene.romeo.id, after: Position(5), limit: 9).map(\.push), [false])
        try equal(
          try reader.contact(of: scene.romeo.id, scene.juliet.address)?.subscription, .nonePendingIn)
      }
    },
    Case(name: "a roster that never had an item has version zero") { scene in
      try equal(try scene.read { try $0.rosterVersion(of: scene.romeo.id) }, .zero)
      try equal(try scene.read { try $0.ownContactChanges(of: scene.romeo.id, after: .zero, limit: 9).count }, 0)
    },
    Case(name: "the removed items that were left first are deleted") { scene in
      let people = [scene.juliet, scene.nurse]
      try scene.write { writer in
        for (index, person) in people.enumerated() {
          let item = contact(scene, person, .both, Int64(index + 4))
          try writer.put(item)
          try writer.remove(item, version: Position(Int64(index + 6)))
        }
      }
      try equal(try scene.read { try $0.removedContactCount(of: scene.romeo.id) }, 2)
      try equal(
        try scene.read {
          try $0.ownContactChanges(of: scene.romeo.id, after: .zero, limit: 1).map(\.contact.version)
        }, [Position(6)])
      try equal(try scene.write { try $0.deleteRemovedContacts(of: scene.juliet.id, oldest: 1) }, nil)
      try equal(try scene.write { try $0.deleteRemovedContacts(of: scene.romeo.id, oldest: 1) }, Position(6))
      try equal(try scene.read { try changes($0, after: 0, scene) }, ["nurse removed 7"])
      try equal(try scene.read { try $0.removedContactCount(of: scene.romeo.id) }, 1)
    },
    Case(name: "requests that wait for an answer are counted among the newest items") { scene in
      func counts() throws -> [Int] {
        try scene.read { reader in
          try [1, 2].map { try reader.requestCount(of: scene.romeo.id, amongNewest: $0) }
        }
      }
      let request = contact(scene, scene.nurse, .nonePendingIn, 5)
      try scene.write {
        try $0.put(contact(scene, scene.juliet, .nonePendingIn, 4))
        try $0.put(request)
      }
      try equal(try counts(), [1, 2])
      try scene.write { try $0.remove(request, version: Position(6)) }
      try equal(try counts(), [0, 1])
      try scene.write { try $0.put(contact(scene, scene.nurse, .toPendingIn, 7)) }
      try equal(try counts(), [1, 2])
      try scene.write { try $0.put(contact(scene, scene.nurse, .both, 8)) }
      try equal(try counts(), [0, 1])
    },
    Case(name: "a block list is kept by the ranks of its rows") { scene in
      let patterns = try ["b@x.example/r \u{e9}", "a@x.example", "x.example", "x.example/z"].map {
        BlockPattern(try JID($0))
      }
      let rows = patterns.enumerated().map { RankedBlock(rank: 2 * $0.offset, pattern: $0.element) }
      try scene.write { writer in
        for row in rows.reversed() { try writer.insert(row, of: scene.romeo.id) }
        try writer.insert(RankedBlock(rank: 2, pattern: patterns[1]), of: scene.juliet.id)
      }
      try equal(try scene.read { try $0.rankedBlocks(of: scene.romeo.id) }, rows)
      try equal(try scene.read { try $0.blocks(of: scene.romeo.id) }, patterns)
      try scene.write { writer in
        for rank in [0, 1, 2] { try writer.removeBlock(rank: rank, of: scene.romeo.id) }
        try writer.insert(RankedBlock(rank: 7, pattern: patterns[0]), of: scene.romeo.id)
      }
      try equal(try scene.read { try $0.blocks(of: scene.romeo.id) }, [patterns[2], patterns[3], patterns[0]])
      try equal(try scene.read { try $0.blocks(of: scene.juliet.id) }, [patterns[1]])
    },
  ]

  private static func contact(
    _ scene: Scene, _ peer: Party, _ subscription: Subscription, _ version: Int64
  ) -> Contact {
    Contact(
      owner: scene.romeo.id, address: peer.address, peer: peer.id, subscription: subscription,
      version: Position(version))
  }

  private static func changes(_ reader: any StoreReader, after: Int64, _ scene: Scene) throws -> [String] {
    try reader.ownContactChanges(of: scene.romeo.id, after: Position(after), limit: 9).map { change in
      let how = change.removed ? "removed" : change.push ? "shown" : "hidden"
      try require(how == "hidden" || change.push, "\(how) and not to be pushed")
      return "\(change.contact.address.local ?? "") \(how) \(change.contact.version.number)"
    }
  }
}
