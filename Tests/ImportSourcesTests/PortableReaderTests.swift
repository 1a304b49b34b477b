import Basics
import Foundation
import Testing

@testable import ImportSources

/// A folder that ends with the test.
final class Folder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "parley-migration-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ name: String, _ text: String) throws -> String {
    let file = "\(path)/\(name)"
    let parent = file[..<(file.lastIndex(of: "/") ?? file.endIndex)]
    try FileManager.default.createDirectory(atPath: String(parent), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    return file
  }
}

func all(_ source: any ImportSource, _ kinds: RecordKinds) throws -> (records: [ImportRecord], flaws: [String]) {
  let reader = try source.reader(of: kinds)
  var records: [ImportRecord] = []
  var flaws: [String] = []
  while let reading = try reader.next() {
    switch reading {
    case .record(let record, _): records.append(record)
    case .flaw(let place, let text): flaws.append("\(place.line ?? 0): \(text)")
    }
  }
  return (records, flaws)
}

@Suite struct PortableReaderTests {
  private static func document(_ user: String) -> String {
    """
    <?xml version='1.0' encoding='UTF-8'?>
    <server-data xmlns='urn:xmpp:pie:0'><host jid='capulet.com'>
    <user name='juliet'>\(user)</user></host></server-data>
    """
  }

  private func read(_ user: String, _ kinds: RecordKinds) throws -> (records: [ImportRecord], flaws: [String]) {
    let folder = try Folder()
    return try all(PortableSource(folder.write("export.xml", Self.document(user))), kinds)
  }

