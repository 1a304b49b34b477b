import Addresses
import Basics
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Messages of rooms, voice, registration: XEP-0045 7 to 10")
struct RoomsMessageTests {
  private func notice(
    _ kind: RoomNotice.Kind, to: String, id: String?, showsAddresses: Bool = true, version: MemberListVersion? = nil
  ) throws -> Element {
    let notice = RoomNotice(room: try room(), kind: kind)
    return try element {
      RoomMessages.write(notice, showsAddresses: showsAddresses, version: version, to: to, id: id, into: &$0)
    }
  }

  @Test func example171ConfigurationStatusCode() throws {
    #expect(
      try notice(
        .settings(codes: [170, 170]), to: "crone1@shakespeare.lit/desktop", id: "80349046-F26A-44F3-A7A6-54825064DD9E")
        == example(
          """
          <message from='coven@chat.shakespeare.lit'
                   id='80349046-F26A-44F3-A7A6-54825064DD9E'
                   to='crone1@shakespeare.lit/desktop'
                   type='groupchat'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <status code='170'/>
            </x>
          </message>
          """))
    let several = try notice(.settings(codes: [173, 104]), to: "a@b/c", id: nil).first(.mucUser)
    #expect(several?.children.map { $0["code"] } == ["104", "173"])
  }

  @Test func example176NoticeOfAffiliationOfSomebodyWhoIsNotThere() throws {
    let change = MemberChange(
      party: try person("hecate@shakespeare.lit"), was: .none, now: .member, nick: nil, reason: nil)
    #expect(
      try notice(
        .member(change), to: "crone1@shakespeare.lit/desktop", id: "22B0F570-526A-4F22-BDE3-52EC3BB18371")
        == example(
          """
          <message
              from='coven@chat.shakespeare.lit'
              id='22B0F570-526A-4F22-BDE3-52EC3BB18371'
              to='crone1@shakespeare.lit/desktop'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='member'
                    jid='hecate@shakespeare.lit'
                    role='none'/>
            </x>
          </message>
          """))
    // A recipient who may not know the address, where there is no nick, gets no notice.
    let notice = RoomNotice(room: try room(), kind: .member(change))
    var isWritten = true
    let nothing = written { writer in
      isWritten = RoomMessages.write(notice, showsAddresses: false, to: "a@b/c", id: "x", into: &writer)
    }
    #expect(nothing.isEmpty && !isWritten)
    let known = MemberChange(
      party: try person("hecate@shakespeare.lit"), was: .owner, now: .admin, nick: "hecate", reason: "Not so worthy!")
    #expect(
      try self.notice(.member(known), to: "a@b/c", id: nil, showsAddresses: false).first(.mucUser)
        == example(
          """
          <x xmlns='http://jabber.org/protocol/muc#user'>
            <item affiliation='admin' nick='hecate' role='none'>
              <reason>Not so worthy!</reason>
            </item>
          </x>
          """))
  }

  @Test("XEP-0463, examples 3 to 5, 7") func memberLists() throws {
    let version = MemberListVersion(since: "9pacabr2q1", until: "ruz41312vw")
    let change = MemberChange(
      party: try person("peter@commons.example"), was: .member, now: .none, nick: nil, reason: nil)
    #expect(
      try notice(.member(change), to: "louise@commons.example/desktop", id: nil, version: version)
        == example(
          """
          <message from='coven@chat.shakespeare.lit'
                   to='louise@commons.example/desktop'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <mav xmlns='urn:xmpp:muc:affiliations:1' since='9pacabr2q1' until='ruz41312vw'/>
              <item jid='peter@commons.example' affiliation='none' role='none'/>
            </x>
          </message>
          """))
    let name = try room("news@chat.commons.example")
    let members = try [member("vladimir@commons.example", .none), member("rosa@commons.example", .owner)]
    #expect(
      try element {
        RoomMessages.write(
          members, version: version, of: name, to: "louise@commons.example/desktop", id: nil, into: &$0)
      }
        == example(
          """
          <message from='news@chat.commons.example'
                   to='louise@commons.example/desktop'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <mav xmlns='urn:xmpp:muc:affiliations:1' since='9pacabr2q1' until='ruz41312vw'/>
              <item jid='vladimir@commons.example' affiliation='none'/>
              <item jid='rosa@commons.example' affiliation='owner'/>
            </x>
          </message>
          """))
    #expect(
      try element {
        RoomMessages.write(
          [], version: MemberListVersion(until: "ruz41312vw"), of: name, to: "louise@commons.example/desktop", id: nil,
          into: &$0)
      }
        == example(
          """
          <message from='news@chat.commons.example'
                   to='louise@commons.example/desktop'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <mav xmlns='urn:xmpp:muc:affiliations:1' until='ruz41312vw'/>
            </x>
          </message>
          """))
  }

  @Test("XEP-0463, example 8") func memberListRefused() throws {
    let name = try room("news@chat.commons.example")
    #expect(
      try element {
        RoomMessages.writeListRefused(by: name, to: "vladimir@commons.example/web", id: "foo", into: &$0)
      }
        == example(
          """
          <message from='news@chat.commons.example'
                   to='vladimir@commons.example/web'
                   id='foo' type='error'>
            <error by='news@chat.commons.example' code='403' type='auth'>
              <forbidden xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>
            </error>
          </message>
          """))
  }

  /// Each part ends with a version of which it has all.
  @Test("XEP-0463 5.2.1: a long list in parts") func memberListParts() throws {
    let versions: [Int64] = [3, 5, 5, 5, 8, 9]
    let members = try versions.enumerated().map { index, version in
      var one = try member("p\(index)@commons.example", .member)
      one.version = Position(version)
      return one
    }
    func parts(_ count: Int, since: Int64? = nil, _ itemsMax: Int) -> [String] {
      MemberListPart.parts(
        of: Array(members.prefix(count)), since: since.map { Position($0) }, until: Position(12), itemsMax: itemsMax
      ).map {
        "\($0.since.map { "\($0.number)" } ?? "-")...\($0.until.number): \($0.members.map(\.version.number))"
      }
    }
    #expect(parts(0, 2) == ["-...12: []"])
    #expect(parts(6, 6) == ["-...12: [3, 5, 5, 5, 8, 9]"])
    #expect(parts(6, since: 2, 2) == ["2...5: [3, 5, 5, 5]", "5...12: [8, 9]"])
    #expect(parts(6, 1) == ["-...3: [3]", "3...5: [5, 5, 5]", "5...8: [8]", "8...12: [9]"])
    #expect(parts(4, 2) == ["-...12: [3, 5, 5, 5]"])
  }

  // MARK: Invitations

  @Test func example57RoomSendsInvitationToInvitee() throws {
    let invitation = Invitation(
      room: try room(), inviter: try person("crone1@shakespeare.lit"),
      reason: "Hey Hecate, this is the place for all good witches!", password: "cauldronburn")
    #expect(
      try element { RoomMessages.write(invitation, to: "hecate@shakespeare.lit", id: "nzd143v8", into: &$0) }
        == example(
          """
          <message
              from='coven@chat.shakespeare.lit'
              id='nzd143v8'
              to='hecate@shakespeare.lit'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <invite from='crone1@shakespeare.lit'>
                <reason>Hey Hecate, this is the place for all good witches!</reason>
              </invite>
              <password>cauldronburn</password>
            </x>
          </message>
          """))
  }

  @Test func example59RoomInformsInvitorThatInvitationWasDeclined() throws {
    #expect(
      try notice(
        .declined(by: bare("hecate@shakespeare.lit"), reason: "Sorry, I'm too busy right now."),
        to: "crone1@shakespeare.lit/desktop", id: "jk2vs61v")
        == example(
          """
          <message
              from='coven@chat.shakespeare.lit'
              id='jk2vs61v'
              to='crone1@shakespeare.lit/desktop'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <decline from='hecate@shakespeare.lit'>
                <reason>Sorry, I'm too busy right now.</reason>
              </decline>
            </x>
          </message>
          """))
  }

  @Test func example134RoomSendsInvitationToNewMember() throws {
    let invitation = Invitation(
      room: try room(), inviter: try person("bard@shakespeare.lit"), reason: nil, password: "cauldronburn")
    #expect(
      try element {
        RoomMessages.write(
          invitation, to: "hecate@shakespeare.lit", id: "CA409450-5AAE-41C1-AAAD-5375CA738885", into: &$0)
      }
        == example(
          """
          <message
              from='coven@chat.shakespeare.lit'
              id='CA409450-5AAE-41C1-AAAD-5375CA738885'
              to='hecate@shakespeare.lit'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <invite from='bard@shakespeare.lit'/>
              <password>cauldronburn</password>
            </x>
          </message>
          """))
  }

  // MARK: Subject

  @Test func example40ServiceInformsNewOccupantOfRoomSubject() throws {
    let since = Timestamp("1610-04-20T00:00:00Z")?.milliseconds
    let topic = Topic(
      text: "Fire Burn and Cauldron Bubble!", nick: "secondwitch",
      time: Timestamp(milliseconds: try #require(since)))
    let name = try room()
    #expect(
      try element {
        RoomMessages.writeSubject(
          topic, of: name, isDelayed: true, to: "crone1@shakespeare.lit/desktop",
          id: "F437C672-D438-4BD3-9BFF-091050D32EE2", into: &$0)
      }
        == example(
          """
          <message
              from='coven@chat.shakespeare.lit/secondwitch'
              id='F437C672-D438-4BD3-9BFF-091050D32EE2'
              to='crone1@shakespeare.lit/desktop'
              type='groupchat'>
            <subject>Fire Burn and Cauldron Bubble!</subject>
            <delay xmlns='urn:xmpp:delay' from='coven@chat.shakespeare.lit' stamp='1610-04-20T00:00:00.000Z'/>
          </message>
          """))
  }

  @Test func example41NoSubject() throws {
    let name = try room()
    func subject(_ topic: Topic?) -> String {
      written { RoomMessages.writeSubject(topic, of: name, isDelayed: true, to: "a@b/c", id: nil, into: &$0) }
    }
    #expect(
      subject(nil) == "<message from='coven@chat.shakespeare.lit' to='a@b/c' type='groupchat'><subject/></message>")
    // Taken away, which had a time.
    #expect(subject(Topic(text: "", nick: nil, time: someTime)).contains("<delay"))
  }

  @Test func example85ServiceInformsAllOccupantsOfSubjectChange() throws {
    let topic = Topic(text: "Fire Burn and Cauldron Bubble!", nick: "secondwitch", time: someTime)
    let name = try room()
    #expect(
      try element {
        RoomMessages.writeSubject(
          topic, of: name, occupantID: "dd72603", isDelayed: false, to: "crone1@shakespeare.lit/desktop",
          id: "5BCE07C5-0729-4353-A6A3-ED9818C9B498", into: &$0)
      }
        == example(
          """
          <message
              from='coven@chat.shakespeare.lit/secondwitch'
              id='5BCE07C5-0729-4353-A6A3-ED9818C9B498'
              to='crone1@shakespeare.lit/desktop'
              type='groupchat'>
            <subject>Fire Burn and Cauldron Bubble!</subject>
            <occupant-id xmlns='urn:xmpp:occupant-id:0' id='dd72603'/>
          </message>
          """))
  }

  // MARK: Voice

  private func voice(_ fields: String, type: String = "submit") throws -> VoiceRequest? {
    try VoiceRequest.read(
      DataForm(
        example(
          """
          <x xmlns='jabber:x:data' type='\(type)'>
            <field var='FORM_TYPE'>
              <value>http://jabber.org/protocol/muc#request</value>
            </field>
            \(fields)
          </x>
          """)))
  }

  @Test func example79OccupantRequestsVoice() throws {
    #expect(
      try voice("<field var='muc#role' type='list-single' label='Requested role'><value>participant</value></field>")
        == .request)
  }

  @Test func example108VoiceRequestApprovalForm() throws {
    let stanza = try notice(
      .voiceRequest(nick: "thirdwitch", person("hag66@shakespeare.lit")), to: "crone1@shakespeare.lit/pda",
      id: "approve")
    let expected = try example(
      """
      <message from='coven@chat.shakespeare.lit' id='approve' to='crone1@shakespeare.lit/pda'/>
      """)
    for name in ["from", "id", "to"] as [StaticString] { #expect(stanza[name] == expected[name]) }
    let form = try #require(try stanza.payload(DataForm.self))
    #expect(form.kind == .form)
    let fields: [(String, DataForm.FieldKind, String)] = [
      ("FORM_TYPE", .hidden, "http://jabber.org/protocol/muc#request"), ("muc#role", .listSingle, "participant"),
      ("muc#jid", .jidSingle, "hag66@shakespeare.lit"), ("muc#roomnick", .textSingle, "thirdwitch"),
      ("muc#request_allow", .boolean, "0"),
    ]
    for (name, kind, value) in fields {
      #expect(form[name]?.kind == kind, "\(name)")
      #expect(form.values(name) == [value], "\(name)")
    }
    #expect(form.fields.count == fields.count)
  }

  @Test func example109VoiceRequestApprovalSubmission() throws {
    func answer(_ allow: String) throws -> VoiceRequest? {
      try voice(
        """
        <field var='muc#role'><value>participant</value></field>
        <field var='muc#jid'><value>hag66@shakespeare.lit/pda</value></field>
        <field var='muc#roomnick'><value>thirdwitch</value></field>
        <field var='muc#request_allow'>\(allow)</field>
        """)
    }
    #expect(try answer("<value>true</value>") == .answer(nick: "thirdwitch", isGranted: true))
    #expect(try answer("<value>0</value>") == .answer(nick: "thirdwitch", isGranted: false))
    #expect(try answer("") == .answer(nick: "thirdwitch", isGranted: false))
    #expect(refusal { _ = try answer("<value>perhaps</value>") } == .notAcceptable)
  }

  @Test func otherVoiceForms() throws {
    let allow = "<field var='muc#request_allow'><value>1</value></field>"
    #expect(try voice(allow, type: "cancel") == nil)
    #expect(try voice(allow, type: "form") == nil)
    #expect(try VoiceRequest.read(DataForm(.submit)) == nil)
    #expect(try VoiceRequest.read(DataForm(.submit, formType: "\(NS.mucRegister)")) == nil)
    // Nobody becomes moderator this way.
    #expect(refusal { _ = try voice("<field var='muc#role'><value>moderator</value></field>\(allow)") } == .badRequest)
    #expect(refusal { _ = try voice(allow) } == .badRequest)
    #expect(refusal { _ = try voice("") } == .badRequest)
    #expect(refusal { _ = try voice("<field var='muc#role'/>") } == .badRequest)
    // Whichever answer was taken, the other one may be meant.
    let nick = "<field var='muc#roomnick'><value>thirdwitch</value></field>"
    let deny = "<field var='muc#request_allow'><value>0</value></field>"
    let both = "<field var='muc#request_allow'><value>1</value><value>0</value></field>"
    #expect(refusal { _ = try voice(nick + allow + deny) } == .badRequest)
    #expect(refusal { _ = try voice(nick + both) } == .notAcceptable)
    #expect(
      refusal { _ = try voice("<field var='muc#roomnick'><value/></field>\(allow)") } == .jidMalformed)
  }

  // MARK: Registration

  private func register(_ content: String) throws -> RegistrationForm.Request {
    try RegistrationForm.read(example("<query xmlns='jabber:iq:register'>\(content)</query>"))
  }

  @Test func example69UserIsAlreadyRegistered() throws {
    #expect(
      try element { RegistrationForm.write(registered: "thirdwitch", into: &$0) }
        == example(
          """
          <query xmlns='jabber:iq:register'>
            <registered/>
            <username>thirdwitch</username>
          </query>
          """))
    #expect(
      written { RegistrationForm.write(registered: nil, into: &$0) }
        == "<query xmlns='jabber:iq:register'><registered/></query>")
  }

  /// The only field of the example that matters.
  @Test func example70ServiceReturnsRegistrationForm() throws {
    let query = try element { RegistrationForm.write(suggesting: "thirdwitch", into: &$0) }
    #expect(query.first(Name("instructions", NS.register))?.hasText == true)
    let form = try #require(try query.payload(DataForm.self))
    #expect(form.formType == "http://jabber.org/protocol/muc#register")
    let nick = try #require(form["muc#register_roomnick"])
    #expect(nick.kind == .textSingle && nick.isRequired && nick.values == ["thirdwitch"])
    #expect(form.fields.count == 2)
    // The offered nick is accepted.
    var answer = form
    answer.kind = .submit
    let text = written { answer.write(into: &$0) }
    #expect(try register(text) == .register(nick: "thirdwitch"))
  }

  @Test func example71UserSubmitsRegistrationForm() throws {
    #expect(
      try register(
        """
        <x xmlns='jabber:x:data' type='submit'>
          <field var='FORM_TYPE'><value>http://jabber.org/protocol/muc#register</value></field>
          <field var='muc#register_first'><value>Brunhilde</value></field>
          <field var='muc#register_last'><value>Entwhistle-Throckmorton</value></field>
          <field var='muc#register_roomnick'><value>thirdwitch</value></field>
          <field var='muc#register_url'><value>http://witchesonline/~hag66/</value></field>
          <field var='muc#register_email'><value>hag66@witchesonline</value></field>
          <field var='muc#register_faqentry'><value>Just another witch.</value></field>
        </x>
        """) == .register(nick: "thirdwitch"))
  }

  @Test func example74RoomReturnsBadRequest() throws {
    let type = "<field var='FORM_TYPE'><value>http://jabber.org/protocol/muc#register</value></field>"
    for content in [
      "", "<username>thirdwitch</username>", "<x xmlns='jabber:x:data' type='submit'/>",
      "<x xmlns='jabber:x:data' type='submit'>\(type)</x>", "<x xmlns='jabber:x:data' type='form'/>",
      "<x xmlns='jabber:x:data' type='submit'>\(type)<field var='muc#register_roomnick'><value/></field></x>",
      "<x xmlns='jabber:x:data'/>", "<remove/><username>x</username>",
      """
      <x xmlns='jabber:x:data' type='submit'>
      <field var='FORM_TYPE'><value>http://jabber.org/protocol/muc#request</value></field>
      <field var='muc#register_roomnick'><value>x</value></field></x>
      """,
    ] { #expect(refusal { _ = try register(content) } == .badRequest, "\(content)") }
    let nick = "<field var='muc#register_roomnick'><value> </value></field>"
    #expect(refusal { _ = try register("<x xmlns='jabber:x:data' type='submit'>\(type)\(nick)</x>") } == .jidMalformed)
    #expect(
      refusal { _ = try register("<x xmlns='jabber:x:data' type='submit'>\(type)\(nick)\(nick)</x>") } == .badRequest)
    let nicks = "<field var='muc#register_roomnick'><value>a</value><value>b</value></field>"
    #expect(
      refusal { _ = try register("<x xmlns='jabber:x:data' type='submit'>\(type)\(nicks)</x>") } == .notAcceptable)
  }

  @Test("XEP-0077 3.2") func registrationEnds() throws {
    #expect(try register("<remove/>") == .remove)
    #expect(try register("<x xmlns='jabber:x:data' type='cancel'/>") == .cancel)
  }
}
