import Addresses
import Basics
import Dialogs
import Foundation
import StoreConformance
import Testing

@testable import SQLiteStore

@Suite struct MigrationTests {
  /// A released migration never changes: a database that ran the old text would
  /// differ from one that ran the new.
  @Test func releasedMigrationsAreAsTheyWere() {
    let released: [String: UInt64] = [
      "0001-log": 14_890_007_402_019_193_737, "0002-rooms": 13_192_605_988_552_619_490,
      "0003-states": 17_836_345_018_970_841_068, "0004-pep": 7_611_552_165_499_210_749,
      "0005-whispers": 14_649_417_826_341_998_251,
      "0006-mentions": 15_381_582_030_556_481_597,
      "0007-kicks": 14_695_492_686_803_409_374,
      "0008-clients": 13_360_283_295_700_046_242,
      "0015-realm-vault": 9_915_238_856_820_489_390,
      "0010-node-people": 8_496_477_041_840_255_530,
      "0012-search": 8_680_282_415_921_014_946,
      "0009-blobs": 4_013_992_290_090_895_275,
      "0016-invites": 5_186_451_678_076_863_112,
      "0017-pushes": 5_992_363_226_449_904_034,
      "0018-dialog-settings": 8_653_726_479_279_899_065,
      "0019-guests": 18_138_375_443_708_560_013,
      "0020-identities": 4_505_815_838_767_667_368,
      "0024-messages": 12_880_368_800_696_317_470,
      "0025-unsent": 7_629_735_088_384_544_333,
      "0022-codes": 1_355_186_449_231_474_668,
      "0026-devices": 3_806_916_644_523_638_255,
      "0027-backends": 6_441_623_035_771_895_269,
      "0028-attachments": 14_342_408_003_589_014_572,
      "0029-calls": 12_888_327_633_372_851_024,
      "0023-user-settings": 856_213_095_229_063_571,
      "0021-nonces": 9_667_928_308_041_626_787,
      "0030-fresh_origins": 4_658_962_601_734_312_298,
      "0031-message-costs": 9_819_347_593_998_832_400,
      "0032-cleared-rooms": 1_092_483_210_571_380_371,
      "0033-user-notes": 925_598_304_294_673_606,
      "0034-temporary-rooms": 9_101_932_753_410_754_325,
      "0035-node-creators": 16_337_075_886_098_530_903,
      "0036-registered-nicks": 15_074_652_022_281_990_166,
      "0038-outbox": 2_300_558_440_095_609_795,
      "0040-federation-rules": 9_042_913_547_139_352_532,
      "0041-messages-from": 13_684_066_361_716_801_965,
      "0042-blocklist": 12_729_669_841_834_381_426,
      "0043-forwarded-reports": 12_841_473_252_998_043_270,
      "0048-epochs": 16_997_922_027_037_322_788,
      "0050-retention": 6_312_823_874_580_500_507,
      "0051-changes": 17_430_448_255_858_346_967,
      "0052-administrators": 12_060_797_050_834_076_693,
      "0053-wishes-and-links": 15_895_281_693_327_337_726,
      "0054-files-by-age": 2_824_946_862_017_195_250,
      "0055-retracted": 7_426_596_520_852_386_257,
      "0056-shared-names": 15_452_604_281_819_478_819,
      "0057-user-external-ids": 6_276_584_488_032_248_357,
      "0047-audit": 18_097_677_706_522_916_724,
      "0049-contact-groups": 12_668_667_710_023_917_250,
      "0060-suspended-stanzas": 12_581_903_936_103_585_011,
      "0061-shown": 9_009_003_100_572_972_871,
      "0062-hook-lanes": 8_532_050_491_475_888_323,
    ]
    #expect(Dictionary(uniqueKeysWithValues: Migration.all.map { ($0.identifier, $0.checksum) }) == released)
  }

  @Test func migrationsAreNumberedUpwards() {
    let numbers = Migration.all.map(\.number)
    #expect(numbers == Set(numbers).sorted())
    #expect(numbers.first == 1)
  }

  @Test func openingTwiceChangesNothing() throws {
    let folder = try Folder()
    func schema() throws -> [String] {
      let store = try folder.open()
      defer { try? store.close() }
      return try store.rows("SELECT name || coalesce(sql, '') FROM sqlite_schema ORDER BY name").map { $0[0] }
    }
    let first = try schema()
    #expect(first.count > 20)
    #expect(try schema() == first)
  }

