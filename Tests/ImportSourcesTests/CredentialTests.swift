import Testing

@testable import ImportSources

/// What stands in a field for a password, and what disables an account.
@Suite struct CredentialTests {
  private static let (stored, server, salt) = (
    "kD67x7o6BW8b4dJnovX208NIlcE=", "T0sSIllG/bJr9QEEOtOCR9dzFYM=", "b6uKt3IrQbIOq8WYpwexYw=="
  )

  private static func keys(_ mechanism: String = "SCRAM-SHA-1", iterations: Int = 4096) -> SCRAMRecord {
    SCRAMRecord(
      mechanism: mechanism, iterations: iterations, salt: salt, storedKey: stored, serverKey: server)
  }

  @Test("Lists of keys are keys, whichever server writes them") func lists() {
    let list = "\(Self.stored),\(Self.server),\(Self.salt),4096"
    #expect(StoredPassword("scram:\(list)") == .keys([Self.keys()]))
    #expect(StoredPassword("scram:sha256,\(list)") == .keys([Self.keys("SCRAM-SHA-256")]))
    #expect(StoredPassword("scram:sha512,\(list)") == .keys([Self.keys("SCRAM-SHA-512")]))
    #expect(StoredPassword("==SCRAM==,\(list)") == .keys([Self.keys()]))
    #expect(StoredPassword("BANNED_ACCOUNT--20080425T21:45:07--2176635--Spammed_rooms") == .banned)
    #expect(StoredPassword("") == .none)
  }

  @Test(
    "Another form is never a password",
    arguments: [
      "scram:a,b,c", "scram:", "scram:sha3,a,b,c,1", "scram:a,b,c,many", "==MULTI_SCRAM==,4096,x", "{scram,<<\"a\">>}",
      "sha256:kD67x7o6BW8b4dJnovX208NIlcE=", "{SSHA}kD67x7o6BW8b4dJnovX208NIlcE=", "$6$salt$abcdefghijklmnop",
      "$2y$10$abcdefghijklmnopqrstuv", "SCRAM-SHA-256$4096:a$b:c",
      "scram:" + String(repeating: "a,", count: 100_000), "{SSHA}" + String(repeating: "x", count: 1_000_000),
    ]) func others(_ text: String)
  {
    guard case .unknown = StoredPassword(text) else {
      return #expect(Bool(false), "it was taken: \(text.prefix(40))")
    }
  }

  @Test(
    "A password may look a little like one",
    arguments: [
      "scram", "{a}", "{not a scheme} but a password", "$5 for a beer", "$a$b$c", "sha", "BANNED", "a,b,c,4096",
    ])
  func passwords(_ text: String) {
    #expect(StoredPassword(text) == .plain(text))
  }

  // MARK: The portable format

  private func portable(
    _ user: String, _ kinds: RecordKinds = .accounts
  ) throws -> (
    records: [ImportRecord], flaws: [String]
  ) {
    let folder = try Folder()
    return try all(
      PortableSource(
        folder.write(
          "export.xml", "<server-data xmlns='urn:xmpp:pie:0'><host jid='a'>\(user)</host></server-data>")), kinds)
  }

  @Test("An exported string of keys becomes keys, and no password") func portableKeys() throws {
    let (records, flaws) = try portable(
      "<user name='r' password='scram:\(Self.stored),\(Self.server),\(Self.salt),4096'/>")
    #expect(flaws.isEmpty)
    #expect(records == [.account(AccountRecord(jid: "r@a", scram: [Self.keys()]))])
    let (locked, reported) = try portable("<user name='r' password='{SSHA}kD67x7o6BW8b4dJnovX208NIlcE='/>")
    #expect(locked == [.account(AccountRecord(jid: "r@a"))])
    #expect(reported.count == 1 && reported[0].contains("{SSHA}"))
  }

  @Test(
    "Accounts of Tigase are as active as they were",
    arguments: [
      ("active", false, 0), ("vip", false, 0), ("paid", false, 0), ("undefined_active", false, 0),
      ("disabled", true, 0),
      ("banned", true, 0), ("pending", true, 1), ("spam", true, 1), ("system", true, 1), ("", true, 1),
    ]) func tigase(_ status: String, _ isDisabled: Bool, _ flawCount: Int) throws
  {
    let (records, flaws) = try portable(
      "<user name='r' password='secret' xmlns:t='tigase:xep-0227:user:0' t:status='\(status)'/>")
    #expect(records == [.account(AccountRecord(jid: "r@a", password: "secret", isDisabled: isDisabled))])
    #expect(flaws.count == flawCount)
  }

