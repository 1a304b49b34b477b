import Accounts
import Addresses
import Dialogs
import DialogsFixtures
import Testing
import XMLStream
import XMPP
import XMPPFixtures

@testable import XMPPDoor

/// XEP-0077 before a login, XEP-0445; and what a user's own requests say.
@Suite struct RegistrationTests {
  private func iq(_ type: String, _ payload: String, to: String = "localhost") throws -> Stanza {
    try #require(Stanza(try stanza("<iq xmlns='jabber:client' type='\(type)' id='r' to='\(to)'>\(payload)</iq>")))
  }
  private func query(_ content: String) -> String { "<query xmlns='jabber:iq:register'>\(content)</query>" }
  private func condition(_ output: RegistrationMachine.Output) -> StanzaError.Condition? {
    if case .refuse(let error) = output { error.condition } else { nil }
  }
  private let invite = Invite(
    id: 1, realm: RealmID(1), kind: .account, token: [1], inviter: nil, name: "juliet", createdAt: someTime,
    expires: someTime)

  @Test func strangersRegisterWhereTheyMay() throws {
    var machine = RegistrationMachine(isOpen: true, needsProof: false)
    #expect(machine.received(try iq("get", query("")), domain: "localhost") == .fields(name: nil))
    let set = try iq("set", query("<username>bill</username><password>Calliope</password>"))
    #expect(
      machine.received(set, domain: "localhost")
        == .register(name: "bill", password: "Calliope", invite: nil, proof: nil))
    let taken = machine.registered(Problem(.conflict, "name-taken", "taken"))
    #expect(condition(taken) == .conflict)
    #expect(condition(machine.registered(Problem(.malformed, "password-refused", ""))) == .notAcceptable)
    #expect(machine.registered(nil) == .done)
    // 3.1.1: one account of a stream.
    #expect(condition(machine.received(set, domain: "localhost")) == .notAcceptable)
    #expect(condition(machine.received(try iq("get", query("")), domain: "localhost")) == .notAcceptable)
  }

  @Test func elsewhereOnlyATokenLetsIn() throws {
    var machine = RegistrationMachine(isOpen: false, needsProof: true)
    #expect(condition(machine.received(try iq("get", query("")), domain: "localhost")) == .serviceUnavailable)
    let set = try iq("set", query("<username>juliet</username><password>x</password>"))
    #expect(condition(machine.received(set, domain: "localhost")) == .serviceUnavailable)
    let preauth = try iq("set", "<preauth xmlns='urn:xmpp:pars:0' token='TOKEN'/>")
    #expect(machine.received(preauth, domain: "localhost") == .find(token: "TOKEN"))
    #expect(condition(machine.found(nil)) == .itemNotFound)
    #expect(condition(machine.received(set, domain: "localhost")) == .serviceUnavailable)
    #expect(machine.received(preauth, domain: "localhost") == .find(token: "TOKEN"))
    #expect(machine.found(invite) == .done)
    #expect(machine.received(try iq("get", query("")), domain: "localhost") == .fields(name: "juliet"))
    #expect(
      machine.received(set, domain: "localhost")
        == .register(name: "juliet", password: "x", invite: invite, proof: nil))
  }

  /// XEP-0158 4; an invitation needs no proof.
  @Test func aProofIsInAForm() throws {
    var machine = RegistrationMachine(isOpen: true, needsProof: true)
    #expect(machine.received(try iq("get", query("")), domain: "localhost") == .challenge)
    let form = DataForm(
      .submit, formType: "jabber:iq:register",
      fields: [
        DataForm.Field("challenge", nil, "C"), DataForm.Field("username", nil, "bill"),
        DataForm.Field("password", nil, "Calliope"), DataForm.Field("SHA-256", nil, "localhostC1"),
      ])
    let submitted = try element { form.write(into: &$0) }
    let set = try iq("set", query("\(submitted)"))
    #expect(
      machine.received(set, domain: "localhost")
        == .register(name: "bill", password: "Calliope", invite: nil, proof: "localhostC1"))
    // The form counts, where there are both (XEP-0077 4).
    let both = try iq("set", query("<username>bob</username><password>x</password>\(submitted)"))
    #expect(
      machine.received(both, domain: "localhost")
        == .register(name: "bill", password: "Calliope", invite: nil, proof: "localhostC1"))
    let plain = try iq("set", query("<username>bill</username><password>Calliope</password>"))
    #expect(
      machine.received(plain, domain: "localhost")
        == .register(name: "bill", password: "Calliope", invite: nil, proof: nil))
    let preauth = try iq("set", "<preauth xmlns='urn:xmpp:pars:0' token='TOKEN'/>")
    #expect(machine.received(preauth, domain: "localhost") == .find(token: "TOKEN"))
    #expect(machine.found(invite) == .done)
    #expect(machine.received(try iq("get", query("")), domain: "localhost") == .fields(name: "juliet"))
  }

  @Test(arguments: [
    ("get", "<preauth xmlns='urn:xmpp:pars:0' token='T'/>", StanzaError.Condition.badRequest),
    ("set", "<preauth xmlns='urn:xmpp:pars:0'/>", .badRequest),
    ("set", "<query xmlns='jabber:iq:register'/>", .notAcceptable),
    ("set", "<query xmlns='jabber:iq:register'><username>a</username></query>", .notAcceptable),
    ("set", "<query xmlns='jabber:iq:register'><username>a</username><password/></query>", .notAcceptable),
    ("set", "<query xmlns='jabber:iq:register'><username/><password>a</password></query>", .notAcceptable),
    ("set", "<query xmlns='jabber:iq:register'><remove/></query>", .unexpectedRequest),
    (
      "set",
      "<query xmlns='jabber:iq:register'><username>a</username><password>b</password><password>c</password></query>",
      .badRequest
    ),
    (
      "set",
      "<query xmlns='jabber:iq:register'><username>a</username><username>b</username><password>c</password></query>",
      .badRequest
    ),
  ])
  func invalidRegistrationRequestsAreRefused(
    _ type: String, _ payload: String, _ expected: StanzaError.Condition
  ) throws {
    var machine = RegistrationMachine(isOpen: true, needsProof: false)
    #expect(condition(machine.received(try iq(type, payload), domain: "localhost")) == expected)
  }

  /// XEP-0158 4 and 12.2.2; for a client that does not know the proof XEP-0077 5.
  @Test func theFormHasTheChallengeAndThePage() throws {
    let stage = try Stage()
    let challenge = stage.accounts.registrationChallenge("localhost", for: "192.0.2.1")
    #expect(challenge.text == "localhost" + challenge.id)
    let page = "https://localhost:8443/#/register"
    let redirecting = RegistrationChallengeForm(challenge, domain: "localhost", page: page)
    let advice = "To create an account on localhost, visit \(page), then log in with this app."
    let answer = try element { redirecting.writeAnswer(asked: "reg1", into: &$0) }
    #expect(try answer.payload(DataForm.self) == nil)
    let query = try element { redirecting.writeForm(asked: "reg1", into: &$0) }
    for each in [answer, query] {
      #expect(each.first(Name("instructions", NS.register))?.text == advice)
      #expect(each.first(Name("x", NS.oob))?.first(Name("url", NS.oob))?.text == page)
    }
    let form = try #require(try query.payload(DataForm.self))
    let registry = FormRegistry(
      "jabber:iq:register",
      [
        "challenge": .hidden, "sid": .hidden, "username": .textSingle, "password": .textPrivate,
        "SHA-256": .textSingle,
      ])
    #expect(registry.faults(of: form) == [])
    #expect(form.kind == .form && form.value("challenge") == challenge.id && form.value("sid") == "reg1")
    #expect(form["SHA-256"]?.label == challenge.target)
    #expect(form.fields.filter(\.isRequired).map(\.name) == ["username", "password", "SHA-256"])
    #expect(form.instructions == [advice] && form["SHA-256"]?.description == advice)
    let pageless = try element {
      RegistrationChallengeForm(challenge, domain: "localhost", page: nil).writeAnswer(asked: nil, into: &$0)
    }
    #expect(pageless.first(Name("x", NS.oob)) == nil && pageless.first(Name("instructions", NS.register)) != nil)
    #expect(try pageless.payload(DataForm.self)?["SHA-256"]?.label == challenge.target)
  }

  @Test func anotherAddressIsNotServed() throws {
    var machine = RegistrationMachine(isOpen: true, needsProof: false)
    for to in ["elsewhere.example", "romeo@localhost"] {
      let request = try iq("get", query(""), to: to)
      #expect(condition(machine.received(request, domain: "localhost")) == .serviceUnavailable)
    }
  }

  @Test func triesAreCounted() throws {
    var machine = RegistrationMachine(isOpen: true, needsProof: false)
    let set = try iq("set", query("<username>bill</username><password>x</password>"))
    for _ in 0..<DoorLimits.registrationTriesMax {
      #expect(
        machine.received(set, domain: "localhost") == .register(name: "bill", password: "x", invite: nil, proof: nil))
      _ = machine.registered(Problem(.conflict, "name-taken", ""))
    }
    #expect(condition(machine.received(set, domain: "localhost")) == .notAcceptable)
  }

  // MARK: After a login

  private func change(_ content: String) throws -> Result<InBandRegistration.Change, StanzaError> {
    let query = try stanza(query(content))
    let owner = try bare("bill@shakespeare.lit")
    do throws(StanzaError) { return .success(try InBandRegistration.Change(query, of: owner)) } catch {
      return .failure(error)
    }
  }

  @Test func theChangesOfAUser() throws {
    #expect(try change("<remove/>").get() == .remove)
    for name in ["bill", "Bill", "bill@shakespeare.lit"] {
      #expect(try change("<username>\(name)</username><password>n</password>").get() == .password("n"))
    }
    for (content, expected) in [
      ("<remove/><username>bill</username>", StanzaError.Condition.badRequest), ("", .badRequest),
      ("<password>n</password>", .badRequest), ("<username>bill</username>", .badRequest),
      ("<username>bill</username><password/>", .badRequest),
      ("<username>bill</username><password>n</password><password>m</password>", .badRequest),
      ("<username>bill</username><username>romeo</username><password>n</password>", .badRequest),
      ("<username>romeo</username><password>n</password>", .notAllowed),
    ] {
      guard case .failure(let error) = try change(content) else {
        Issue.record("\(content) was accepted")
        continue
      }
      #expect(error.condition == expected, "\(content)")
    }
  }

  @Test func theCriteriaOfASearch() throws {
    func terms(_ content: String) throws(StanzaError) -> [String] {
      guard let query = try? stanza("<query xmlns='jabber:iq:search'>\(content)</query>") else { return ["unreadable"] }
      return try UserSearch.terms(query, nil, domain: "localhost")
    }
    #expect(try terms("<nick>Jul*</nick><last>Capulet</last>") == ["Jul", "Capulet"])
    #expect(try terms("<email>juliet@localhost</email><nick/>") == ["juliet"])
    #expect(try terms("<nick>*</nick>") == [])
    #expect(throws: StanzaError.self) { try terms("<nick/>") }
    let twice = DataForm(.submit, fields: [DataForm.Field("nick", values: ["romeo", "juliet"])])
    let query = try stanza("<query xmlns='jabber:iq:search'/>")
    #expect(throws: StanzaError(.notAcceptable, "the field 'nick' has more than one value")) {
      try UserSearch.terms(query, twice, domain: "localhost")
    }
  }

  /// Many users with one name precede the user that two terms name.
  @Test func aSearchGoesOnBehindWhoOneTermAloneNames() throws {
    let stage = try Stage()
    try stage.store.write { writer in
      for number in 0..<250 {
        _ = try writer.insertUser(
          try BareJID(local: "paris\(1_000 + number)", domain: "localhost"), in: RealmID(1),
          profile: Profile(displayName: number == 240 ? "Count Paris" : nil), createdAt: someTime)
      }
    }
    let viewer = Party(id: UserID(9_999), realm: RealmID(1), address: try BareJID("romeo@localhost"))
    func find(_ terms: String...) throws -> [User] {
      try stage.store.read { try UserSearch.find(terms, for: viewer, $0) }
    }
    #expect(try find("paris", "count").map(\.name) == ["paris1240"])
    #expect(try find("paris").count == Limits.searchResultsMax)
    #expect(try find("paris", "nobody") == [])
  }

  @Test func theContentOfAReport() throws {
    let item = try stanza(
      """
      <item xmlns='urn:xmpp:blocking' jid='romeo@example.net'>\
      <report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:spam'>\
      <stanza-id xmlns='urn:xmpp:sid:0' by='juliet@example.com' id='1'/><text>Never came</text><third-party/></report></item>
      """)
    let romeo = BlockPattern(try JID("romeo@example.net"))
    #expect(
      try Reporting.draft(in: item, of: romeo)
        == ReportDraft(
          reported: romeo, reason: "urn:xmpp:reporting:spam", text: "Never came", consent: [.thirdParty],
          messages: ["1"]))
    let bare = try stanza("<item xmlns='urn:xmpp:blocking' jid='romeo@example.net'/>")
    #expect(try Reporting.draft(in: bare, of: romeo) == nil)
    let wrong = try stanza("<item xmlns='urn:xmpp:blocking'><report xmlns='urn:xmpp:reporting:1'/></item>")
    #expect(throws: StanzaError.self) { try Reporting.draft(in: wrong, of: romeo) }
  }
}