  /// Ids that gathered in a table of their own are found when that is gone.
  @Test func idsThatWereGatheringStayKnown() throws {
    let folder = try Folder()
    try folder.edit { before in
      try Migration.migrate(before, to: Migration.all.filter { $0.number <= 30 })
      try before.execute(
        """
        PRAGMA application_id = 0x5061726c;
        INSERT INTO origins (dialog, hash, position) VALUES (1, 4, 1), (1, 5, 2);
        INSERT INTO fresh_origins (dialog, hash, position) VALUES (1, -4, 3), (2, 9, 4);
        INSERT INTO payloads (position, dialog, author, peer, kind, time) VALUES (4, 2, 1, 2, 1, 10);
        """)
    }
    let store = try folder.open()
    let rows = try store.rows("SELECT dialog, hash, position FROM origins ORDER BY position")
    #expect(rows == [["1", "4", "1"], ["1", "5", "2"], ["1", "-4", "3"], ["2", "9", "4"]])
    #expect(try store.int("SELECT origins FROM log") == 4)
    try store.close()
  }

  /// A database of the first release, with what it holds.
  private func makeFirst(_ folder: Folder) throws {
    try folder.edit { first in
      try Migration.migrate(first, to: [.log])
      try first.execute(
        """
        PRAGMA application_id = 0x5061726c;
        INSERT INTO realms (id, domain, key, epoch) VALUES (1, 'verona.example', x'000102', 7);
        INSERT INTO users (id, realm, name, state, created, delivered)
          VALUES (1, 1, 'romeo', 0, 5, 0), (2, 1, 'juliet', 0, 6, 0);
        INSERT INTO dialogs (id, kind, first, second, sequence, ordinal, first_own, second_own, last, created)
          VALUES (1, 1, 1, 2, 3, 3, 2, 1, 4, 9), (2, 0, 1, 1, 0, 0, 0, 0, 0, 9);
        INSERT INTO members (user, dialog, delivered, displayed, displayed_ordinal, own_at_displayed, position)
          VALUES (1, 1, 0, 0, 0, 0, 0), (2, 1, 1, 1, 1, 0, 4), (1, 2, 0, 0, 0, 0, 0);
        INSERT INTO payloads (position, dialog, author, peer, kind, time, seq, traits, type, stanza_id, content_kind,
          text, key_hash)
          VALUES (1, 1, 1, 2, 1, 10, 1, 3, 1, 'a', 1, 'one', 1), (2, 1, 2, 1, 1, 20, 2, 3, 1, 'b', 1, 'two', 2),
            (3, 1, 1, 2, 1, 30, 3, 3, 1, 'c', 1, 'three', 3);
        INSERT INTO entries (dialog, position, flags, ordinal, own)
          VALUES (1, 1, 15, 1, 1), (1, 2, 15, 2, 1), (1, 3, 15, 3, 2);
        INSERT INTO feed (user, position, traits)
          VALUES (1, 1, 1), (1, 2, 3), (1, 3, 1), (2, 1, 3), (2, 2, 1), (2, 3, 3);
        UPDATE log SET position = 4, time = 40;
        """)
    }
  }