  @Test("An attribute of another namespace is no status") func otherStatus() throws {
    let (records, flaws) = try portable("<user name='r' password='secret' status='disabled'/>")
    #expect(records == [.account(AccountRecord(jid: "r@a", password: "secret"))])
    #expect(flaws.isEmpty)
  }

  @Test("Plain credentials of Tigase are a password") func plainCredentials() throws {
    func user(_ password: String) -> String {
      """
      <user name='r'><plain-credentials xmlns='tigase:xep-0227:sasl:0#plain' mechanism='PLAIN'>
      <password>\(password)</password></plain-credentials></user>
      """
    }
    #expect(
      try portable(user("cMOkc3N3b3Jk")).records == [.account(AccountRecord(jid: "r@a", password: "pässword"))])
    let (records, flaws) = try portable(user("not base 64!"))
    #expect(records == [.account(AccountRecord(jid: "r@a"))])
    #expect(flaws.count == 1)
  }

  @Test("Of two states the one that disables counts, and ejabberd's ban is no private data") func twoStates() throws {
    let user = """
      <user name='r' password='secret' xmlns:t='tigase:xep-0227:user:0' t:status='active'>
      <query xmlns='jabber:iq:private'><banned xmlns='jabber:ejabberd:banned'><reason>spam</reason>
      <bandate>2026-01-01T00:00:00Z</bandate></banned><prefs xmlns='x'/></query></user>
      """
    let (records, _) = try portable(user)
    #expect(records == [.account(AccountRecord(jid: "r@a", password: "secret", isDisabled: true))])
    #expect(
      try portable(user, .settings).records == [.privateXML(ElementRecord(owner: "r@a", xml: "<prefs xmlns='x'/>"))])
    // Without a date it bans nobody.
    let (others, _) = try portable(user.replacing("2026-01-01T00:00:00Z", with: ""))
    #expect(others == [.account(AccountRecord(jid: "r@a", password: "secret"))])
  }

  @Test("Two sets of keys of one mechanism are reported, and the first counts") func twoSets() throws {
    func element(_ iterations: Int) -> String {
      """
      <scram-credentials xmlns='urn:xmpp:pie:0#scram' mechanism='SCRAM-SHA-1'><iter-count>\(iterations)</iter-count>
      <salt>\(Self.salt)</salt><server-key>\(Self.server)</server-key><stored-key>\(Self.stored)</stored-key>
      </scram-credentials>
      """
    }
    let (records, flaws) = try portable("<user name='r'>\(element(4096))\(element(5000))</user>")
    #expect(records == [.account(AccountRecord(jid: "r@a", scram: [Self.keys()]))])
    #expect(flaws.count == 1)
  }

  @Test("Two passwords of one account are reported, and the first counts, also if another row disables it")
  func twoPasswords() throws {
    let (records, flaws) = try portable(
      """
      <user name='r' password='two'><plain-credentials xmlns='tigase:xep-0227:sasl:0#plain' mechanism='PLAIN'>
      <password>b25l</password></plain-credentials></user>
      """)
    #expect(records == [.account(AccountRecord(jid: "r@a", password: "one"))])
    #expect(flaws.count == 1 && flaws[0].contains("two passwords"), "\(flaws)")
    let folder = try Folder()
    let dump = try folder.write(
      "dump.txt",
      """
      {tables,[]}.
      {passwd,{<<"r">>,<<"a">>},<<"one">>}.
      {passwd,{<<"r">>,<<"a">>},<<"two">>}.
      {passwd,{<<"r">>,<<"a">>},<<"BANNED_ACCOUNT--20080425T21:45:07--1--spam">>}.

      """)
    let rows = try all(EjabberdSource.at(dump, domain: nil), .accounts)
    #expect(rows.records == [.account(AccountRecord(jid: "r@a", password: "one", isDisabled: true))])
    #expect(rows.flaws.count == 1 && rows.flaws[0].contains("two passwords"), "\(rows.flaws)")
  }

  @Test("Paths of includes may begin at the first file's folder, as Tigase writes them") func includes() throws {
    let folder = try Folder()
    let include = { (path: String) in "<i:include xmlns:i='http://www.w3.org/2001/XInclude' href='\(path)'/>" }
    let main = try folder.write(
      "export.xml", "<server-data xmlns='urn:xmpp:pie:0'>\(include("a.xml"))</server-data>")
    _ = try folder.write("a.xml", "<host xmlns='urn:xmpp:pie:0' jid='a'>\(include("a/r.xml"))</host>")
    _ = try folder.write(
      "a/r.xml", "<user xmlns='urn:xmpp:pie:0' name='r' password='secret'>\(include("a/r/v.xml"))</user>")
    _ = try folder.write("a/r/v.xml", "<vCard xmlns='vcard-temp'><FN>R</FN></vCard>")
    #expect(try all(PortableSource(main), .settings).records.count == 1)
    // The including file's own folder comes first (XInclude 4.2).
    _ = try folder.write("a/a/r/v.xml", "<vCard xmlns='vcard-temp'><FN>Near</FN></vCard>")
    let (records, _) = try all(PortableSource(main), .settings)
    #expect(
      records == [.vCard(ElementRecord(owner: "r@a", xml: "<vCard xmlns='vcard-temp'><FN>Near</FN></vCard>"))])
    // A path that leads out of the folder is refused as before.
    _ = try folder.write("a/r.xml", "<user xmlns='urn:xmpp:pie:0' name='r'>\(include("../x.xml"))</user>")
    #expect(try all(PortableSource(main), .accounts).flaws.count == 1)
  }

  // MARK: Prosody

  @Test("Prosody's disabled accounts, hashes and roles") func prosody() throws {
    let folder = try Folder()
    func write(_ store: String, _ name: String, _ fields: String) throws {
      _ = try folder.write("a/\(store)/\(name).dat", "return { \(fields) };")
    }
    try write("accounts", "a", "[\"disabled\"] = true; [\"password\"] = \"secret\"")
    try write("accounts", "b", "[\"disabled\"] = false; [\"password\"] = \"secret\"")
    try write("accounts", "c", "[\"password\"] = \"scram:\(Self.stored),\(Self.server),\(Self.salt),4096\"")
    try write("accounts", "d", "[\"password\"] = \"$6$salt$abcdefghijklmnop\"; [\"disabled\"] = 1")
    // Two states of one account, of which no server has written the second.
    try write("accounts", "e", "[\"disabled\"] = true; [\"password\"] = \"secret\"; [\"disabled\"] = false")
    try write("accounts", "f", "[\"password\"] = \"secret\"; [\"password\"] = \"another\"")
    try write("account_roles", "a", "[\"_default\"] = \"prosody:admin\"")
    try write("account_roles", "b", "[\"_default\"] = \"prosody:registered\"")
    try write("roles", "c", "[\"prosody:admin\"] = true")
    let (records, flaws) = try all(ProsodyFolder(folder.path), .accounts)
    #expect(
      records == [
        .account(AccountRecord(jid: "a@a", password: "secret", isDisabled: true)),
        .account(AccountRecord(jid: "b@a", password: "secret")),
        .account(AccountRecord(jid: "c@a", scram: [Self.keys()])),
        .account(AccountRecord(jid: "d@a", isDisabled: true)),
      ])
    #expect(flaws.count == 5)
    #expect(flaws.filter { $0.contains("prosody:admin") }.count == 2)
    #expect(flaws.filter { $0.contains("is there twice") }.count == 2)
  }

  // MARK: ejabberd

  @Test("A ban in any place of a dump disables the account, and several rows of one password are one account")
  func mnesia() throws {
    let ban = { (user: String) in
      """
      {private_storage,{<<"\(user)">>,<<"a">>,<<"jabber:ejabberd:banned">>},
        {xmlel,<<"banned">>,[{<<"xmlns">>,<<"jabber:ejabberd:banned">>}],
          [{xmlel,<<"bandate">>,[],[{xmlcdata,<<"2026-01-01T00:00:00Z">>}]}]}}.

      """
    }
    let folder = try Folder()
    let dump = try folder.write(
      "dump.txt",
      "{tables,[]}.\n" + ban("before") + """
        {passwd,{<<"before">>,<<"a">>},<<"secret">>}.
        {passwd,{<<"after">>,<<"a">>},<<"secret">>}.
        {passwd,{<<"old">>,<<"a">>},<<"BANNED_ACCOUNT--20080425T21:45:07--1--spam">>}.
        {passwd,{<<"two">>,<<"a">>,sha},{scram,<<"\(Self.stored)">>,<<"\(Self.server)">>,<<"\(Self.salt)">>,sha,4096}}.
        {passwd,{<<"two">>,<<"a">>,sha256},{scram,<<"\(Self.stored)">>,<<"\(Self.server)">>,<<"\(Self.salt)">>,sha256,4096}}.

        """ + ban("after") + ban("nobody"))
    let (records, flaws) = try all(EjabberdSource.at(dump, domain: nil), .accounts)
    #expect(flaws.isEmpty)
    #expect(
      records == [
        .account(AccountRecord(jid: "before@a", password: "secret", isDisabled: true)),
        .account(AccountRecord(jid: "after@a", password: "secret", isDisabled: true)),
        .account(AccountRecord(jid: "old@a", isDisabled: true)),
        .account(AccountRecord(jid: "two@a", scram: [Self.keys(), Self.keys("SCRAM-SHA-256")])),
      ])
    #expect(try all(EjabberdSource.at(dump, domain: nil), .settings).records.isEmpty)
  }

  @Test("The same in SQL, where keys without a salt are no password") func sql() throws {
    let folder = try Folder()
    let dump = try folder.write(
      "dump.sql",
      """
      --
      -- PostgreSQL database dump
      COPY public.users (username, type, password, serverkey, salt, iterationcount) FROM stdin;
      banned\t1\tsecret\t\t\t0
      half\t0\t\(Self.stored)\t\(Self.server)\t\t0
      typed\t3\t\(Self.stored)\t\(Self.server)\t\(Self.salt)\t4096
      typed\t2\t\(Self.stored)\t\(Self.server)\t\(Self.salt)\t4096
      bare\t4\t\(Self.stored)\t\t\t0
      old\t0\tsha256:\(Self.stored)\t\(Self.server)\t\(Self.salt)\t4096
      text\t0\tscram:\(Self.stored),\(Self.server),\(Self.salt),4096\t\t\t0
      \\.
      COPY public.private_storage (username, namespace, data) FROM stdin;
      banned\tjabber:ejabberd:banned\t<banned xmlns='jabber:ejabberd:banned'><bandate>2026</bandate></banned>
      typed\tx\t<prefs xmlns='x'/>
      typed\ty\t<torn
      \\.

      """)
    let (records, flaws) = try all(EjabberdSource.at(dump, domain: "a"), .accounts)
    #expect(
      records == [
        .account(AccountRecord(jid: "banned@a", password: "secret", isDisabled: true)),
        .account(AccountRecord(jid: "half@a")),
        .account(AccountRecord(jid: "typed@a", scram: [Self.keys("SCRAM-SHA-256"), Self.keys()])),
        .account(AccountRecord(jid: "bare@a")),
        .account(AccountRecord(jid: "old@a", scram: [Self.keys("SCRAM-SHA-256")])),
        .account(AccountRecord(jid: "text@a", scram: [Self.keys()])),
      ])
    #expect(flaws.count == 2 && flaws.allSatisfy { $0.contains("not complete") })
    let settings = try all(EjabberdSource.at(dump, domain: "a"), .settings)
    #expect(settings.records == [.privateXML(ElementRecord(owner: "typed@a", xml: "<prefs xmlns='x'/>"))])
    #expect(settings.flaws.count == 1)
  }

  @Test("The file of export2sql is refused with the command that writes the right one") func exportToSQL() throws {
    let folder = try Folder()
    func refusal(_ start: String) throws -> String? {
      let file = try folder.write("x.sql", start + "INSERT INTO users(username, password) VALUES ('r', 'x');\n")
      let failure = #expect(throws: SourceFailure.self) { try all(EjabberdSource.at(file, domain: "a"), .accounts) }
      return failure?.text
    }
    #expect(try refusal("--\n")?.contains("ejabberdctl dump") == true)
    #expect(try refusal("--\n-- PostgreSQL database dump\n")?.contains("--inserts") == true)
  }
}