  @Test("XEP-0227 4.3: SCRAM credentials") func scramCredentials() throws {
    let (records, flaws) = try read(
      """
      <scram-credentials xmlns='urn:xmpp:pie:0#scram' mechanism='SCRAM-SHA-1'>
        <iter-count>100000</iter-count>
        <salt>TmFDbE5hQ2xOYUNsTmFDbE5hQ2xOYUNsTmFDbE5hQ2xOYUNsTmFDbE5hQ2wK</salt>
        <server-key>0pXWGK0GZJ6TR73AIUN3ITYtA1g=</server-key>
        <stored-key>Q6qT/SbybblGCZz8e8eSfCJOQic=</stored-key>
      </scram-credentials>
      """, .accounts)
    #expect(flaws.isEmpty)
    #expect(
      records == [
        .account(
          AccountRecord(
            jid: "juliet@capulet.com",
            scram: [
              SCRAMRecord(
                mechanism: "SCRAM-SHA-1", iterations: 100_000,
                salt: "TmFDbE5hQ2xOYUNsTmFDbE5hQ2xOYUNsTmFDbE5hQ2xOYUNsTmFDbE5hQ2wK",
                storedKey: "Q6qT/SbybblGCZz8e8eSfCJOQic=", serverKey: "0pXWGK0GZJ6TR73AIUN3ITYtA1g=")
            ]))
      ])
  }

  @Test("A disabled account has its keys within an element of Parley's own") func disabled() throws {
    let (records, flaws) = try read(
      """
      <disabled xmlns='urn:parley:pie:0'><scram-credentials xmlns='urn:xmpp:pie:0#scram' mechanism='SCRAM-SHA-1'>
      <iter-count>4096</iter-count><salt>c2FsdA==</salt><server-key>0pXWGK0GZJ6TR73AIUN3ITYtA1g=</server-key>
      <stored-key>Q6qT/SbybblGCZz8e8eSfCJOQic=</stored-key></scram-credentials></disabled>
      """, .accounts)
    #expect(flaws.isEmpty)
    guard case .account(let account)? = records.first else { return #expect(Bool(false), "no account") }
    #expect(account.isDisabled && account.scram.map(\.mechanism) == ["SCRAM-SHA-1"])
  }

  @Test("Keys that ejabberd 23.01 has encoded twice are decoded") func encodedTwice() throws {
    let (records, _) = try read(
      """
      <scram-credentials xmlns='urn:xmpp:pie:0#scram' mechanism='SCRAM-SHA-1'><iter-count>4096</iter-count>
      <salt>YjZ1S3QzSXJRYklPcThXWXB3ZXhZdz09</salt><server-key>VDBzU0lsbEcvYkpyOVFFRU90T0NSOWR6RllNPQ==</server-key>
      <stored-key>a0Q2N3g3bzZCVzhiNGRKbm92WDIwOE5JbGNFPQ==</stored-key></scram-credentials>
      """, .accounts)
    guard case .account(let account)? = records.first else { return #expect(Bool(false), "no account") }
    #expect(account.scram.first?.salt == "b6uKt3IrQbIOq8WYpwexYw==")
    #expect(account.scram.first?.storedKey == "kD67x7o6BW8b4dJnovX208NIlcE=")
    #expect(account.scram.first?.serverKey == "T0sSIllG/bJr9QEEOtOCR9dzFYM=")
  }

  @Test("XEP-0227 4.4, 4.9: a roster and a request") func roster() throws {
    let (records, _) = try read(
      """
      <query xmlns='jabber:iq:roster'><item jid='romeo@montague.net' name='Romeo' subscription='both'>
        <group>Friends</group></item></query>
      <presence xmlns='jabber:client' type='subscribe' id='xk3h1v69' from='romeo@montague.net'>
        <nick xmlns="http://jabber.org/protocol/nick">Romeo</nick></presence>
      """, .settings)
    #expect(
      records == [
        .contact(
          ContactRecord(
            owner: "juliet@capulet.com", jid: "romeo@montague.net", name: "Romeo", groups: ["Friends"],
            subscription: "both")),
        .request(
          RequestRecord(
            owner: "juliet@capulet.com", from: "romeo@montague.net",
            children: "<nick xmlns='http://jabber.org/protocol/nick'>Romeo</nick>")),
      ])
  }

  @Test("XEP-0227 4.8: what a default privacy list blocks outright is a block list; the rest is told")
  func privacyLists() throws {
    let (records, flaws) = try read(
      """
      <query xmlns='jabber:iq:privacy'><default name='public'/>
        <list name='public'><item type='jid' value='tybalt@example.com' action='deny' order='1'/>
          <item type='group' value='Foes' action='deny' order='2'/><item action='allow' order='3'/></list>
        <list name='private'><item action='deny' order='15'/></list></query>
      """, .settings)
    #expect(records == [.block(BlockRecord(owner: "juliet@capulet.com", jids: ["tybalt@example.com"]))])
    #expect(flaws.count == 2)
  }

  @Test("XEP-0227 4.10: items have the configuration of their node, and a picture precedes its description")
  func nodes() throws {
    let (records, _) = try read(
      """
      <pubsub xmlns='http://jabber.org/protocol/pubsub'>
        <items node='urn:xmpp:avatar:metadata'><item id='1'><metadata xmlns='urn:xmpp:avatar:metadata'/></item></items>
        <items node='urn:xmpp:avatar:data'><item id='1'><data xmlns='urn:xmpp:avatar:data'>aGk=</data></item></items>
      </pubsub>
      <pubsub xmlns='http://jabber.org/protocol/pubsub#owner'><configure node='urn:xmpp:avatar:data'>
        <x xmlns='jabber:x:data' type='form'/></configure></pubsub>
      """, .settings)
    let form = "<x xmlns='jabber:x:data' type='form'/>"
    #expect(
      records == [
        .node(NodeRecord(owner: "juliet@capulet.com", name: "urn:xmpp:avatar:data", form: form)),
        .item(
          ItemRecord(
            owner: "juliet@capulet.com", node: "urn:xmpp:avatar:data", form: form, id: "1",
            payload: "<data xmlns='urn:xmpp:avatar:data'>aGk=</data>")),
        .item(
          ItemRecord(
            owner: "juliet@capulet.com", node: "urn:xmpp:avatar:metadata", id: "1",
            payload: "<metadata xmlns='urn:xmpp:avatar:metadata'/>")),
      ])
  }

  @Test("XEP-0227 4.5, 4.11: copies of messages") func messages() throws {
    let (records, flaws) = try read(
      """
      <offline-messages><message xmlns='jabber:client' from='romeo@montague.net/orchard' to='juliet@capulet.com'
        type='chat'><body>Neither</body><delay xmlns='urn:xmpp:delay' stamp='1469-07-21T00:32:29Z'/></message>
        <message xmlns='jabber:client' from='romeo@montague.net/orchard' to='juliet@capulet.com' type='chat'>
          <body>Held twice</body><delay xmlns='urn:xmpp:delay' from='montague.net' stamp='1469-07-21T00:40:00Z'/>
          <delay xmlns='urn:xmpp:delay' from='capulet.com' stamp='1469-07-21T00:41:00Z'/></message>
      </offline-messages>
      <archive xmlns='urn:xmpp:pie:0#mam'><result xmlns='urn:xmpp:mam:2' id='28482-98726-73623'>
        <forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='2010-07-10T23:08:25Z'/>
          <message xmlns='jabber:client' to='romeo@montague.net/orchard' from='juliet@capulet.com/balcony' id='8a54s'>
            <body>What man</body></message></forwarded></result></archive>
      """, .copies)
    #expect(flaws.isEmpty)
    let copies = records.compactMap { if case .copy(let copy) = $0 { copy } else { nil } }
    #expect(copies.map(\.isOffline) == [true, true, false])
    #expect(copies.map(\.isInbound) == [true, true, false])
    #expect(copies.map(\.peer) == Array(repeating: "romeo@montague.net", count: 3))
    #expect(
      copies.map(\.time)
        == ["1469-07-21T00:32:29Z", "1469-07-21T00:41:00Z", "2010-07-10T23:08:25Z"].map {
          Timestamp($0)?.milliseconds
        })
    #expect(copies.last?.xml.contains("<body>What man</body>") == true)
  }

  @Test("XEP-0227 5: files that include each other") func includes() throws {
    let folder = try Folder()
    let xi = "xmlns:xi='http://www.w3.org/2001/XInclude'"
    _ = try folder.write(
      "capulet.com/juliet.xml", "<user xmlns='urn:xmpp:pie:0' name='juliet' password='nurse'/>")
    _ = try folder.write(
      "capulet.com.xml",
      "<host xmlns='urn:xmpp:pie:0' \(xi) jid='capulet.com'><xi:include href='capulet.com/juliet.xml'/>"
        + "<xi:include href='capulet.com/gone.xml'/><user name='mercutio'/></host>")
    let main = try folder.write(
      "main.xml",
      "<server-data xmlns='urn:xmpp:pie:0' \(xi)><xi:include href='capulet.com.xml'/>"
        + "<xi:include href='../secret.xml'/><xi:include href='/etc/passwd'/><xi:include href='file:x.xml'/></server-data>"
    )
    let (records, flaws) = try all(PortableSource(main), .accounts)
    #expect(
      records == [
        .account(AccountRecord(jid: "juliet@capulet.com", password: "nurse")),
        .account(AccountRecord(jid: "mercutio@capulet.com")),
      ])
    #expect(flaws.count == 4)
  }

  @Test("Files that include themselves end, and the rest is read") func loops() throws {
    let folder = try Folder()
    let include = { (name: String) in "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='\(name)'/>" }
    _ = try folder.write("loop.xml", include("loop.xml"))
    _ = try folder.write(
      "host.xml",
      "<host xmlns='urn:xmpp:pie:0' jid='a'><user name='r' password='x'/>\(include("host.xml"))"
        + "<user name='s' password='x'/></host>")
    let main = try folder.write(
      "main.xml",
      "<server-data xmlns='urn:xmpp:pie:0'>\(include("loop.xml"))\(include("host.xml"))\(include("main.xml"))"
        + "</server-data>")
    let (records, flaws) = try all(PortableSource(main), .accounts)
    #expect(
      records == [
        .account(AccountRecord(jid: "r@a", password: "x")), .account(AccountRecord(jid: "s@a", password: "x")),
      ])
    #expect(flaws.count == 3 && flaws[0].contains("include each other too deeply"), "\(flaws)")
  }

  @Test("An element beyond a bound is reported by that bound, and the rest is taken") func bounds() throws {
    let (depth, count, bytes) = (
      ImportLimits.elementDepthMax, ImportLimits.elementNodesMax, ImportLimits.elementBytesMax
    )
    let deep = String(repeating: "<a xmlns='x'>", count: depth + 1) + String(repeating: "</a>", count: depth + 1)
    for (element, flaw) in [
      (deep, "it is nested deeper than \(depth) levels"),
      ("<a xmlns='x'>\(String(repeating: "<b/>", count: count))</a>", "it has more than \(count) elements"),
      ("<a xmlns='x'>\(String(repeating: "y", count: bytes + 1))</a>", "it is larger than \(bytes) bytes"),
    ] {
      let user = "<query xmlns='jabber:iq:private'>\(element)<p xmlns='y'/></query>"
      let (accounts, flaws) = try read(user, .accounts)
      #expect(accounts == [.account(AccountRecord(jid: "juliet@capulet.com"))])
      #expect(flaws.contains { $0.hasSuffix(flaw) }, "\(flaws)")
      #expect(
        try read(user, .settings).records
          == [.privateXML(ElementRecord(owner: "juliet@capulet.com", xml: "<p xmlns='y'/>"))])
    }
  }

  @Test(
    "What is bad in a file is told, and the rest is taken",
    arguments: [
      ("<query xmlns='jabber:iq:roster'><item name='x'/></query>", 1),
      ("<pubsub xmlns='http://jabber.org/protocol/pubsub#owner'><configure/></pubsub>", 1),
      ("<scram-credentials xmlns='urn:xmpp:pie:0#scram' mechanism='SCRAM-SHA-1'/>", 0),
    ]) func flaws(_ user: String, _ count: Int) throws
  {
    let (records, flaws) = try read(user + "<vCard xmlns='vcard-temp'/>", .settings)
    #expect(records.contains { if case .vCard = $0 { true } else { false } })
    #expect(flaws.count == count)
  }

  @Test(
    "A file that is not well-formed is read up to that place",
    arguments: [
      "</host>", "<user name='romeo'", "<!-- -- -->", "<a:b/>", "&unknown;", "\u{1}",
    ]) func notWellFormed(_ rest: String) throws
  {
    let folder = try Folder()
    let file = try folder.write(
      "bad.xml",
      "<server-data xmlns='urn:xmpp:pie:0'><host jid='a.example'><user name='juliet' password='x'/>\(rest)")
    let reader = try PortableSource(file).reader(of: .accounts)
    #expect(try reader.next() != nil)
    #expect(throws: SourceFailure.self) { while try reader.next() != nil {} }
  }

  @Test("A document type is refused, and with it every entity") func documentType() throws {
    let folder = try Folder()
    let file = try folder.write(
      "bomb.xml",
      """
      <!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY f SYSTEM "file:///etc/passwd">]>
      <server-data xmlns='urn:xmpp:pie:0'><host jid='a.example'><user name='&f;'/></host></server-data>
      """)
    let reader = try PortableSource(file).reader(of: .accounts)
    #expect(throws: SourceFailure.self) { while try reader.next() != nil {} }
  }
}