  @Test func aDatabaseOfTheFirstSchemaIsBroughtUpWithWhatItHolds() throws {
    let folder = try Folder()
    try makeFirst(folder)
    let store = try folder.open()
    let (romeo, juliet) = (UserID(1), UserID(2))
    let realm = RealmID(1)
    try store.read { reader in
      #expect(try reader.head().position == Position(4))
      let realms = [Realm(id: realm, domain: "verona.example", rooms: "", key: [0, 1, 2], epoch: 7)]
      #expect(try reader.realms() == realms)
      let dialog = try #require(try reader.dialog(between: juliet, and: romeo))
      #expect(dialog.id == DialogID(1))
      #expect(try reader.dialog(between: romeo, and: romeo)?.id == DialogID(2))
      #expect(try reader.dialogs(of: romeo, before: .end, limit: 9).map(\.dialog) == [dialog])
      #expect(try reader.mark(romeo, in: dialog.id)?.own == 2)
      #expect(try reader.mark(juliet, in: dialog.id)?.own == 1)
      #expect(try reader.unread(of: romeo) == 1)
      #expect(try reader.unread(of: juliet) == 1)
      let views = [
        try reader.feed(of: juliet, after: .zero, limit: 9),
        try reader.feed(of: juliet, rooms: [], after: .zero, limit: 9),
        try reader.archive(of: romeo, ArchiveQuery(limit: 9)).entries,
        try reader.history(of: dialog.id, after: .zero, before: .end, limit: 9, ascending: true),
      ]
      for view in views { #expect(view.map(\.position.number) == [1, 2, 3]) }
      #expect(try reader.memberships(of: romeo).isEmpty)
      #expect(try reader.rooms(of: romeo, before: .end, limit: 9).isEmpty)
    }
    try store.write { writer in
      try writer.setRooms("rooms.verona.example", of: realm)
      let party = try #require(try writer.party(romeo))
      let rooms = try ["orchard", "balcony"].map {
        try writer.insertRoom(
          localpart: $0, in: realm, externalID: nil, settings: .group, createdAt: Timestamp(milliseconds: 50))
      }
      #expect(rooms.map(\.id) == [DialogID(3), DialogID(4)])
      for room in rooms {
        try writer.put(
          Member(
            room: room.id, party: party, affiliation: .owner, nick: "R", since: Position(4),
            joinedAt: Timestamp(milliseconds: 50), version: Position(4)),
          ordinal: 0)
      }
      // Two users still have one dialog.
      #expect(throws: StoreFailure.self) {
        try writer.insert(dialog: .own, first: party, second: party, createdAt: Timestamp(milliseconds: 50))
      }
    }
    #expect(try store.read { try $0.memberships(of: romeo).count } == 2)
    #expect(try store.read { try $0.unread(of: romeo) } == 1)
    try store.close()
    #expect(
      try folder.open().read { try $0.memberships(of: romeo).map(\.room.address.description) }
        == ["orchard@rooms.verona.example", "balcony@rooms.verona.example"])
  }

  /// Messages that were retracted before the schema counted them as read.
  @Test func whatWasRetractedBeforeIsUnreadForNobody() throws {
    let folder = try Folder()
    try makeFirst(folder)
    let romeo = Party(id: UserID(1), realm: RealmID(1), address: try BareJID("romeo@verona.example"))
    let edited = MessageState(version: Position(4), revision: 1, text: "2", editedAt: Timestamp(milliseconds: 40))
    let retracted = MessageState(
      version: Position(4), revision: 1,
      retraction: MessageState.Retraction(
        by: romeo, at: Timestamp(milliseconds: 40), id: nil, reason: nil, isModeration: false))
    try folder.edit { before in
      try Migration.migrate(before, to: Migration.all.filter { $0.number <= 54 })
      for (position, state) in [(2, edited), (3, retracted)] as [(Int64, MessageState)] {
        try before.once("INSERT INTO states (position, version, revision, detail) VALUES (?, 4, 1, ?)") {
          try $0.bind(position, FactCoding.encode(state)).run()
        }
      }
      try before.execute("INSERT INTO mentions (dialog, ordinal, user) VALUES (1, 2, 1), (1, 3, 2);")
    }
    let store = try folder.open()
    try store.read { reader throws in
      #expect(try reader.unread(of: UserID(2)) == 0)
      #expect(try reader.mentions(of: UserID(2), in: nil) == 0)
      #expect(try reader.unread(of: romeo.id) == 1)
      #expect(try reader.mentions(of: romeo.id, in: nil) == 1)
    }
    try store.close()
  }

  /// A client that states the version of before the names gets them.
  @Test func aRosterWithContactGroupsIsANewOneWithNames() throws {
    let folder = try Folder()
    try makeFirst(folder)
    try folder.edit { before in
      try Migration.migrate(before, to: Migration.all.filter { $0.number <= 55 })
      try before.execute(
        """
        INSERT INTO contact_groups (id, realm, name, display_name, has_everyone) VALUES (1, 1, 'sales', 'Sales', 0);
        INSERT INTO contact_group_members (group_id, user) VALUES (1, 1), (1, 2);
        INSERT INTO shared_contacts_versions (user, version) VALUES (1, 4), (2, 4);
        """)
    }
    let store = try folder.open()
    try store.read { reader throws in
      // No later change has the same version.
      #expect(try reader.head().position == Position(5))
      for user in [UserID(1), UserID(2)] {
        #expect(try reader.rosterVersion(of: user) == Position(5))
        #expect(try reader.contactChanges(of: user, after: Position(4)) == nil)
      }
    }
    try store.close()
  }

  /// Rooms with the one id that a realm gave out: made by a user, by nobody whom the log still names, and without an id.
  @Test func anExternalIDOfBeforeIsTheBackendsAndTheCreators() throws {
    let folder = try Folder()
    try makeFirst(folder)
    let (romeo, juliet) = (UserID(1), UserID(2))
    let created = FactCoding.encode(.room(RoomChange(sequence: 1, change: .created)))
    try folder.edit { before in
      try Migration.migrate(before, to: Migration.all.filter { $0.number <= 56 })
      for (room, id, expired) in [(7, "x", 0), (8, "y", 23), (9, "z", 23), (10, nil, 0)] as [(Int64, String?, Int64)] {
        try before.once(
          """
          INSERT INTO dialogs (id, kind, first, second, sequence, ordinal, first_own, second_own, last, created, expired)
          VALUES (?, 2, 0, 0, 1, 1, 0, 0, 24, 50, ?)
          """
        ) { try $0.bind(room, expired).run() }
        try before.once(
          """
          INSERT INTO rooms (dialog, realm, localpart, external_id, settings, listed, member_count, version, destroyed)
          VALUES (?, 1, 'room' || ?1, ?, ?, 0, 1, 2, 0)
          """
        ) { try $0.bind(room, id, FactCoding.encode(settings: .group)).run() }
      }
      // Of the first, everything is there, and a notice of a history that was imported before it.
      for (position, room, author, detail) in [
        (20, 7, juliet, FactCoding.encode(.room(RoomChange(sequence: 2, change: .created)))),
        (21, 7, romeo, created), (22, 10, romeo, created),
      ] as [(Int64, Int64, UserID, [UInt8]?)] {
        try before.once(
          """
          INSERT INTO payloads (position, dialog, author, peer, kind, time, detail) VALUES (?, ?, ?, 0, ?, 50, ?)
          """
        ) { try $0.bind(position, room, author, Fact.Kind.room.rawValue, detail).run() }
        try before.once("INSERT INTO entries (dialog, position, flags, ordinal, own) VALUES (?, ?, 7, 0, 0)") {
          try $0.bind(room, position).run()
        }
      }
      // Of the others the beginning has gone. The second one's creator is its owner as ever, beside a founding member;
      // the third one's has left, and its other owner is not taken for them.
      try before.execute(
        """
        INSERT INTO affiliations (room, user, affiliation, since, joined, version)
          VALUES (8, 1, 5, 20, 50, 20), (8, 2, 5, 18, 50, 19), (9, 1, 5, 20, 50, 20), (9, 2, 0, 22, 60, 22);
        UPDATE realms SET rooms = 'rooms.verona.example';
        UPDATE log SET position = 24, time = 60;
        INSERT INTO entries (dialog, position, flags, ordinal, own) VALUES (7, 24, 4, 0, 0);
        """)
    }
    let store = try folder.open()
    let realm = RealmID(1)
    try store.write { writer in
      for (id, room) in [("x", DialogID(7)), ("y", DialogID(8)), ("z", DialogID(9))] {
        #expect(try writer.room(externalID: .backend(id), in: realm)?.id == room)
      }
      let rooms = [DialogID(7), DialogID(8), DialogID(9), DialogID(10)]
      let creators: [UserID?] = [romeo, juliet, nil, nil]
      #expect(try rooms.map { try writer.room($0)?.creator } == creators)
      // The place in lists is that of the last entry that is shown; of the first one if none is.
      #expect(try rooms.map { try writer.room($0)?.shown.number } == [21, 24, 24, 22])
      #expect(try writer.room(externalID: .user(romeo, "x"), in: realm)?.id == DialogID(7))
      #expect(try writer.room(externalID: .user(juliet, "y"), in: realm)?.id == DialogID(8))
      for (user, id) in [(juliet, "x"), (romeo, "y"), (romeo, "z"), (juliet, "z")] {
        #expect(try writer.room(externalID: .user(user, id), in: realm) == nil)
      }
      // Whoever has no such id may give it.
      let room = try writer.insertRoom(
        localpart: "new", in: realm, externalID: .user(juliet, "x"), settings: .group,
        createdAt: Timestamp(milliseconds: 70))
      #expect(try writer.room(externalID: .user(juliet, "x"), in: realm) == room)
      for taken in [ExternalID.backend("x"), .user(romeo, "x")] {
        #expect(throws: StoreConflict.self) {
          try writer.insertRoom(
            localpart: "other", in: realm, externalID: taken, settings: .group,
            createdAt: Timestamp(milliseconds: 70))
        }
      }
    }
    try store.close()
  }

  /// A database from before private messages in rooms, mentions and kicks: a room, a member, a banned user, and an
  /// edited message.
  @Test func aRoomOfTheFourthSchemaHasNobodyKickedAndNobodyMentioned() throws {
    let folder = try Folder()
    let edited = MessageState(version: Position(4), revision: 1, text: "two", editedAt: Timestamp(milliseconds: 40))
    try folder.edit { old in
      try Migration.migrate(old, to: Array(Migration.all.prefix(4)))
      try old.execute(
        """
        PRAGMA application_id = 0x5061726c;
        INSERT INTO realms (id, domain, key, epoch, rooms) VALUES (1, 'verona.example', x'000102', 7, 'rooms.verona.example');
        INSERT INTO users (id, realm, name, state, created, delivered)
          VALUES (1, 1, 'romeo', 0, 5, 0), (2, 1, 'tybalt', 0, 6, 0);
        INSERT INTO dialogs (id, kind, first, second, sequence, ordinal, first_own, second_own, last, created)
          VALUES (7, 2, 0, 0, 1, 1, 0, 0, 4, 9);
        INSERT INTO affiliations (room, user, affiliation, nick, nick_key, since, joined, version)
          VALUES (7, 1, 5, 'R', 'r', 0, 9, 1), (7, 2, 0, NULL, NULL, 2, 9, 2);
        INSERT INTO members (user, dialog, delivered, displayed, displayed_ordinal, own_at_displayed, position, own)
          VALUES (1, 7, 0, 0, 0, 0, 0, 0);
        INSERT INTO payloads (position, dialog, author, peer, kind, time, seq, traits, type, stanza_id, content_kind, text)
          VALUES (3, 7, 2, 0, 1, 30, 1, \(3 | StoredTraits.changed), 2, 'a', 1, 'one');
        INSERT INTO entries (dialog, position, flags, ordinal, own) VALUES (7, 3, 7, 1, 2);
        UPDATE log SET position = 4, time = 40;
        """)
      try old.once(
        """
        INSERT INTO rooms (dialog, realm, localpart, settings, listed, member_count, version, destroyed)
        VALUES (7, 1, 'square', ?, 1, 1, 2, 0)
        """
      ) { try $0.bind(FactCoding.encode(settings: .open)).run() }
      try old.once(
        "INSERT INTO states (position, version, revision, text, edited, detail) VALUES (3, 4, 1, 'two', 40, ?)"
      ) { try $0.bind(FactCoding.encode(edited)).run() }
    }

    let store = try folder.open()
    let (room, romeo, tybalt) = (DialogID(7), UserID(1), UserID(2))
    try store.read { reader in
      #expect(try reader.room(room)?.settings == .open)
      let people = try reader.members(of: room, among: [.owner, .outcast], after: nil, limit: 9)
      #expect(people.map(\.party.id) == [romeo, tybalt])
      #expect(people.allSatisfy { !$0.isKicked && $0.reason == nil })
      #expect(try reader.memberChanges(of: room, after: .zero, limit: 9).count == 2)
      let said = try #require(try reader.entry(Position(3), in: room))
      #expect(said.state == edited)
      #expect(said.mentions == [])
      #expect(said.whisper == nil)
      #expect(try reader.rooms(of: romeo, before: .end, limit: 9).map(\.mark.displayedOrdinal) == [0])
      #expect(try reader.mentions(of: romeo, in: nil) == 0)
      #expect(try reader.unread(of: romeo) == 1)
    }
    try store.write { writer in
      var member = try #require(try writer.member(romeo, of: room))
      member.isKicked = true
      try writer.put(member, ordinal: 1)
      try writer.setMentioned([romeo], by: Position(3), in: room)
    }
    try store.close()
    let again = try folder.open()
    try again.read { (reader) throws in
      #expect(try reader.member(romeo, of: room)?.isKicked == true)
      #expect(try reader.mentions(of: romeo, in: room) == 1)
    }
  }
}
