import Addresses
import Testing
import XMLStream

@testable import XMPP

@Suite struct DataFormTests {
  /// A form after XEP-0004 5.1, "Host returns bot creation form to user": every field type and part.
  static let whole = """
    <x xmlns='jabber:x:data' type='form'><title>Bot Configuration</title><instructions>Fill out this form!</instructions>\
    <instructions>All of it.</instructions>\
    <field type='hidden' var='FORM_TYPE'><value>jabber:bot</value></field>\
    <field type='fixed'><value>Section 1: Bot Info</value></field>\
    <field type='text-single' label='The name of your bot' var='botname'/>\
    <field type='text-multi' label='Helpful description of your bot' var='description'><value>a</value><value>b</value></field>\
    <field type='boolean' label='Public bot?' var='public'><required/></field>\
    <field type='text-private' label='Password for special access' var='password'/>\
    <field type='list-multi' label='What features will the bot support?' var='features'><value>news</value><value>search</value>\
    <option label='Contests'><value>contests</value></option><option label='News'><value>news</value></option></field>\
    <field type='list-single' label='Maximum number of subscribers' var='maxsubs'><desc>How many?</desc><value>20</value>\
    <option label='10'><value>10</value></option><option><value>none</value></option></field>\
    <field type='jid-multi' label='People to invite' var='invitelist'/><field type='jid-single' var='owner'/></x>
    """

