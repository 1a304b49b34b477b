import Testing

@testable import ImportSources

/// Rooms, their people and their archives, of each server.
@Suite struct RoomTests {
  private let hall = "hall@rooms.a"

  @Test("A room of Prosody, whose hidden authors are found by their occupant ids") func prosody() throws {
    let folder = try Folder()
    _ = try folder.write("a/accounts/juliet.dat", "return { password = 'x' }")
    _ = try folder.write(
      "rooms%2ea/config/hall.dat",
      """
      return { ["_jid"] = "hall@rooms.a"; ["romeo@b"] = "owner"; ["a.example"] = "outcast";
        ["_affiliation_data"] = { ["romeo@b"] = { ["reserved_nickname"] = "Romy" } };
        ["_data"] = { ["name"] = "Hall"; ["members_only"] = true; ["hidden"] = true; ["password"] = "x"; ["subject"] = "s";
          ["subject_from"] = "hall@rooms.a/Jule"; ["occupant_id_salt"] = "b232f2a5-01ef-4e1d-84a1-7347e8103c3a" } };
      """)
    _ = try folder.write("rooms%2ea/config/torn.dat", "return { [")
    _ = try folder.write("rooms%2ea/config/odd.dat", "return { _data = 7 }")
    let items = [
      item("from = 'hall@rooms.a/Jule'", occupant("My66j4cBpcIrXeggP4Nz/aLfAJ+fj4rE1MYnIdZwr2k=")),
      item("from = 'hall@rooms.a/Who'", occupant("AAAA")),
      item(
        "from = 'hall@rooms.a/Romy'",
        "{ name = 'x', attr = { xmlns = 'http://jabber.org/protocol/muc#user' }, { name = 'item', attr = { jid = 'romeo@b/x' } } }"
      ),
      item("from = 'hall@rooms.a'", ""), "item({ torn", item("from = 'hall@rooms.a/Late'", "", time: "nil"),
    ]
    _ = try folder.write("rooms%2ea/muc_log/hall.list", items.joined(separator: "\n"))
    let (first, flaws) = try all(ProsodyFolder(folder.path), [.accounts, .copies, .rooms])
    #expect(
      first.dropFirst() == [
        .room(
          RoomRecord(
            jid: hall,
            fields: [
              "roomname": "Hall", "membersonly": "1", "publicroom": "0", "roomsecret": "x",
              "passwordprotectedroom": "1",
              "whois": "moderators", "persistentroom": "0", "moderatedroom": "0", "changesubject": "0",
              "allowinvites": "0",
            ], owners: ["romeo@b"], subject: "s", subjectNick: "Jule")),
        message("Jule", "juliet@a"), message("Who", nil), message("Romy", "romeo@b"),
      ])
    // One without a nick, a torn one, one without a time; a torn and an odd configuration.
    #expect(flaws.count == 5)
    let (people, _) = try all(ProsodyFolder(folder.path), .settings)
    #expect(
      people == [
        .roomPerson(RoomPersonRecord(room: hall, jid: "a.example", affiliation: "outcast")),
        .roomPerson(RoomPersonRecord(room: hall, jid: "romeo@b", affiliation: "owner", nick: "Romy")),
      ])
  }

  private func item(_ attributes: String, _ child: String, time: String = "5") -> String {
    "item({ name = 'message', attr = { type = 'groupchat', \(attributes) }, { name = 'body', attr = {}, 'hi' }, \(child) ; when = \(time) })"
  }
  private func occupant(_ id: String) -> String {
    "{ name = 'occupant-id', attr = { xmlns = 'urn:xmpp:occupant-id:0', id = '\(id)' } }"
  }
  private func message(_ nick: String, _ author: String?) -> ImportRecord {
    .roomMessage(
      RoomMessageRecord(
        room: hall, time: 5_000, nick: nick, author: author,
        xml: "<message xmlns='jabber:client' type='groupchat'><body>hi</body></message>"))
  }

  private let options = """
    [{title,<<"Hall">>},{public,false},{members_only,true},{password_protected,false},{password,<<"x">>},
     {anonymous,false},{max_users,200},{allow_private_messages,false},{subject,[{text,<<>>,<<"s">>}]},
     {subject_author,<<"Jule">>},{affiliations,[{{<<"romeo">>,<<"b">>,<<>>},owner},
       {{<<>>,<<"a.example">>,<<>>},{outcast,<<"so be it">>}},{{x},owner}]}]
    """
  private var room: ImportRecord {
    .room(
      RoomRecord(
        jid: hall,
        fields: [
          "roomname": "Hall", "publicroom": "0", "membersonly": "1", "passwordprotectedroom": "0", "whois": "anyone",
          "maxusers": "200", "allowpm": "none",
        ], owners: ["romeo@b"], subject: "s", subjectNick: "Jule"))
  }
  private var people: [ImportRecord] {
    [
      .roomPerson(RoomPersonRecord(room: hall, jid: "romeo@b", affiliation: "owner")),
      .roomPerson(RoomPersonRecord(room: hall, jid: "a.example", affiliation: "outcast", reason: "so be it")),
    ]
  }
  private var group: ImportRecord {
    .contactGroup(
      ContactGroupRecord(
        domain: "a", name: "sales", label: "Sales", members: ["nurse@a", "romeo@a"], hasEveryone: false))
  }

  @Test("Rooms and shared roster groups in a dump of Mnesia") func mnesia() throws {
    let folder = try Folder()
    let file = try folder.write(
      "dump.txt",
      """
      {tables,[]}.
      {muc_room,{<<"hall">>,<<"rooms.a">>},\(options)}.
      {muc_room,{<<"odd">>,<<"rooms.a">>},x}.
      {archive_msg,{<<"hall">>,<<"rooms.a">>},<<"5">>,{0,5,0},{<<"romeo">>,<<"b">>,<<"x">>},{<<"romeo">>,<<"b">>,<<>>},
        {xmlel,<<"message">>,[{<<"type">>,<<"groupchat">>},{<<"from">>,<<"romeo@b/x">>}],[{xmlel,<<"body">>,[],[{xmlcdata,<<"hi">>}]}]},
        <<"Romy">>,groupchat}.
      {sr_user,{<<"romeo">>,<<"a">>},{<<"sales">>,<<"a">>}}.
      {sr_user,{<<"nurse">>,<<"a">>},{<<"sales">>,<<"a">>}}.
      {sr_group,{<<"sales">>,<<"a">>},[{label,<<"Sales">>},{displayed_groups,[<<"sales">>,<<"staff">>]}]}.
      {sr_group,{<<"spies">>,<<"a">>},[{displayed_groups,[<<"sales">>]}]}.
      {sr_group,{<<"staff">>,<<"a">>},[{displayed_groups,[<<"staff">>,<<"sales">>,<<"spies">>]}]}.

      """)
    let (first, flaws) = try all(EjabberdDump(file), [.accounts, .copies, .rooms])
    #expect(first == [room, message("Romy", "romeo@b")])
    #expect(flaws.count == 1)
    let (second, more) = try all(EjabberdDump(file), .settings)
    // Groups that show each other see each other.
    let staff = ContactGroupRecord(
      domain: "a", name: "staff", label: nil, members: [], hasEveryone: false, sees: ["sales"])
    #expect(second == people + [group, .contactGroup(staff)])
    // The damaged affiliation, the group that shows another and not itself, and the one that shows a group which does not
    // show it.
    #expect(more.count == 3)
  }

  @Test("The same and everything else in a dump of PostgreSQL, and bad rows of it") func postgres() throws {
    let folder = try Folder()
    let file = try folder.write(
      "dump.sql",
      """
      --
      -- PostgreSQL database dump
      COPY public.users (username, password, serverkey, salt, iterationcount, created_at) FROM stdin;
      romeo\tsha256:c3Q=\tc2U=\tc2E=\t4096\t2026
      juliet\tse\\tcret\t\t\t0\t2026
      \\.
      COPY public.muc_room (name, host, opts) FROM stdin;
      hall\trooms.a\t\(options.replacing("\n", with: "\\n"))
      odd\trooms.a\t[{
      \\.
      COPY public.archive (username, "timestamp", xml, kind, nick, bare_peer, id) FROM stdin;
      hall@rooms.a\t5000000\t<message type='groupchat' from='romeo@b/x'><body>hi</body></message>\tgroupchat\tRomy\tromeo@b\t1
      romeo\t6000000\t<message\tchat\t\tjuliet@a\t2
      romeo\t7000000\t<message to='juliet@a' from='romeo@a/x' type='chat'><body>a</body></message>\t\\N\t\\N\tjuliet@a\t3
      \\.
      COPY public.rosterusers (username, jid, nick, subscription, ask) FROM stdin;
      romeo\tjuliet@a\tJuliet\tB\tN
      nurse\ttybalt@a\t\tN\tI
      nurse\tx@a\t\tQ\tI
      \\.
      COPY public.rostergroups (username, jid, grp) FROM stdin;
      romeo\tjuliet@a\tLoves
      romeo\tjuliet@a\tVerona & Co
      \\.
      COPY public.privacy_default_list (username, name) FROM stdin;
      romeo\tmine
      \\.
      COPY public.privacy_list (username, name, id) FROM stdin;
      romeo\tmine\t4
      \\.
      COPY public.privacy_list_data (id, t, value, action, ord, match_all) FROM stdin;
      4\tj\tparis@a\td\t0\tt
      \\.
      COPY public.pubsub_node (host, node, nodeid) FROM stdin;
      romeo@a\turn:x\t1
      pubsub.a\turn:y\t2
      \\.
      COPY public.pubsub_node_option (nodeid, name, val) FROM stdin;
      1\taccess_model\twhitelist
      1\troster_groups_allowed\t[]
      \\.
      COPY public.pubsub_item (nodeid, itemid, modification, payload) FROM stdin;
      1\tsecret\t001795:5:1\t<note xmlns='urn:x'/>
      1\tbad\t001795:5:2\t<note
      \\.
      COPY public.sr_group (name, opts) FROM stdin;
      sales\t[{label,<<"Sales">>}]
      \\.
      COPY public.sr_user (jid, grp) FROM stdin;
      romeo@a\tsales
      nurse@a\tsales
      \\.

      """)
    let source = EjabberdSource.at(file, domain: "a")
    let (first, flaws) = try all(source, [.accounts, .copies, .rooms])
    #expect(first.prefix(2) == [room, message("Romy", "romeo@b")])
    // Accounts wait for the end of the pass, because a ban may stand behind them.
    #expect(
      first.suffix(2) == [
        .account(
          AccountRecord(
            jid: "romeo@a",
            scram: [
              SCRAMRecord(
                mechanism: "SCRAM-SHA-256", iterations: 4096, salt: "c2E=", storedKey: "c3Q=", serverKey: "c2U=")
            ])),
        .account(AccountRecord(jid: "juliet@a", password: "se\tcret")),
      ])
    #expect(first.count == 5)
    // Each with its line.
    #expect(flaws.map { $0.prefix { $0 != ":" } } == ["9", "13"])
    let (second, more) = try all(source, .settings)
    let form =
      "<x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE'>"
      + "<value>http://jabber.org/protocol/pubsub#node_config</value></field>"
      + "<field var='pubsub#access_model'><value>whitelist</value></field>"
      + "<field var='pubsub#roster_groups_allowed'></field></x>"
    #expect(
      second == people + [
        .contact(
          ContactRecord(
            owner: "romeo@a", jid: "juliet@a", name: "Juliet", groups: ["Loves", "Verona & Co"], subscription: "both")),
        .request(RequestRecord(owner: "nurse@a", from: "tybalt@a")),
        .block(BlockRecord(owner: "romeo@a", jids: ["paris@a"])),
        .node(NodeRecord(owner: "romeo@a", name: "urn:x", form: form.replacing("></field></x>", with: "/></x>"))),
        .item(
          ItemRecord(
            owner: "romeo@a", node: "urn:x", form: form.replacing("></field></x>", with: "/></x>"), id: "secret",
            payload: "<note xmlns='urn:x'/>")),
        group,
      ])
    // The damaged affiliation, subscription and payload.
    #expect(more.count == 3)
  }

  @Test(
    "A dump that is not as pg_dump writes it is refused with its line",
    arguments: [
      ("INSERT INTO public.users VALUES ('romeo');", "--inserts"),
      ("COPY users (username) FROM stdin;\nromeo", "within a table"), ("COPY users FROM stdin;", "as pg_dump"),
      ("COPY spool (username) FROM stdin;\nromeo\n\\.", "--domain"),
    ])
  func badDumps(_ text: String, _ reason: String) throws {
    let folder = try Folder()
    let source = EjabberdSource.at(
      try folder.write("dump.sql", "--\n\(text)\n"), domain: reason == "--domain" ? nil : "a")
    let failure = #expect(throws: SourceFailure.self) { try all(source, [.accounts, .copies]) }
    #expect(failure?.description.contains(reason) == true)
  }

  @Test(
    "A row with fields too many or too few is told with its line, and the others are taken",
    arguments: [
      "--\n\nCOPY users (username, password) FROM stdin;\nromeo\njuliet\tx\n\\.\n"
        + "COPY rosterusers (username, jid, subscription) FROM stdin;\njuliet\tromeo@a\tB\tB\njuliet\tnurse@a\tX\n\\.\n",
      "-- MySQL dump 10.13\n\nINSERT INTO `users` (`username`, `password`) VALUES\n('romeo'),\n('juliet','x');\n"
        + "INSERT INTO `rosterusers` (`username`, `jid`, `subscription`) VALUES\n('juliet','romeo@a','B','B'),\n"
        + "('juliet','nurse@a','X');\n",
    ]) func oddRows(_ text: String) throws
  {
    let folder = try Folder()
    let source = EjabberdSource.at(try folder.write("dump.sql", text), domain: "a")
    let (accounts, flaws) = try all(source, .accounts)
    #expect(accounts == [.account(AccountRecord(jid: "juliet@a", password: "x"))])
    #expect(flaws == ["4: it has 1 field in place of 2"])
    let (settings, more) = try all(source, .settings)
    #expect(settings.isEmpty)
    #expect(more.first == "\(text.contains("COPY") ? 8 : 7): it has 4 fields in place of 3")
    #expect(more.last == "\(text.contains("COPY") ? 9 : 8): its subscription is damaged")
  }

  @Test("A room comes before its first message, and at the end if it has none") func order() throws {
    let stage = try HistoryStage()
    func said(_ time: Int64, in room: String) -> RoomMessageRecord {
      RoomMessageRecord(room: room, time: time, nick: "n", author: nil, xml: "\(time)")
    }
    for room in ["silent@r", "HALL@r", "park@r"] {
      #expect(stage.add(RoomRecord(jid: room, fields: [:], owners: []), Place(file: "x")))
    }
    for message in [said(9_000, in: "hall@r"), said(2_000, in: "park@r"), said(1_000, in: "hall@r")] {
      try stage.add(message, Place(file: "x"))
    }
    var found: [String] = []
    while let (record, _) = try stage.next() {
      if case .room(let room) = record { found.append("\(room.jid) \(room.time ?? -1)") }
      if case .roomMessage(let message) = record { found.append(message.xml) }
    }
    #expect(found == ["HALL@r 1000", "1000", "park@r 2000", "2000", "9000", "silent@r -1"])
  }

  @Test("A room that a source has twice comes twice, in the order of the source") func twice() throws {
    let stage = try HistoryStage()
    for subject in ["first", "second"] {
      #expect(stage.add(RoomRecord(jid: "hall@r", fields: [:], owners: [], subject: subject), Place(file: "x")))
    }
    try stage.add(RoomMessageRecord(room: "hall@r", time: 1_000, nick: "n", author: nil, xml: ""), Place(file: "x"))
    var found: [String] = []
    while let (record, _) = try stage.next() {
      if case .room(let room) = record { found.append("\(room.subject) \(room.time ?? -1)") }
    }
    #expect(found == ["first 1000", "second 1000"])
  }
}
