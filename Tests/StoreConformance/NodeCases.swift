import Addresses
import Basics
import Dialogs

extension StoreConformance {
  static let nodes: [Case] = [
    Case(name: "a node is kept whole and replaced") { scene in
      var node = Node(
        owner: scene.romeo.id, name: "http://jabber.org/protocol/tune", configuration: everyField,
        createdAt: scene.time, itemCount: 3, byteCount: 70_000)
      let other = Node(
        owner: scene.romeo.id, name: "diary \u{e9}", configuration: NodeConfiguration(), createdAt: scene.time)
      try scene.write {
        try $0.put(node)
        try $0.put(other)
      }
      try scene.read { reader in
        try equal(try reader.node(node.name, of: scene.romeo.id), node)
        try equal(try reader.nodes(of: scene.romeo.id), [other, node])
        try equal(try reader.node(node.name, of: scene.juliet.id), nil)
        try equal(try reader.nodes(of: scene.juliet.id), [])
        try require(try reader.published(by: scene.romeo.id, creator: nil) == (2, 70_000), "what romeo publishes")
        try require(try reader.published(by: scene.juliet.id, creator: nil) == (0, 0), "what juliet publishes")
      }
      node.configuration = NodeConfiguration()
      node.itemCount = 0
      node.byteCount = 0
      try scene.write { try $0.put(node) }
      try equal(try scene.read { try $0.node(node.name, of: scene.romeo.id) }, node)
    },
    Case(name: "items are overwritten in place, and ordered by when they were published") { scene in
      func item(_ id: String, _ position: Int64, _ bytes: [UInt8]) -> NodeItem {
        NodeItem(id: id, content: .opaque(bytes), position: Position(position), time: Timestamp(milliseconds: position))
      }
      let (a, b, c) = (item("a", 1, []), item("b", 2, [0, 255]), item("c", 3, [UInt8](repeating: 7, count: 70_000)))
      try scene.write { writer in
        for item in [a, b, c] { try writer.put(item, in: "n", of: scene.romeo.id) }
        try writer.put(b, in: "other", of: scene.romeo.id)
        try writer.put(a, in: "n", of: scene.juliet.id)
      }
      func ids(_ newest: Bool, _ limit: Int) throws -> [String] {
        try scene.read { try $0.items(in: "n", of: scene.romeo.id, newest: newest, limit: limit).map(\.id) }
      }
      try equal(try ids(true, 9), ["a", "b", "c"])
      try equal(try ids(true, 2), ["b", "c"])
      try equal(try ids(false, 2), ["a", "b"])
      try equal(try ids(false, 0), [])
      func between(_ after: Int64, _ before: Int64, _ newest: Bool, _ limit: Int) throws -> [String] {
        try scene.read {
          try $0.items(
            in: "n", of: scene.romeo.id, after: Position(after), before: Position(before), newest: newest, limit: limit
          ).map(\.id)
        }
      }
      try equal(try between(1, 3, true, 9), ["b"])
      try equal(try between(1, 9, false, 1), ["b"])
      try equal(try between(0, 3, true, 1), ["b"])
      try equal(try between(3, 9, true, 9), [])
      try equal(try scene.read { try $0.item("c", in: "n", of: scene.romeo.id) }, c)
      try equal(try scene.read { try $0.item("c", in: "other", of: scene.romeo.id) }, nil)

      let again = NodeItem(
        id: "a", content: .opaque([9]), position: Position(4), time: Timestamp(milliseconds: 4),
        publisher: scene.juliet.address)
      try scene.write { try $0.put(again, in: "n", of: scene.romeo.id) }
      try equal(try ids(true, 9), ["b", "c", "a"])
      try equal(try scene.read { try $0.itemIDs(in: "n", of: scene.romeo.id) }, ["a", "b", "c"])
      try equal(try scene.read { try $0.itemIDs(in: "other", of: scene.juliet.id) }, [])
      try equal(try scene.read { try $0.itemIDs(newestIn: "n", of: scene.romeo.id, limit: 2) }, ["a", "c"])
      try equal(try scene.read { try $0.itemIDs(newestIn: "n", of: scene.romeo.id, limit: 9) }, ["a", "c", "b"])
      try equal(try scene.read { try $0.item("a", in: "n", of: scene.romeo.id) }, again)
      try equal(try scene.read { try $0.item("a", in: "n", of: scene.juliet.id) }, a)

      try scene.write {
        try $0.removeItem("b", in: "n", of: scene.romeo.id)
        try $0.removeItem("never there", in: "n", of: scene.romeo.id)
      }
      try equal(try ids(true, 9), ["c", "a"])
      try scene.write { try $0.put(b, in: "n", of: scene.romeo.id) }
      try equal(try ids(true, 9), ["b", "c", "a"])
      func remove(_ count: Int) throws -> [Position] {
        try scene.write { try $0.removeItems(in: "n", of: scene.romeo.id, oldest: count) }.sorted()
      }
      try equal(try remove(0), [])
      try equal(try remove(2), [b.position, c.position])
      try equal(try ids(true, 9), ["a"])
      try equal(try remove(2), [again.position])
      try equal(try remove(.max), [])
      try equal(try ids(true, 9), [])
      try equal(try scene.read { try $0.items(in: "other", of: scene.romeo.id, newest: true, limit: 9) }, [b])
      try equal(try scene.read { try $0.items(in: "n", of: scene.juliet.id, newest: true, limit: 9) }, [a])
    },
    Case(name: "a bookmark keeps its fields") { scene in
      let bare = Bookmark(address: try BareJID("orchard@rooms.verona.example"))
      let full = Bookmark(
        address: try BareJID("balcony@rooms.verona.example"), name: "B\u{e4}lcony", autojoins: true, nick: "",
        password: "cauldron",
        notifications: NotificationRules(
          [
            .init(.never, category: "client", type: "pc"), .init(.onMention, category: "", details: [0, 7]),
            .init(.always),
          ],
          others: [2]),
        isPinned: true, extensions: [0x3c, 0], others: [1])
      try scene.write { writer in
        for (position, bookmark) in [bare, full].enumerated() {
          let item = NodeItem(
            id: bookmark.address.description, content: .bookmark(bookmark), position: Position(Int64(position + 1)),
            time: scene.time)
          try writer.put(item, in: Bookmark.node, of: scene.romeo.id)
        }
      }
      try scene.reopen()
      let kept = try scene.read { try $0.items(in: Bookmark.node, of: scene.romeo.id, newest: true, limit: 9) }
      try equal(kept.map(\.content), [.bookmark(bare), .bookmark(full)])
    },
    Case(name: "a node knows who others are to it") { scene in
      let (romeo, juliet) = (scene.romeo, scene.juliet)
      let paris = try BareJID("paris@verona.example")
      let balcony = try JID("\(juliet.address)/Balcony \u{e9}")
      let all = [
        NodeSubscription(address: JID(juliet.address), state: .pending),
        NodeSubscription(address: balcony, state: .subscribed, isPaused: true),
      ]
      try scene.write { writer in
        for node in ["n", "m"] {
          try writer.put(
            Node(owner: romeo.id, name: node, configuration: NodeConfiguration(), createdAt: scene.time))
          try writer.setAffiliation(.outcast, of: paris, in: node, of: romeo.id)
          try writer.setAffiliation(.member, of: juliet.address, in: node, of: romeo.id)
          for subscription in all { try writer.put(subscription, in: node, of: romeo.id) }
        }
        try writer.setAffiliation(.publisher, of: juliet.address, in: "m", of: romeo.id)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(
          try reader.people(of: "n", of: romeo.id),
          NodePeople(affiliations: [paris: .outcast, juliet.address: .member], subscriptions: all))
        try equal(try reader.people(of: "n", of: juliet.id), NodePeople())
        try equal(try reader.affiliations(of: juliet.address, with: romeo.id), ["n": .member, "m": .publisher])
        let found = try reader.subscriptions(of: juliet.address, with: romeo.id)
        try equal(found.map(\.node), ["m", "m", "n", "n"])
        try equal(found.map(\.1), all + all)
        try equal(try reader.subscriptionCount(of: juliet.address), 4)
        try equal(try reader.pendingSubscriptions(of: romeo.id, ownedBy: nil, limit: 9).map(\.node), ["m", "n"])
        try equal(try reader.pendingSubscriptions(of: romeo.id, ownedBy: nil, limit: 1).map(\.1), [JID(juliet.address)])
      }
      try scene.write { writer in
        var granted = all[0]
        granted.state = .subscribed
        try writer.put(granted, in: "n", of: romeo.id)
        try writer.removeSubscription(of: balcony, in: "n", of: romeo.id)
        try writer.setAffiliation(nil, of: paris, in: "n", of: romeo.id)
        try writer.removeNode("m", of: romeo.id)
      }
      try scene.read { reader in
        try equal(
          try reader.people(of: "n", of: romeo.id),
          NodePeople(
            affiliations: [juliet.address: .member],
            subscriptions: [NodeSubscription(address: JID(juliet.address), state: .subscribed)]))
        try equal(try reader.people(of: "m", of: romeo.id), NodePeople())
        try equal(try reader.pendingSubscriptions(of: romeo.id, ownedBy: nil, limit: 9).map(\.node), [])
      }
      // A deleted user has no affiliations and subscriptions any more.
      try scene.write { try $0.erasePersonalData(juliet.id) }
      try equal(try scene.read { try $0.people(of: "n", of: romeo.id) }, NodePeople())
      try scene.write { try $0.setAffiliation(.member, of: paris, in: "n", of: romeo.id) }
      try scene.write { try $0.erasePersonalData(romeo.id) }
      try equal(try scene.read { try $0.people(of: "n", of: romeo.id) }, NodePeople())
    },
    Case(name: "the content of the profile's nodes keeps its fields") { scene in
      let avatar = Avatar(hash: "00ff", mediaType: "image/png", bytes: [0, 255])
      let info = AvatarMetadata.Info(
        hash: "00ff", mediaType: "image/png", byteCount: 2, size: ImageSize(width: 1, height: 65_535))
      let unsized = AvatarMetadata.Info(hash: "", mediaType: "image/gif", byteCount: 0, size: nil)
      let contents: [NodeContent] = [
        .nickname(""), .nickname("R\u{f6}meo"), .avatar(avatar),
        .avatarMetadata(AvatarMetadata(hashes: [], form: .none)),
        .avatarMetadata(AvatarMetadata(hashes: ["00ff"], form: .info(info))),
        .avatarMetadata(AvatarMetadata(hashes: [""], form: .info(unsized))),
        .avatarMetadata(AvatarMetadata(hashes: ["a", "b"], form: .said([0x3c, 0]))),
        .card(Card4(fullName: nil, displayName: nil)),
        .card(Card4(fullName: "", displayName: "R\u{f6}meo", bytes: [0x3c, 0])),
      ]
      try scene.write { writer in
        for (position, content) in contents.enumerated() {
          let item = NodeItem(
            id: "\(position)", content: content, position: Position(Int64(position + 1)), time: scene.time)
          try writer.put(item, in: "n", of: scene.romeo.id)
        }
      }
      try scene.reopen()
      let kept = try scene.read { try $0.items(in: "n", of: scene.romeo.id, newest: true, limit: 99) }
      try equal(kept.map(\.content), contents)
    },
    Case(name: "a service's nodes are those of who created and who owns them") { scene in
      let (romeo, juliet) = (scene.romeo.address, scene.juliet.address)
      let service = UserID(.min + 1)
      func node(_ name: String, _ creator: BareJID?, bytes: Int = 0) -> Node {
        Node(
          owner: service, name: name, configuration: .atService, createdAt: scene.time, byteCount: bytes,
          creator: creator)
      }
      let item = NodeItem(id: "a", content: .opaque([1]), position: Position(1), time: scene.time, publisher: juliet)
      let asker = try JID("paris@verona.example")
      try scene.write { writer in
        for node in [node("a", romeo, bytes: 3), node("b", romeo, bytes: 4), node("c", juliet, bytes: 5)] {
          try writer.put(node)
          try writer.put(item, in: node.name, of: service)
          try writer.put(NodeSubscription(address: asker, state: .pending), in: node.name, of: service)
        }
        for name in ["a", "b"] { try writer.setAffiliation(.owner, of: romeo, in: name, of: service) }
        for name in ["b", "c"] { try writer.setAffiliation(.owner, of: juliet, in: name, of: service) }
        try writer.setAffiliation(.publishOnly, of: romeo, in: "c", of: service)
      }
      try scene.reopen()
      try scene.read { reader in
        try equal(try reader.node("a", of: service), node("a", romeo, bytes: 3))
        try require(try reader.published(by: service, creator: romeo) == (2, 7), "what romeo has created")
        try require(try reader.published(by: service, creator: juliet) == (1, 5), "what juliet has created")
        try require(try reader.published(by: service, creator: nil) == (0, 0), "nobody has created any")
        try equal(try reader.nodes(of: service, after: nil, limit: 2).map(\.name), ["a", "b"])
        try equal(try reader.nodes(of: service, after: "b", limit: 2).map(\.name), ["c"])
        try equal(try reader.nodes(of: service, after: "c", limit: 2), [])
        try equal(
          try reader.affiliations(of: romeo, with: service), ["a": .owner, "b": .owner, "c": .publishOnly])
        func pending(_ user: BareJID?, _ limit: Int = 9) throws -> [String] {
          try reader.pendingSubscriptions(of: service, ownedBy: user, limit: limit).map(\.node)
        }
        try equal(try pending(nil), ["a", "b", "c"])
        try equal(try pending(romeo), ["a", "b"])
        try equal(try pending(juliet, 1), ["b"])
        try equal(try pending(asker.bare), [])
      }
      // With its only owner a node goes; others stay, without the name of who created them.
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try scene.read { reader in
        try equal(
          try reader.nodes(of: service), [node("b", nil, bytes: 4), node("c", juliet, bytes: 5)])
        try equal(try reader.item("a", in: "a", of: service), nil)
        try equal(try reader.item("a", in: "b", of: service), item)
        try equal(try reader.people(of: "a", of: service), NodePeople())
        try equal(try reader.people(of: "b", of: service).affiliations, [juliet: .owner])
      }
    },
    Case(name: "a node goes with its items") { scene in
      let node = Node(owner: scene.romeo.id, name: "n", configuration: NodeConfiguration(), createdAt: scene.time)
      let item = NodeItem(id: "a", content: .opaque([1]), position: Position(1), time: scene.time)
      try scene.write { writer in
        for name in ["n", "m"] {
          try writer.put(
            Node(owner: scene.romeo.id, name: name, configuration: node.configuration, createdAt: scene.time))
          try writer.put(item, in: name, of: scene.romeo.id)
        }
      }
      try scene.write { try $0.removeNode("n", of: scene.romeo.id) }
      try scene.read { reader in
        try equal(try reader.nodes(of: scene.romeo.id).map(\.name), ["m"])
        try equal(try reader.item("a", in: "n", of: scene.romeo.id), nil)
        try equal(try reader.item("a", in: "m", of: scene.romeo.id), item)
      }
      try scene.write { try $0.erasePersonalData(scene.romeo.id) }
      try scene.read { reader in
        try equal(try reader.nodes(of: scene.romeo.id), [])
        try equal(try reader.item("a", in: "m", of: scene.romeo.id), nil)
      }
    },
    Case(name: "the change of an item is an entry of the feed until it is erased") { scene in
      let changes = [
        NodeChange(node: "n", item: "a", act: .published), NodeChange(node: "n", item: "a", act: .retracted),
        NodeChange(node: "n", item: nil, act: .purged), NodeChange(node: "n", item: nil, act: .deleted),
      ]
      let entries = try scene.write { writer in
        try changes.map { try scene.note(.node($0), by: scene.romeo, writer) }
      }
      try equal(try scene.read { try $0.feed(of: scene.romeo.id, after: .zero, limit: 9) }, entries)
      try scene.write { try $0.erase(entries[0].position, in: entries[0].dialog) }
      try equal(try scene.read { try $0.feed(of: scene.romeo.id, after: .zero, limit: 9) }, Array(entries.dropFirst()))
    },
    Case(name: "a realm's values are kept by item") { scene in
      let realm = scene.romeo.realm
      try scene.write {
        try $0.setValue(of: realm, item: "a", [1])
        try $0.setValue(of: realm, item: "b", [2])
        try $0.setValue(of: realm, item: "a", [3])
        try $0.setValue(of: realm, item: "b", nil)
      }
      try scene.read { reader in
        try equal(try reader.value(of: realm, item: "a"), [3])
        try equal(try reader.value(of: realm, item: "b"), nil)
        try equal(try reader.value(of: RealmID(realm.number + 1), item: "a"), nil)
      }
    },
    Case(name: "values are counted by node") { scene in
      try scene.write {
        try $0.setValue(of: scene.romeo.id, node: "private", item: "a", [1])
        try $0.setValue(of: scene.romeo.id, node: "private", item: "b", [])
        try $0.setValue(of: scene.romeo.id, node: "other", item: "c", [1])
      }
      try scene.read { reader in
        try equal(try reader.valueCount(of: scene.romeo.id, node: "private"), 2)
        try equal(try reader.valueCount(of: scene.juliet.id, node: "private"), 0)
      }
    },
  ]

  private static let everyField: NodeConfiguration = {
    var configuration = NodeConfiguration()
    configuration.access = .roster
    configuration.groups = ["Friends", "", "a,b\nc"]
    configuration.persistsItems = false
    configuration.itemsMax = nil
    configuration.whenFull = .reject
    configuration.sendLast = .never
    configuration.notifies = false
    configuration.deliversPayloads = false
    configuration.notifiesRetract = true
    configuration.notifiesDelete = false
    configuration.notifiesConfiguration = true
    configuration.title = "T\u{fc}ne"
    configuration.about = ""
    configuration.type = "urn:example"
    configuration.publishers = .subscribers
    configuration.namesPublisher = true
    return configuration
  }()
}