  @Test func everythingSurvives() throws {
    let form = try DataForm(element(Self.whole))
    #expect(form.kind == .form)
    #expect(form.title == "Bot Configuration")
    #expect(form.instructions == ["Fill out this form!", "All of it."])
    #expect(form.formType == "jabber:bot")
    #expect(
      form.fields.map(\.kind) == [
        .hidden, .fixed, .textSingle, .textMulti, .boolean, .textPrivate, .listMulti, .listSingle, .jidMulti,
        .jidSingle,
      ])
    #expect(form["maxsubs"]?.options == [DataForm.Option("10", label: "10"), DataForm.Option("none")])
    #expect(form["maxsubs"]?.description == "How many?")
    #expect(form["public"]?.isRequired == true)
    #expect(form.values("description") == ["a", "b"])
    let again = try element(written { form.write(into: &$0) })
    #expect(try DataForm(again) == form)
    let message = try element("<message>\(Self.whole)</message>")
    #expect(try message.payload(DataForm.self) == form)
  }

  /// XEP-0004 3.4: results in a table.
  @Test func tables() throws {
    let xml = """
      <x xmlns='jabber:x:data' type='result'><title>Search</title><reported><field var='name' type='text-single'/></reported>\
      <item><field var='name'><value>Comune di Verona</value></field></item><item><field var='name'><value>Montague</value></field></item></x>
      """
    let form = try DataForm(element(xml))
    #expect(form.reported == [DataForm.Field("name", .textSingle)])
    #expect(
      form.items == [[DataForm.Field("name", nil, "Comune di Verona")], [DataForm.Field("name", nil, "Montague")]])
    #expect(try element(written { form.write(into: &$0) }) == element(xml))
  }

  @Test func built() throws {
    let form = DataForm(
      .form, formType: "urn:example", title: "T",
      fields: [
        DataForm.Field("open", true, label: "Open?"), DataForm.Field("name", .textSingle, "x < y"),
        DataForm.Field("who", .listSingle, values: ["a"], options: [DataForm.Option("a", label: "A")]),
      ])
    #expect(
      written { form.write(into: &$0) } == """
        <x xmlns='jabber:x:data' type='form'><title>T</title><field type='hidden' var='FORM_TYPE'><value>urn:example</value></field>\
        <field type='boolean' var='open' label='Open?'><value>1</value></field>\
        <field type='text-single' var='name'><value>x &lt; y</value></field>\
        <field type='list-single' var='who'><value>a</value><option label='A'><value>a</value></option></field></x>
        """)
  }

  @Test func lookups() throws {
    let form = DataForm(
      .submit,
      fields: [
        DataForm.Field("yes", values: ["true"]), DataForm.Field("no", values: ["0"]),
        DataForm.Field("odd", values: ["maybe"]),
        DataForm.Field("empty"), DataForm.Field("n", values: ["17"]), DataForm.Field("blank", values: [""]),
        DataForm.Field("jids", values: ["a@example.com", "A@example.com", "b@example.com"]),
        DataForm.Field("bad", values: ["@"]),
      ])
    #expect(try form.boolean("yes") == true)
    #expect(try form.boolean("no") == false)
    #expect(try form.boolean("empty") == nil)
    #expect(try form.boolean("missing") == nil)
    #expect(throws: StanzaError(.notAcceptable, "the field 'odd' is no boolean")) { try form.boolean("odd") }
    #expect(try form.integer("n") == 17)
    #expect(try form.integer("blank") == nil)
    #expect(try form.integer("missing") == nil)
    #expect(throws: StanzaError(.notAcceptable, "the field 'odd' is no whole number")) { try form.integer("odd") }
    #expect(try form.jids("jids").map(\.description) == ["a@example.com", "b@example.com"])
    #expect(throws: StanzaError(.jidMalformed, "the field 'bad' holds no address")) { try form.jids("bad") }
    #expect(form.value("empty") == nil)
    #expect(form.formType == nil)
  }

  /// XEP-0004 3.3: a type not understood is text-single.
  @Test func unknownFieldTypes() throws {
    let form = try DataForm(
      element("<x xmlns='jabber:x:data' type='submit'><field var='a' type='colour'/><field var='b'/></x>"))
    #expect(form.fields.map(\.kind) == [.textSingle, nil])
    #expect(try DataForm(element("<x xmlns='jabber:x:data' type='cancel'/>")) == DataForm(.cancel))
    // 3.1 demands the type of the form itself; without one it is a submission.
    #expect(try DataForm(element("<x xmlns='jabber:x:data'/>")) == DataForm(.submit))
  }

  @Test(arguments: [
    ("<x xmlns='jabber:x:data' type='list'/>", "a form of an unknown type"),
    ("<x xmlns='jabber:x:data' type=''/>", "a form of an unknown type"),
    ("<x xmlns='jabber:x:data' type='submit'><field/></x>", "a field without the attribute 'var'"),
    ("<x xmlns='jabber:x:data' type='form'><field var='a'><option/></field></x>", "an option without a value"),
    (
      "<x xmlns='jabber:x:data' type='result'>\(String(repeating: "<field var='a'/>", count: 257))</x>",
      "a form of too many fields"
    ),
    (
      "<x xmlns='jabber:x:data' type='submit'>\(String(repeating: "<field type='fixed'/>", count: 8_000))</x>",
      "a form of too many fields"
    ),
    (
      "<x xmlns='jabber:x:data' type='submit'><field var='a'>\(String(repeating: "<value/>", count: 2049))</field></x>",
      "a form of too many values"
    ),
    (
      "<x xmlns='jabber:x:data' type='result'>\(String(repeating: "<item/>", count: 2049))</x>",
      "a form of too many values"
    ),
  ])
  func refused(xml: String, text: String) throws {
    let source = try element(xml)
    #expect(throws: StanzaError(.badRequest, text)) { try DataForm(source) }
  }

  /// XEP-0004 3.2: the name identifies the field. A client that is shown two of one name loses nothing of the others.
  @Test func twoFieldsOfOneNameAreRefused() throws {
    let fields = "<field type='fixed'/><field var='b'/><field type='fixed'/>"
    let twice = "<field var='a'><value>1</value></field><field var='a'><value>0</value></field>"
    for type in ["", "type='submit'", "type='form'", "type='cancel'"] {
      let source = try element("<x xmlns='jabber:x:data' \(type)>\(fields)\(twice)</x>")
      #expect(throws: StanzaError(.badRequest, "the field 'a' is there twice")) { try DataForm(source) }
      #expect(try DataForm(element("<x xmlns='jabber:x:data' \(type)>\(fields)</x>")).fields.count == 3)
    }
    let result = try DataForm(element("<x xmlns='jabber:x:data' type='result'>\(fields)\(twice)</x>"))
    #expect(result.fields.count == 5 && result.value("a") == "1")
  }

  @Test func ofTwoFormsNoneIsTaken() throws {
    let query = try element("<query><x xmlns='jabber:x:data'/><x xmlns='jabber:x:data' type='cancel'/></query>")
    let refused = StanzaError(.badRequest, "<query/> has more than one <x/>")
    #expect(throws: refused) { try query.payload(DataForm.self) }
    #expect(throws: refused) { try query.requiredPayload(DataForm.self) }
    #expect(throws: StanzaError(.badRequest, "<query/> lacks the element <x/>")) {
      try element("<query><x/></query>").requiredPayload(DataForm.self)
    }
    #expect(try element("<query><x/></query>").payload(DataForm.self) == nil)
  }

  /// XEP-0004 3.2: only lists and hidden fields have several values.
  @Test func severalValuesWhereOneIsMeantAreRefused() throws {
    let form = DataForm(
      .submit,
      fields: [
        DataForm.Field("a", values: ["1", "0"]), DataForm.Field("b", values: ["1"]), DataForm.Field("c", values: []),
      ])
    let refused = StanzaError(.notAcceptable, "the field 'a' has more than one value")
    #expect(throws: refused) { try form.single("a") }
    #expect(throws: refused) { try form.boolean("a") }
    #expect(throws: refused) { try form.integer("a") }
    #expect(try form.single("b") == "1")
    #expect(try form.single("c") == nil)
    #expect(try form.single("d") == nil)
    for kind in DataForm.FieldKind.allCases {
      let offered = DataForm(.form, fields: [DataForm.Field("a", kind), DataForm.Field("b", .textSingle)])
      switch kind {
      case .hidden, .jidMulti, .listMulti, .textMulti:
        #expect(throws: Never.self, "\(kind)") { try offered.check(form) }
      case .boolean, .fixed, .jidSingle, .listSingle, .textPrivate, .textSingle:
        #expect(throws: refused, "\(kind)") { try offered.check(form) }
      }
    }
  }
}

