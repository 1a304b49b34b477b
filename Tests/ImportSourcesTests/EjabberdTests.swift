import Testing

@testable import ImportSources

@Suite struct EjabberdTests {
  private func read(_ terms: String, _ kinds: RecordKinds) throws -> (records: [ImportRecord], flaws: [String]) {
    let folder = try Folder()
    return try all(EjabberdDump(folder.write("dump.txt", "{tables,[]}.\n" + terms)), kinds)
  }

  @Test("Accounts with keys, with a password, and a damaged one") func accounts() throws {
    let (records, flaws) = try read(
      """
      {passwd,{<<"romeo">>,<<"a">>},
              {scram,<<"kD67x7o6BW8b4dJnovX208NIlcE=">>,
                     <<"T0sSIllG/bJr9QEEOtOCR9dzFYM=">>,<<"b6uKt3IrQbIOq8WYpwexYw==">>,sha,4096}}.
      {passwd,{<<"juliet">>,<<"a">>},<<"se\\"cret}.">>}.
      {passwd,{<<"nurse">>,<<"a">>},#Fun<x>}.
      {passwd,{<<195,164>>,<<"a">>},<<"x"
                                      "y">>}.

      """, .accounts)
    #expect(
      records == [
        .account(
          AccountRecord(
            jid: "romeo@a",
            scram: [
              SCRAMRecord(
                mechanism: "SCRAM-SHA-1", iterations: 4096, salt: "b6uKt3IrQbIOq8WYpwexYw==",
                storedKey: "kD67x7o6BW8b4dJnovX208NIlcE=", serverKey: "T0sSIllG/bJr9QEEOtOCR9dzFYM=")
            ])),
        .account(AccountRecord(jid: "juliet@a", password: "se\"cret}.")),
        .account(AccountRecord(jid: "ä@a", password: "xy")),
      ])
    #expect(flaws == ["6: no term that is data"])
  }

  @Test("A request alone is no contact") func roster() throws {
    let (records, _) = try read(
      """
      {roster,{<<"n">>,<<"a">>,{<<"t">>,<<"a">>,<<>>}},{<<"n">>,<<"a">>},{<<"t">>,<<"a">>,<<>>},<<>>,none,in,[],<<>>,[]}.
      {roster,{<<"r">>,<<"a">>,{<<"j">>,<<"a">>,<<>>}},{<<"r">>,<<"a">>},{<<"j">>,<<"a">>,<<>>},
              <<"Juliet">>,from,out,[<<"Loves">>],<<>>,[]}.

      """, .settings)
    #expect(
      records == [
        .request(RequestRecord(owner: "n@a", from: "t@a")),
        .contact(
          ContactRecord(owner: "r@a", jid: "j@a", name: "Juliet", groups: ["Loves"], subscription: "from", asks: true)),
      ])
  }

  @Test("Items find their node, which comes later, and its access") func nodes() throws {
    let (records, flaws) = try read(
      """
      {pubsub_item,{<<"secret">>,5},5,{{1795,548704,428138},{<<"r">>,<<"a">>,<<>>}},
                   {{1795,548704,428138},{<<"r">>,<<"a">>,<<"x">>}},
                   [{xmlel,<<"note">>,[{<<"xmlns">>,<<"urn:x">>}],[{xmlcdata,<<"me & you">>}]}]}.
      {pubsub_state,{{<<"j">>,<<"a">>,<<>>},5},5,[],publish_only,[]}.
      {pubsub_node,{{<<"r">>,<<"a">>,<<>>},<<"urn:x">>},5,[],<<"pep">>,[{<<"r">>,<<"a">>,<<>>}],
                   [{access_model,whitelist},{max_items,infinity},{persist_items,true},{node_type,flat}]}.
      {pubsub_node,{<<"pubsub.a">>,<<"urn:y">>},6,[],<<"flat">>,[],[]}.
      {pubsub_item,{<<"x">>,7},7,x}.

      """, .settings)
    let form =
      "<x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE'>"
      + "<value>http://jabber.org/protocol/pubsub#node_config</value></field>"
      + "<field var='pubsub#access_model'><value>whitelist</value></field>"
      + "<field var='pubsub#max_items'><value>max</value></field>"
      + "<field var='pubsub#persist_items'><value>1</value></field></x>"
    #expect(
      records == [
        .node(NodeRecord(owner: "r@a", name: "urn:x", form: form, affiliations: ["j@a": "publish-only"])),
        .item(
          ItemRecord(
            owner: "r@a", node: "urn:x", form: form, id: "secret", payload: "<note xmlns='urn:x'>me &amp; you</note>")),
      ])
    #expect(flaws.count == 1)
  }

  @Test(
    "What is no term is told with its line, and the next one is taken",
    arguments: [
      ("{a,", 2), ("{a}}.", 2), ("{passwd,<0.1.0>}.", 2), ("{a,\n<<256>>}.", 3), ("{a,\"x}.", 2), ("{[1,2}.", 2),
      (String(repeating: "{", count: 100_000) + "}.", 2),
    ]) func flaws(_ text: String, _ line: Int) throws
  {
    let (records, flaws) = try read("\(text)\n", .accounts)
    #expect(records.isEmpty)
    #expect(flaws.count == 1 && flaws[0].hasPrefix("\(line): "))
    let (after, _) = try read(
      "\(text.hasSuffix("}.") ? text : "{a b}.")\n{passwd,{<<\"r\">>,<<\"a\">>},<<\"x\">>}.\n", .accounts)
    #expect(after.count == 1)
  }

  @Test("What is no dump is refused") func foreign() throws {
    let folder = try Folder()
    let reader = try EjabberdDump(folder.write("x", "{passwd,{a,b},c}.\n")).reader(of: .accounts)
    #expect(throws: SourceFailure.self) { try reader.next() }
  }
}
