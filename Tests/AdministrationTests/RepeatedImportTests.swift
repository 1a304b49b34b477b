import Accounts
import Addresses
import Basics
import Dialogs
import ImportSources
import ParleyServer
import ServerConfiguration
import ServerFixtures
import Testing

@testable import Administration

/// An import that is repeated leaves alone what its users have changed or removed since (docs/decisions/0036).
@Suite struct RepeatedImportTests {
  private static let romeo = "romeo@localhost"
  private static let hall = "hall@conference.localhost"
  private static let form = """
    <x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE'>\
    <value>http://jabber.org/protocol/pubsub#node_config</value></field>\
    <field var='pubsub#access_model'><value>open</value></field>\
    <field var='pubsub#max_items'><value>5</value></field></x>
    """

  private static func account(_ name: String, isDisabled: Bool = false) -> ImportRecord {
    .account(AccountRecord(jid: "\(name)@localhost", password: "secret words", isDisabled: isDisabled))
  }

  private static func item(_ id: String, _ text: String) -> ImportRecord {
    .item(
      ItemRecord(owner: romeo, node: "urn:x", form: form, id: id, payload: "<note xmlns='urn:x'>\(text)</note>"))
  }

  private static func bookmarks(_ rooms: String...) -> ImportRecord {
    let list = rooms.map { "<conference jid='\($0)' name='A room' autojoin='true'/>" }.joined()
    return .privateXML(ElementRecord(owner: romeo, xml: "<storage xmlns='storage:bookmarks'>\(list)</storage>"))
  }

  /// One record of each kind, with the name of what a test changes of it.
  private static let settings: [ImportRecord] = [
    .contact(
      ContactRecord(owner: romeo, jid: "juliet@localhost", name: "Juliet", groups: ["Loves"], subscription: "both")),
    .contact(ContactRecord(owner: romeo, jid: "nurse@localhost", subscription: "both")),
    .vCard(ElementRecord(owner: romeo, xml: "<vCard xmlns='vcard-temp'><FN>Romeo</FN></vCard>")),
    .privateXML(ElementRecord(owner: romeo, xml: "<prefs xmlns='x'>old</prefs>")),
    bookmarks(hall, "garden@conference.localhost"),
    .node(NodeRecord(owner: romeo, name: "urn:x", form: form)), item("a", "old"), item("b", "old"),
    .block(BlockRecord(owner: romeo, jids: ["paris@localhost", "tybalt@localhost"])),
  ]

  private func run(_ records: [ImportRecord], _ context: AdminContext) async throws -> [RowOutcome] {
    try await ImportRecords.perform(
      ImportRecords.Input(records: records, source: "xep0227 /export.xml"), in: context)
  }

  private func party(_ jid: String, _ parley: Parley) async throws -> Party {
    let address = try BareJID(jid)
    return try #require(try await parley.read { try $0.user(address) }).party
  }