@Suite struct ResultSetTests {
  private static func set(_ content: String) throws -> ResultSetRequest {
    try ResultSetRequest(element("<set xmlns='http://jabber.org/protocol/rsm'>\(content)</set>"))
  }

  /// The requests of XEP-0059 2.
  @Test func requests() throws {
    #expect(try Self.set("<max>10</max>") == ResultSetRequest(max: 10))
    #expect(
      try Self.set("<max>10</max><after>peterpan@neverland.lit</after>")
        == ResultSetRequest(max: 10, after: "peterpan@neverland.lit"))
    #expect(
      try Self.set("<max>10</max><before>peter@pixyland.org</before>")
        == ResultSetRequest(max: 10, before: "peter@pixyland.org", isBackward: true))
    #expect(try Self.set("<max>10</max><before/>") == ResultSetRequest(max: 10, isBackward: true))
    #expect(try Self.set("<max>10</max><index>371</index>") == ResultSetRequest(max: 10, index: 371))
    #expect(try Self.set("<max>0</max>") == ResultSetRequest(max: 0))
    #expect(try Self.set("<after/>") == ResultSetRequest())
    #expect(
      try Self.set("<after>a</after><before>b</before>") == ResultSetRequest(after: "a", before: "b", isBackward: true))
  }

  @Test(arguments: [
    ResultSetRequest(), ResultSetRequest(max: 5, after: "a<b"), ResultSetRequest(max: 0, before: "x"),
    ResultSetRequest(isBackward: true),
    ResultSetRequest(max: 1, after: "a", before: "b", index: 3),
  ])
  func requestsSurvive(request: ResultSetRequest) throws {
    #expect(try ResultSetRequest(element(written { request.write(into: &$0) })) == request)
  }

  @Test(arguments: ["<max>many</max>", "<max>-1</max>", "<max/>", "<index>x</index>"]) func badNumbers(
    content: String
  ) throws {
    let error = #expect(throws: StanzaError.self) { try Self.set(content) }
    #expect(error?.condition == .badRequest)
  }

  /// XEP-0059 2.4: what is too long was never ours.
  @Test func longAnchors() throws {
    let error = #expect(throws: StanzaError.self) {
      try Self.set("<after>\(String(repeating: "x", count: 1024))</after>")
    }
    #expect(error?.condition == .itemNotFound)
    #expect(try Self.set("<after>\(String(repeating: "x", count: 1023))</after>").after?.count == 1023)
  }

  @Test func limits() {
    #expect(ResultSetRequest().limit(default: 50) == 50)
    #expect(ResultSetRequest(max: 10).limit(default: 50) == 10)
    #expect(ResultSetRequest(max: 1_000_000).limit(default: 50) == XMPPLimits.resultSetPageMax)
    #expect(ResultSetRequest(max: 0).limit(default: 50) == 0)
  }

  /// The responses of XEP-0059 2.2: first page, empty page.
  @Test func pages() throws {
    let page = ResultSetPage(first: "stpeter@jabber.org", firstIndex: 0, last: "peterpan@neverland.lit", count: 800)
    #expect(
      written { page.write(into: &$0) } == """
        <set xmlns='http://jabber.org/protocol/rsm'><first index='0'>stpeter@jabber.org</first>\
        <last>peterpan@neverland.lit</last><count>800</count></set>
        """)
    #expect(try ResultSetPage(element(written { page.write(into: &$0) })) == page)
    #expect(
      written { ResultSetPage(count: 790).write(into: &$0) }
        == "<set xmlns='http://jabber.org/protocol/rsm'><count>790</count></set>")
    let plain = ResultSetPage(first: "a", last: "a")
    #expect(try ResultSetPage(element(written { plain.write(into: &$0) })) == plain)
    #expect(throws: StanzaError.self) {
      try ResultSetPage(element("<set xmlns='http://jabber.org/protocol/rsm'><count>x</count></set>"))
    }
  }
}

