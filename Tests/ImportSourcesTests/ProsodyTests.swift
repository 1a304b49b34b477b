import CSQLite
import Testing

@testable import ImportSources

@Suite struct ProsodyTests {
  private func folder() throws -> Folder {
    let folder = try Folder()
    _ = try folder.write(
      "verona%2eexample/accounts/ro%20meo.dat",
      """
      return { ["server_key"] = "7b9d8afdc18f4b781c0f016177893ab1d75e3499"; ["salt"] = "d6413f19";
        ["stored_key"] = "b25986a934bcb1f025d717fa36fbe444294ea15d"; ["iteration_count"] = 10000; };
      """)
    return folder
  }

  @Test("Names are decoded, and keys become base 64") func account() throws {
    let folder = try folder()
    _ = try folder.write("verona%2eexample/accounts/bad.dat", "return os.remove('x')")
    _ = try folder.write(
      "verona%2eexample/accounts/short.dat", "return { stored_key='00', server_key='00', salt='x', iteration_count=1 }")
    let (records, flaws) = try all(ProsodyFolder(folder.path), [.accounts, .copies])
    #expect(
      records == [
        .account(
          AccountRecord(
            jid: "ro meo@verona.example",
            scram: [
              SCRAMRecord(
                mechanism: "SCRAM-SHA-1", iterations: 10_000, salt: "ZDY0MTNmMTk=",
                storedKey: "slmGqTS8sfAl1xf6NvvkRClOoV0=", serverKey: "e52K/cGPS3gcDwFhd4k6sddeNJk=")
            ]))
      ])
    #expect(flaws.count == 2)
  }

  @Test("Nodes, their items and a private node's access") func nodes() throws {
    let folder = try folder()
    _ = try folder.write(
      "verona%2eexample/pep/ro%20meo.dat",
      """
      return { ["urn:example:notes"] = { ["config"] = { ["access_model"] = "whitelist"; ["max_items"] = 5 };
        ["affiliations"] = { ["juliet@a"] = "member"; ["ro meo@verona.example"] = "owner" } } };
      """)
    _ = try folder.write(
      "verona%2eexample/pep_urn%3aexample%3anotes/ro%20meo.list",
      """
      item({ "hi"; ["name"] = "note"; ["attr"] = { ["xmlns"] = "urn:example:notes"; ["stamp"] = "2026-01-01T00:00:00Z" };
        ["key"] = "a"; ["when"] = 1795547890.25; ["with"] = "ro meo@verona.example" });
      item({ broken
      item({ "ho"; ["name"] = "note"; ["attr"] = {}; ["when"] = 1 });
      """)
    let (records, flaws) = try all(ProsodyFolder(folder.path), .settings)
    let form =
      "<x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE'>"
      + "<value>http://jabber.org/protocol/pubsub#node_config</value></field>"
      + "<field var='pubsub#access_model'><value>whitelist</value></field>"
      + "<field var='pubsub#max_items'><value>5</value></field></x>"
    #expect(
      records == [
        .node(
          NodeRecord(
            owner: "ro meo@verona.example", name: "urn:example:notes", form: form, affiliations: ["juliet@a": "member"])
        ),
        .item(
          ItemRecord(
            owner: "ro meo@verona.example", node: "urn:example:notes", form: form, id: "a",
            payload: "<note xmlns='urn:example:notes'>hi</note>")),
      ])
    // The torn item, and the one without a key.
    #expect(flaws.count == 2)
  }

  @Test("A database has the same") func database() throws {
    let folder = try Folder()
    let file = folder.path + "/prosody.sqlite"
    var handle: OpaquePointer?
    #expect(sqlite3_open(file, &handle) == SQLITE_OK)
    let sql = #"""
      CREATE TABLE prosody (host TEXT, user TEXT, store TEXT, key TEXT, type TEXT, value TEXT);
      CREATE TABLE prosodyarchive (sort_id INTEGER PRIMARY KEY, host TEXT, user TEXT, store TEXT, key TEXT, "when" INTEGER,
        "with" TEXT, type TEXT, value TEXT);
      INSERT INTO prosody VALUES ('a', 'romeo', 'accounts', 'password', 'string', 'secret'),
        ('a', 'twice', 'accounts', 'password', 'string', 'secret'), ('a', 'twice', 'accounts', 'password', 'string', 'secret'),
        ('a', 'unlike', 'accounts', 'password', 'string', 'secret'), ('a', 'unlike', 'accounts', 'disabled', 'boolean', 'true'),
        ('a', 'unlike', 'accounts', 'disabled', 'boolean', 'false'),
        ('a', 'romeo', 'roster', 'juliet@a', 'json', '{"subscription":"both","groups":{"Friends":true}}'),
        ('a', 'romeo', 'roster', '', 'json', '{"__hash":[false,{"pending":{"tybalt@a":true}}]}'),
        ('a', 'romeo', 'private', 'x:y', 'json', '{"name":"x","attr":{"xmlns":"y"},"__array":["text"]}'),
        ('a', 'romeo', 'blocklist', 'paris@a', 'json', 'no json');
      INSERT INTO prosodyarchive VALUES
        (1, 'a', 'romeo', 'archive', 'k', 10, 'juliet@a', 'xml',
         '<message from="romeo@a/x" to="juliet@a" type="chat" id="i"><body>a &amp; b</body></message>'),
        (2, 'a', 'romeo', 'archive', 'k2', 11, 'juliet@a', 'xml', '<message'),
        (3, 'a', 'romeo', 'archive', 'k3', 12, 'juliet@a', 'xml', '<message to="romeo@a" from="juliet@a/y"><body>c</body></message>');
      """#
    #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(handle)
    let first = try all(ProsodyDatabase(file), [.accounts, .copies])
    #expect(first.records.first == .account(AccountRecord(jid: "romeo@a", password: "secret")))
    #expect(first.records.contains(.account(AccountRecord(jid: "twice@a", password: "secret"))))
    #expect(first.records.count == 4)
    #expect(first.flaws.count == 2)
    let second = try all(ProsodyDatabase(file), .settings)
    #expect(
      second.records == [
        .contact(ContactRecord(owner: "romeo@a", jid: "juliet@a", groups: ["Friends"], subscription: "both")),
        .request(RequestRecord(owner: "romeo@a", from: "tybalt@a")),
        .privateXML(ElementRecord(owner: "romeo@a", xml: "<x xmlns='y'>text</x>")),
      ])
    #expect(second.flaws.count == 1)
  }

  @Test("What is not Prosody's is refused") func foreign() throws {
    let folder = try Folder()
    #expect(throws: SourceFailure.self) { try ProsodyFolder(folder.path).reader(of: .accounts) }
    let file = try folder.write("x.sqlite", "no database")
    #expect(throws: SourceFailure.self) { try ProsodyDatabase(file).reader(of: .accounts) }
  }
}