  @Test func whatUsersHaveChangedOrRemovedStays() async throws {
    try await withCore { core, context, _ in
      let parley = core.parley
      let accounts = ["romeo", "juliet", "nurse"].map { Self.account($0) }
      #expect(try await run(accounts + Self.settings, context).allSatisfy { $0.status == .done })
      // Nothing has changed: all of it is here.
      let repeated = try await run(accounts + Self.settings, context)
      #expect(repeated.allSatisfy { $0.status == .exists && $0.code == nil }, "\(repeated)")

      let romeo = try await party(Self.romeo, parley)
      let juliet = try BareJID("juliet@localhost")
      let card = Array("<vCard xmlns='vcard-temp'><FN>R.</FN></vCard>".utf8)
      let changes: [Intent] = [
        .contact(address: juliet, name: "Jule", groups: []), .removeContact(try BareJID("nurse@localhost")),
        .profile(ProfileDraft(displayName: "R.", vCard: card)),
        .setPrivateXML([PrivateXMLDraft(name: "x prefs", bytes: Array("<prefs xmlns='x'>new</prefs>".utf8))]),
        .node(.retract(node: Bookmark.node, item: Self.hall, notifies: true)),
        .node(.configure(node: "urn:x", [.access(.presence)])),
        .node(
          .publish(
            NodePublication(
              node: "urn:x",
              item: NodePublication.Item(id: "a", content: .opaque(Array("<note xmlns='urn:x'>new</note>".utf8)))))),
        .node(.retract(node: "urn:x", item: "b", notifies: true)),
        .unblock([BlockPattern(try #require(JID(parsing: "paris@localhost")))]),
      ]
      for change in changes { _ = try await parley.post(change, by: romeo) }

      for _ in 1...2 {
        let outcomes = try await run(Self.settings, context)
        for (record, outcome) in zip(Self.settings, outcomes) {
          #expect(outcome.status == .exists && outcome.code == ImportRecords.kept, "\(record): \(outcome)")
        }
      }
      let (contacts, here) = try await parley.read { reader in
        try (
          reader.ownContacts(of: romeo.id),
          (
            card: reader.value(of: romeo.id, node: ValueKey.vCard, item: ValueKey.bytes),
            prefs: reader.value(of: romeo.id, node: ValueKey.privateXML, item: "x prefs"),
            node: reader.node("urn:x", of: romeo.id), blocks: reader.blocks(of: romeo.id),
            items: reader.items(in: "urn:x", of: romeo.id, newest: true, limit: 9),
            bookmarks: reader.items(in: Bookmark.node, of: romeo.id, newest: true, limit: 9)
          )
        )
      }
      #expect(contacts.map(\.name) == ["Jule"])
      #expect(contacts.first?.groups == [])
      #expect(here.card == card)
      #expect(here.prefs == Array("<prefs xmlns='x'>new</prefs>".utf8))
      #expect(here.node?.configuration.access == .presence)
      #expect(here.items.map(\.id) == ["a"])
      #expect(here.items.first?.content == .opaque(Array("<note xmlns='urn:x'>new</note>".utf8)))
      #expect(here.bookmarks.map(\.id) == ["garden@conference.localhost"])
      #expect(here.blocks.map { "\($0.jid)" } == ["tybalt@localhost"])
    }
  }

  private static func person(_ name: String, _ affiliation: String, nick: String? = nil) -> ImportRecord {
    .roomPerson(RoomPersonRecord(room: hall, jid: "\(name)@localhost", affiliation: affiliation, nick: nick))
  }

  private static func group(_ name: String, _ members: [String], sees: [String] = []) -> ImportRecord {
    .contactGroup(
      ContactGroupRecord(
        domain: "localhost", name: name, label: name.uppercased(), members: members.map { "\($0)@localhost" },
        hasEveryone: false, sees: sees))
  }

  private static let room = ImportRecord.room(
    RoomRecord(jid: hall, fields: ["roomname": "Hall", "maxusers": "20"], owners: [romeo], subject: "Masks"))
  /// The owner, and those who are removed by a test: a member, somebody banned, and a banned address of nobody.
  private static let people = [
    person("romeo", "owner", nick: "Romy"), person("juliet", "member", nick: "Jule"), person("nurse", "outcast"),
    person("nobody", "outcast"),
  ]
  private static let groups = [
    group("friends", ["romeo", "juliet"]), group("house", ["nurse"], sees: ["friends"]), group("old", ["nurse"]),
  ]

  @Test func whoWasRemovedFromRoomsAndContactGroupsStaysOutside() async throws {
    try await withCore { core, context, _ in
      let parley = core.parley
      let records = [Self.room] + Self.people + Self.groups
      let accounts = ["romeo", "juliet", "nurse"].map { Self.account($0) }
      #expect(try await run(accounts + records, context).allSatisfy { $0.status == .done })
      for _ in 1...2 {
        let repeated = try await run(records, context)
        #expect(repeated.allSatisfy { $0.status == .exists && $0.code == nil }, "\(repeated)")
      }

      let hall = try BareJID(Self.hall)
      let romeo = try await party(Self.romeo, parley)
      let room = try #require(try await parley.read { try $0.room(at: hall) }).id
      let removals = try ["juliet", "nurse", "nobody"].map {
        MemberDraft(address: try BareJID("\($0)@localhost"), affiliation: Affiliation.none)
      }
      _ = try await parley.post(.room(.members(.dialog(room), removals)), by: romeo)
      _ = try await parley.post(
        .room(.configure(.dialog(room), SettingsDraft { $0.name = "Old hall" })), by: romeo)
      _ = try await ChangeContactGroup.perform(
        ChangeContactGroup.Input(group: "friends", domain: nil, remove: ["juliet@localhost"], unsee: ["house"]),
        in: context)
      _ = try await PutContactGroup.perform(
        PutContactGroup.Input(group: "house", domain: nil, displayName: "Household", everyone: nil), in: context)
      _ = try await DeleteContactGroup.perform(DeleteContactGroup.Input(group: "old", domain: nil), in: context)

      for _ in 1...2 {
        let outcomes = try await run(records, context)
        for (record, outcome) in zip(records, outcomes) {
          let isKept = record != Self.people[0]
          #expect(outcome.status == .exists && (outcome.code == ImportRecords.kept) == isKept, "\(record): \(outcome)")
        }
      }
      let (members, bans, name) = try await parley.read { reader in
        try (
          reader.members(of: .server(room, .administration), after: nil, limit: 9).map(\.party.address),
          reader.addressBans(of: .server(room, .administration)), reader.room(room)?.settings.name
        )
      }
      #expect(members == [romeo.address] && bans.isEmpty && name == "Old hall")
      let groups = try await ListContactGroups.perform(ListContactGroups.Input(domain: nil), in: context).items
      #expect(groups.map(\.name) == ["friends", "house"])
      #expect(groups.map(\.displayName) == ["FRIENDS", "Household"])
      #expect(groups.map(\.members) == [1, 1] && groups.allSatisfy { $0.sees.isEmpty })

      // What is new there is taken, and what is not taken of the same record is reported.
      let more = [Self.person("paris", "member"), Self.group("friends", ["romeo", "juliet", "paris"])]
      let added = try await run([Self.account("paris")] + more, context)
      #expect(added.map(\.status) == [.done, .done, .done])
      #expect(added.map(\.code) == [nil, nil, ImportRecords.kept])
    }
  }

  /// A room of which the source knows messages and people does not come again once it was destroyed.
  @Test func aDestroyedRoomStaysDestroyed() async throws {
    try await withCore { core, context, _ in
      let message = ImportRecord.roomMessage(
        RoomMessageRecord(
          room: Self.hall, time: 1_600_000_000_000, nick: "Romy", author: Self.romeo,
          xml: "<message xmlns='jabber:client' type='groupchat'><body>hi</body></message>"))
      _ = try await run([Self.account("romeo"), Self.room, Self.people[0]], context)
      _ = try await DeleteDialog.perform(DeleteDialog.Input(dialog: Self.hall, reason: nil), in: context)
      for _ in 1...2 {
        let outcomes = try await run([Self.room, message, Self.people[0]], context)
        #expect(outcomes.allSatisfy { $0.status == .exists && $0.code == ImportRecords.kept }, "\(outcomes)")
      }
      let hall = try BareJID(Self.hall)
      #expect(try await core.parley.read { try $0.room(at: hall)?.isDestroyed } != false)
    }
  }

  /// A file that was here does not come again; one whose bytes did not arrive does.
  @Test func aDeletedFileStaysDeleted() async throws {
    try await withCore { core, context, _ in
      // Files of the last day count for their owner's day, and are remembered for it.
      let past = core.parley.clock.now + .seconds(-5 * 86_400)
      func file(_ name: String) -> FileRecord {
        FileRecord(
          owner: Self.romeo, secret: "Zt5bq0hnGPU4TYbX", name: name, mediaType: nil, size: 3, time: past.milliseconds)
      }
      let (whole, broken) = (file("whole.txt"), file("broken.txt"))
      let records = [ImportRecord.file(whole), .file(broken)]
      #expect(try await run([Self.account("romeo")] + records, context).allSatisfy { $0.status == .done })
      for (file, bytes) in [(whole, [UInt8](repeating: 1, count: 3)), (broken, [1])] {
        let piece = ImportFile.Input(file: file, offset: 0, bytes: bytes, source: "xep0227 /export.xml")
        #expect(try await ImportFile.perform(piece, in: context).status == .done)
      }
      #expect(try await run(records, context).map(\.status) == [.exists, .done])
      // The note of a file costs the same however many there are.
      let romeo = try await party(Self.romeo, core.parley)
      let own = "file \(whole.id)"
      let note = try await core.parley.read { try $0.value(of: romeo.id, node: ValueKey.imported, item: own) }
      #expect(note?.count == 8)
      _ = try await core.parley.post(.blob(.swept([whole.id, broken.id])), by: Parley.nobody)
      for _ in 1...2 {
        let outcomes = try await run(records, context)
        #expect(outcomes.map(\.status) == [.exists, .done])
        #expect(outcomes.map(\.code) == [ImportRecords.kept, nil])
      }
      // Where the notes of all files were one value it still counts.
      try await core.parley.work { writer in
        try writer.setValue(of: romeo.id, node: ValueKey.imported, item: "file", note)
        try writer.setValue(of: romeo.id, node: ValueKey.imported, item: own, nil)
      }
      #expect(try await run([.file(whole)], context).map(\.code) == [ImportRecords.kept])
    }
  }

  /// Returns the accounts and settings of an export of this server, as an import reads them.
  private func exported(to path: String, _ context: AdminContext) async throws -> [ImportRecord] {
    var xml = ""
    var cursor: ExportRecords.Cursor?
    repeat {
      let piece = try await ExportRecords.perform(ExportRecords.Input(domain: nil, cursor: cursor), in: context)
      xml += piece.xml
      cursor = piece.next
    } while cursor != nil
    try Files.write(Array(xml.utf8), to: path, mode: 0o600)
    var records: [ImportRecord] = []
    for kinds: RecordKinds in [.accounts, .settings] {
      let reader = try PortableSource(path).reader(of: kinds)
      while let reading = try reader.next() {
        guard case .record(let record, _) = reading else {
          Issue.record("\(reading)")
          continue
        }
        records.append(record)
      }
    }
    return records
  }

  /// What this server has exported is recognised when it comes back, in whatever form it is stored.
  @Test func anOwnExportIsHereAlready() async throws {
    try await withCore { core, context, settings in
      let parley = core.parley
      _ = try await run(["romeo", "juliet", "nurse"].map { Self.account($0) }, context)
      let romeo = try await party(Self.romeo, parley)
      let juliet = try await party("juliet@localhost", parley)
      let nurse = try await party("nurse@localhost", parley)
      let ghost = try BareJID("ghost@localhost")
      let picture = Avatar([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3])
      let bookmark = Bookmark(address: try BareJID(Self.hall), name: "A hall")
      let prefixed = Array("<prefs xmlns='x' xmlns:p='urn:p' p:a='1' p:b='2'>a &amp; b</prefs>".utf8)
      // A name alone; a request to nobody, which is void; and a request that waits (by Juliet).
      let romeos: [Intent] = [
        .profile(ProfileDraft(displayName: "Romeo")),
        .contact(address: juliet.address, name: "Jule", groups: ["Loves"]),
        .subscription(.subscribe, to: ghost, stanza: nil),
        .setPrivateXML([PrivateXMLDraft(name: "x prefs", bytes: prefixed)]),
        .block([BlockPattern(try #require(JID(parsing: "tybalt@localhost")))]),
        .node(.create(node: "urn:x", [.access(.open), .itemsMax(5)])),
        .node(.affiliate(node: "urn:x", [juliet.address: .member])),
        .node(
          .publish(
            NodePublication(node: "urn:x", item: NodePublication.Item(id: "a", content: .opaque(prefixed))))),
        .node(
          .publish(
            NodePublication(
              node: Bookmark.node,
              item: NodePublication.Item(id: bookmark.address.description, content: .bookmark(bookmark))))),
      ]
      for intent in romeos { _ = try await parley.post(intent, by: romeo) }
      // A vCard with other names than those of the profile, and a picture.
      let card = Array("<vCard xmlns='vcard-temp'><FN>Miss Capulet</FN><ROLE>Daughter</ROLE></vCard>".utf8)
      let juliets: [Intent] = [
        .profile(ProfileDraft(displayName: "Jule", fullName: "Juliet Capulet", avatar: picture, vCard: card)),
        .subscription(.subscribe, to: romeo.address, stanza: nil),
      ]
      for intent in juliets { _ = try await parley.post(intent, by: juliet) }
      // A picture alone.
      _ = try await parley.post(.profile(ProfileDraft(avatar: picture)), by: nurse)

      let records = try await exported(to: "\(settings.data)/own.xml", context)
      let cards = records.count(where: { if case .vCard = $0 { true } else { false } })
      let requests = records.count(where: { if case .request = $0 { true } else { false } })
      #expect(cards == 3 && requests == 1)
      let repeated = try await run(records, context)
      for (record, outcome) in zip(records, repeated) {
        #expect(outcome.status == .exists && outcome.code == nil, "\(record): \(outcome)")
      }

      // A change is still reported: in the vCard, the nickname and the vcard4.
      _ = try await parley.post(.profile(ProfileDraft(displayName: "R.")), by: romeo)
      let kept = try await run(records, context).filter { $0.code == ImportRecords.kept }
      #expect(kept.map(\.reason) == [String?](repeating: ImportDecision.changed, count: 3), "\(kept)")
    }
  }

  /// Whoever uses the server already keeps what they have, and gets what they do not have.
  @Test func aUsedAccountKeepsItsOwn() async throws {
    try await withCore { core, context, _ in
      _ = try await run([Self.account("romeo"), Self.account("juliet")], context)
      let romeo = try await party(Self.romeo, core.parley)
      let own = Bookmark(address: try BareJID("own@conference.localhost"), name: "Mine")
      for intent: Intent in [
        .contact(address: try BareJID("juliet@localhost"), name: "Jule", groups: []),
        .profile(ProfileDraft(displayName: "R.")),
        .node(
          .publish(
            NodePublication(
              node: Bookmark.node,
              item: NodePublication.Item(id: own.address.description, content: .bookmark(own))))),
      ] { _ = try await core.parley.post(intent, by: romeo) }
      let outcomes = try await run(Self.settings, context)
      #expect(
        outcomes.map(\.code) == [
          ImportRecords.kept, nil, ImportRecords.kept, nil, nil, nil, nil, nil, nil,
        ], "\(outcomes)")
      let bookmarks = try await core.parley.read {
        try $0.items(in: Bookmark.node, of: romeo.id, newest: true, limit: 9).map(\.id)
      }
      #expect(Set(bookmarks) == [own.address.description, Self.hall, "garden@conference.localhost"])
    }
  }

  @Test func listsOfBookmarksAreMerged() async throws {
    try await withCore { core, context, _ in
      let item = ImportRecord.item(
        ItemRecord(
          owner: Self.romeo, node: Bookmark.node, id: Self.hall,
          payload: "<conference xmlns='urn:xmpp:bookmarks:1' name='The hall'/>"))
      // In one batch, and in two.
      let first = [Self.account("romeo"), item, Self.bookmarks("a@b"), Self.bookmarks("c@d", Self.hall)]
      #expect(try await run(first, context).map(\.status) == [.done, .done, .done, .done])
      #expect(try await run([Self.bookmarks("e@f", "a@b")], context).map(\.status) == [.done])
      let romeo = try await party(Self.romeo, core.parley)
      let found = try await core.parley.read {
        try $0.items(in: Bookmark.node, of: romeo.id, newest: true, limit: 9).map(\.id)
      }
      #expect(Set(found) == [Self.hall, "a@b", "c@d", "e@f"])
    }
  }

  /// A vCard that gave way to the user's own name makes no other part of the profile the import's, in a later batch either.
  @Test func aNameThatTheUserHasStaysInAllNodes() async throws {
    try await withCore { core, context, _ in
      let card = ImportRecord.vCard(
        ElementRecord(owner: Self.romeo, xml: "<vCard xmlns='vcard-temp'><FN>Old</FN></vCard>"))
      let nick = ImportRecord.item(
        ItemRecord(
          owner: Self.romeo, node: "http://jabber.org/protocol/nick", id: "current",
          payload: "<nick xmlns='http://jabber.org/protocol/nick'>Old</nick>"))
      _ = try await run([Self.account("romeo")], context)
      let romeo = try await party(Self.romeo, core.parley)
      _ = try await core.parley.post(.profile(ProfileDraft(displayName: "R.")), by: romeo)
      for record in [card, nick] {
        #expect(try await run([record], context).map(\.code) == ["kept"])
      }
      #expect(try await core.parley.read { try $0.user(romeo.id)?.profile.displayName } == "R.")
    }
  }

  /// A user may have a picture and no name: it stays, in all nodes.
  @Test func aPictureThatTheUserHasStays() async throws {
    try await withCore { core, context, _ in
      let card = ImportRecord.vCard(
        ElementRecord(
          owner: Self.romeo,
          xml: """
            <vCard xmlns='vcard-temp'><FN>Old</FN><PHOTO><TYPE>image/png</TYPE><BINVAL>iVBORw0KGgo=</BINVAL></PHOTO></vCard>
            """))
      _ = try await run([Self.account("romeo")], context)
      let romeo = try await party(Self.romeo, core.parley)
      let picture = Avatar([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3])
      _ = try await core.parley.post(.profile(ProfileDraft(avatar: picture)), by: romeo)
      let outcomes = try await run([card], context)
      #expect(outcomes.map(\.reason) == [ImportDecision.changed], "\(outcomes)")
      let profile = try await core.parley.read { try $0.user(romeo.id)?.profile }
      #expect(profile?.avatarHash == picture.hash && profile?.displayName == nil)
    }
  }

  /// An import that was broken off goes on: what did not come yet has no note.
  @Test func aRefusedRecordIsTakenLater() async throws {
    try await withCore { (_, context, _) async throws in
      let contact = ImportRecord.contact(
        ContactRecord(owner: Self.romeo, jid: "juliet@localhost", subscription: "both"))
      #expect(try await run([contact], context).map(\.status) == [.failed])
      #expect(try await run([Self.account("romeo"), contact], context).map(\.status) == [.done, .done])
      let long = ImportRecord.contact(
        ContactRecord(
          owner: Self.romeo, jid: "nurse@localhost", name: String(repeating: "n", count: 100_000), subscription: "to"))
      #expect(try await run([long], context).map(\.status) == [.failed])
      let short = ImportRecord.contact(
        ContactRecord(owner: Self.romeo, jid: "nurse@localhost", name: "n", subscription: "to"))
      #expect(try await run([short], context).map(\.status) == [.done])
    }
  }

  @Test func anAccountOfTwoStatesIsReported() async throws {
    try await withCore { core, context, _ in
      let twice = [Self.account("romeo"), Self.account("romeo", isDisabled: true)]
      let outcomes = try await run(twice, context)
      #expect(outcomes.map(\.status) == [.done, .exists])
      #expect(outcomes.map(\.code) == [nil, ImportRecords.kept])
      // Whoever is disabled here since stays so, whatever the source says.
      _ = try await SetUserState.perform(SetUserState.Input(jid: Self.romeo, state: .disabled), in: context)
      #expect(try await run(twice, context).map(\.code) == [nil, nil])
      let address = try BareJID(Self.romeo)
      #expect(try await core.parley.read { try $0.user(address)?.state } == .disabled)
      #expect(try await run([Self.account("paris", isDisabled: true)], context).map(\.status) == [.done])
      let paris = try BareJID("paris@localhost")
      #expect(try await core.parley.read { try $0.user(paris)?.state } == .disabled)
    }
  }

  /// Of two passwords or states of one account the first that can be taken counts, and the other one is reported.
  @Test func ofAnAccountThatIsThereTwiceTheFirstCounts() async throws {
    try await withCore { core, context, _ in
      func account(_ jid: String, _ password: String) -> ImportRecord {
        .account(AccountRecord(jid: jid, password: password))
      }
      let records = [
        account(Self.romeo, "secret\u{0}words"), account("Romeo@localhost", "secret words"),
        account(Self.romeo, "secret words"), account(Self.romeo, "other words"),
        Self.account("paris", isDisabled: true), Self.account("paris"),
      ]
      let outcomes = try await run(records, context)
      #expect(outcomes.map(\.status) == [.failed, .done, .exists, .exists, .done, .exists], "\(outcomes)")
      #expect(outcomes.map(\.code) == ["password-refused", nil, nil, ImportRecords.kept, nil, ImportRecords.kept])
      let (romeo, paris) = (try BareJID(Self.romeo), try BareJID("paris@localhost"))
      _ = try await core.accounts.verify(romeo, password: "secret words")
      await #expect(throws: Problem.self) { _ = try await core.accounts.verify(romeo, password: "other words") }
      #expect(try await core.parley.read { try $0.user(paris)?.state } == .disabled)
    }
  }

  /// In one batch as in two, and the other one is reported.
  @Test func ofTwoRecordsAboutOneThingTheFirstCounts() async throws {
    try await withCore { core, context, _ in
      func contact(_ name: String) -> ImportRecord {
        .contact(ContactRecord(owner: Self.romeo, jid: "juliet@localhost", name: name, subscription: "both"))
      }
      func card(_ name: String) -> ImportRecord {
        .vCard(ElementRecord(owner: Self.romeo, xml: "<vCard xmlns='vcard-temp'><FN>\(name)</FN></vCard>"))
      }
      func prefs(_ text: String) -> ImportRecord {
        .privateXML(ElementRecord(owner: Self.romeo, xml: "<prefs xmlns='x'>\(text)</prefs>"))
      }
      func node(_ access: String) -> ImportRecord {
        let form = Self.form.replacing("<value>open</value>", with: "<value>\(access)</value>")
        return .node(NodeRecord(owner: Self.romeo, name: "urn:x", form: form))
      }
      func room(_ subject: String) -> ImportRecord {
        .room(RoomRecord(jid: Self.hall, fields: ["roomname": "Hall"], owners: [Self.romeo], subject: subject))
      }
      func group(_ label: String) -> ImportRecord {
        .contactGroup(
          ContactGroupRecord(
            domain: "localhost", name: "friends", label: label, members: [Self.romeo], hasEveryone: false))
      }
      let pairs: [(first: ImportRecord, second: ImportRecord)] = [
        (contact("Juliet"), contact("Jule")), (card("Romeo"), card("R.")), (prefs("old"), prefs("new")),
        (node("open"), node("presence")), (Self.item("a", "old"), Self.item("a", "new")), (room("Masks"), room("Fans")),
        (Self.person("juliet", "member"), Self.person("juliet", "admin")), (group("Friends"), group("Others")),
      ]
      let accounts = ["romeo", "juliet"].map { Self.account($0) }
      let outcomes = try await run(accounts + pairs.flatMap { [$0.first, $0.second, $0.first] }, context).dropFirst(2)
      for (index, outcome) in outcomes.enumerated() {
        let (pair, isSecond) = (pairs[index / 3], index % 3 == 1)
        #expect(outcome.status == (index % 3 == 0 ? .done : .exists), "\(pair): \(outcome)")
        #expect(outcome.code == (isSecond ? ImportRecords.kept : nil), "\(pair): \(outcome)")
        #expect((outcome.reason ?? "").hasPrefix("an earlier record of the source") == isSecond, "\(pair): \(outcome)")
      }
      let romeo = try await party(Self.romeo, core.parley)
      let hall = try BareJID(Self.hall)
      let (stored, items, topic) = try await core.parley.read { reader in
        try (
          reader.value(of: romeo.id, node: ValueKey.privateXML, item: "x prefs"),
          reader.items(in: "urn:x", of: romeo.id, newest: true, limit: 9), reader.room(at: hall)?.topic?.text
        )
      }
      #expect(stored == Array("<prefs xmlns='x'>old</prefs>".utf8))
      #expect(items.map(\.content) == [.opaque(Array("<note xmlns='urn:x'>old</note>".utf8))])
      #expect(topic == "Masks")

      // One that is refused does not count, and lists are merged.
      func nurse(_ name: String) -> ImportRecord {
        .contact(ContactRecord(owner: Self.romeo, jid: "nurse@localhost", name: name, subscription: "to"))
      }
      let more = [
        nurse(String(repeating: "n", count: 100_000)), nurse("Nurse"),
        .block(BlockRecord(owner: Self.romeo, jids: ["paris@localhost"])),
        .block(BlockRecord(owner: Self.romeo, jids: ["paris@localhost", "tybalt@localhost"])),
      ]
      #expect(try await run(more, context).map(\.status) == [.failed, .done, .done, .done])
      #expect(try await core.parley.read { try $0.blocks(of: romeo.id).count } == 2)
    }
  }

  @Test func membersOfContactGroupsThatAreMissingAreReported() async throws {
    try await withCore { _, context, _ in
      _ = try await run([Self.account("romeo")], context)
      let records = [Self.group("none", ["juliet"]), Self.group("some", ["romeo", "juliet"])]
      #expect(try await run(records, context).map(\.code) == ["user-unknown", "user-unknown"])
      let groups = try await ListContactGroups.perform(ListContactGroups.Input(domain: nil), in: context).items
      #expect(groups.map(\.members) == [0, 1])
      let complete = try await run([Self.account("juliet")] + records, context)
      #expect(complete.allSatisfy { $0.status != .failed }, "\(complete)")
    }
  }

  /// The reason is the same for all of them, so that it is reported once.
  @Test func whatBelongsToAnotherDomainHasOneReason() async throws {
    try await withCore { _, context, _ in
      let owner = "romeo@elsewhere.example"
      let message = "<message xmlns='jabber:client' type='chat'><body>hi</body></message>"
      let records: [ImportRecord] = [
        .account(AccountRecord(jid: owner, password: "secret words")),
        .account(AccountRecord(jid: "juliet@elsewhere.example", password: "secret words")),
        .contact(ContactRecord(owner: owner, jid: "juliet@elsewhere.example", subscription: "both")),
        .vCard(ElementRecord(owner: owner, xml: "<vCard xmlns='vcard-temp'/>")),
        .message(
          MessageRecord(
            owner: owner, time: 1_600_000_000_000, peer: Self.romeo, isInbound: false, isInAuthorsArchive: true,
            isInAddresseesArchive: true, isOffline: false, xml: message)),
        .contactGroup(
          ContactGroupRecord(domain: "elsewhere.example", name: "a", label: nil, members: [], hasEveryone: false)),
      ]
      let outcomes = try await run(records, context)
      #expect(outcomes.allSatisfy { $0.status == .failed && $0.code == ImportRecords.unserved }, "\(outcomes)")
      #expect(Set(outcomes.map(\.reason)).count == 1)
      #expect(outcomes[0].reason?.contains("elsewhere.example") == true)
      #expect(outcomes[0].reason?.contains("localhost") == true)
      let hall = "hall@rooms.elsewhere.example"
      let rooms: [ImportRecord] = [
        .room(RoomRecord(jid: hall, fields: [:], owners: [Self.romeo])),
        .roomPerson(RoomPersonRecord(room: hall, jid: Self.romeo, affiliation: "owner")),
        .roomMessage(
          RoomMessageRecord(room: hall, time: 1_600_000_000_000, nick: "R", author: nil, xml: message)),
      ]
      let refused = try await run(rooms, context)
      #expect(refused.allSatisfy { $0.status == .failed && $0.code == ImportRecords.unserved }, "\(refused)")
      #expect(Set(refused.map(\.reason)).count == 1)
      #expect(refused[0].reason?.contains("conference.localhost") == true)
    }
  }

  @Test func whatTheRulesForbidIsRefused() async throws {
    try await withCore { _, context, _ in
      let here = ["romeo", "juliet", "gone"].map { Self.account($0) } + [Self.room]
      #expect(try await run(here, context).allSatisfy { $0.status == .done })
      _ = try await DeleteUser.perform(DeleteUser.Input(jid: "gone@localhost", erase: false), in: context)
      let long = String(repeating: "x", count: 70_000)
      let records: [ImportRecord] = [
        .account(AccountRecord(jid: "empty@localhost", password: "")), Self.account("gone"),
        .account(AccountRecord(jid: "odd@localhost", password: "a\u{0}bcdefgh")),
        .account(AccountRecord(jid: "x@elsewhere.example", password: "secret words")),
        .contact(ContactRecord(owner: Self.romeo, jid: Self.romeo, subscription: "both")),
        .contact(ContactRecord(owner: Self.romeo, jid: "a@b", name: long, subscription: "both")),
        .contact(ContactRecord(owner: Self.romeo, jid: "c@b", name: "a\u{1B}b", subscription: "both")),
        .contact(ContactRecord(owner: Self.romeo, jid: "d@b", groups: ["a", "a"], subscription: "both")),
        .privateXML(ElementRecord(owner: Self.romeo, xml: "<prefs xmlns='x'>\(long)</prefs>")),
        .item(ItemRecord(owner: Self.romeo, node: "urn:y", id: long, payload: "<note xmlns='urn:y'/>")),
        Self.group("Some Friends", []), Self.group(String(repeating: "x", count: 1_000), []),
        .contactGroup(
          ContactGroupRecord(
            domain: "localhost", name: "odd", label: "a\u{1B}b", members: [], hasEveryone: false, sees: [])),
        .room(RoomRecord(jid: "conference.localhost", fields: [:], owners: [Self.romeo], subject: "")),
        Self.person("juliet", "member", nick: " "),
        .roomMessage(
          RoomMessageRecord(
            room: Self.hall, time: 1_600_000_000_000, nick: " ", author: Self.romeo,
            xml: "<message xmlns='jabber:client' type='groupchat'><body>hi</body></message>")),
      ]
      let outcomes = try await run(records, context)
      #expect(outcomes.allSatisfy { $0.status == .failed }, "\(outcomes)")
    }
  }
}