@Suite struct CapabilitiesTests {
  static let basic = [
    "http://jabber.org/protocol/disco#items", "http://jabber.org/protocol/caps", "http://jabber.org/protocol/muc",
    "http://jabber.org/protocol/disco#info",
  ]

  /// XEP-0115 5.2.
  @Test func simpleExample() {
    let exodus = Capabilities(
      identities: [.init(category: "client", type: "pc", name: "Exodus 0.9.1")], features: Self.basic)
    #expect(
      text(exodus.verificationInput) == """
        client/pc//Exodus 0.9.1<http://jabber.org/protocol/caps<http://jabber.org/protocol/disco#info<\
        http://jabber.org/protocol/disco#items<http://jabber.org/protocol/muc<
        """)
    #expect(exodus.verification == "QgayPKawpkPSDYmwT/WM94uAlu0=")
    #expect(exodus.isWellFormed)
  }

  /// XEP-0115 5.3.
  static let complex = """
    <query xmlns='http://jabber.org/protocol/disco#info' node='http://psi-im.org#q07IKJEyjvHSyhy//CH0CxmKi8w='>\
    <identity xml:lang='en' category='client' name='Psi 0.11' type='pc'/>\
    <identity xml:lang='el' category='client' name='&#936; 0.11' type='pc'/>\
    <feature var='http://jabber.org/protocol/caps'/><feature var='http://jabber.org/protocol/disco#info'/>\
    <feature var='http://jabber.org/protocol/disco#items'/><feature var='http://jabber.org/protocol/muc'/>\
    <x xmlns='jabber:x:data' type='result'><field var='FORM_TYPE' type='hidden'><value>urn:xmpp:dataforms:softwareinfo</value></field>\
    <field var='ip_version' type='text-multi'><value>ipv4</value><value>ipv6</value></field><field var='os'><value>Mac</value></field>\
    <field var='os_version'><value>10.5.1</value></field><field var='software'><value>Psi</value></field>\
    <field var='software_version'><value>0.11</value></field></x></query>
    """

  @Test func complexExample() throws {
    let psi = try Capabilities(element(Self.complex))
    #expect(psi.verification == "q07IKJEyjvHSyhy//CH0CxmKi8w=")
    #expect(psi.isWellFormed)
    let again = written { writer in
      writer.open(.discoInfo)
      psi.writeContent(into: &writer)
      writer.close()
    }
    #expect(try Capabilities(element(again)) == psi)
  }

  /// The order of the fields does not matter.
  @Test func orderDoesNotMatter() throws {
    var psi = try Capabilities(element(Self.complex))
    psi.identities.reverse()
    psi.features.reverse()
    psi.forms[0].fields.reverse()
    psi.forms[0].fields[4].values.reverse()
    #expect(psi.verification == "q07IKJEyjvHSyhy//CH0CxmKi8w=")
  }

  /// `i;octet`, not the order of letters: U+FF5E sorts before U+10000 in UTF-8 but not in UTF-16.
  @Test func octetsAreSorted() {
    let features = Capabilities(identities: [], features: ["\u{10000}", "\u{FF5E}", "b", "B", "a\u{301}", "a"])
    #expect(text(features.verificationInput) == "B<a<a\u{301}<b<\u{FF5E}<\u{10000}<")
  }

  /// XEP-0115 5.4 rule 3.
  @Test func illFormed() throws {
    let good = try Capabilities(element(Self.complex))
    var twice = good
    twice.features.append(twice.features[0])
    #expect(!twice.isWellFormed)
    twice = good
    twice.identities.append(twice.identities[0])
    #expect(!twice.isWellFormed)
    twice = good
    twice.forms.append(twice.forms[0])
    #expect(!twice.isWellFormed)
    twice = good
    twice.forms[0].fields[0].values.append("other")
    #expect(!twice.isWellFormed)
    // A form whose FORM_TYPE is not hidden is ignored.
    var ignored = good
    ignored.forms.append(DataForm(.result, fields: [DataForm.Field("FORM_TYPE", .textSingle, "x")]))
    ignored.forms.append(DataForm(.result, fields: [DataForm.Field("a", .textSingle, "x")]))
    #expect(ignored.isWellFormed)
    #expect(ignored.verification == good.verification)
  }

  /// XEP-0115 5.4 names no rule against it, so all of them are hashed; only the values of FORM_TYPE must not differ.
  @Test(arguments: ["result", "form", "submit"]) func fieldsMayBeRepeated(kind: String) throws {
    func read(_ types: String) throws -> Capabilities {
      try Capabilities(
        element(
          "<query xmlns='http://jabber.org/protocol/disco#info'><feature var='f'/><x xmlns='jabber:x:data' type='\(kind)'>"
            + "\(types)<field var='b'><value>2</value></field><field var='a'><value>3</value></field>"
            + "<field var='b'><value>1</value></field></x></query>"))
    }
    func formType(_ value: String, _ fieldKind: String = "hidden") -> String {
      "<field var='FORM_TYPE' type='\(fieldKind)'><value>\(value)</value></field>"
    }
    let good = try read(formType("urn:x"))
    #expect(good.isWellFormed)
    #expect(text(good.verificationInput) == "f<urn:x<a<3<b<2<b<1<")
    let same = try read(formType("urn:x") + formType("urn:x"))
    #expect(same.isWellFormed)
    #expect(same.verification == good.verification)
    #expect(try !read(formType("urn:x") + formType("urn:y")).isWellFormed)
    let ignored = try read(formType("urn:x") + formType("urn:y", "text-single"))
    #expect(ignored.isWellFormed)
    #expect(text(ignored.verificationInput) == "f<")
  }

  @Test(arguments: [
    "<identity type='pc'/>", "<identity category='client'/>", "<feature/>", "<x xmlns='jabber:x:data'/>",
  ])
  func refused(content: String) throws {
    let source = try element("<query xmlns='http://jabber.org/protocol/disco#info'>\(content)</query>")
    #expect(throws: StanzaError.self) { try Capabilities(source) }
  }

  @Test func bounded() throws {
    let many = (0...1024).map { "<feature var='f\($0)'/>" }.joined()
    let source = try element("<query xmlns='http://jabber.org/protocol/disco#info'>\(many)</query>")
    #expect(throws: StanzaError(.badRequest, "too many features")) { try Capabilities(source) }
  }
}
