import Dialogs
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("The reading of a message's children")
struct ReaderTests {
  @Test func plainTextMeansNothingMore() throws {
    let draft = try draft("<message><body>Art thou not Romeo?</body><thread>e0ffe42</thread></message>")
    #expect(!draft.isKept && draft.kind == .none && draft.marker == nil && draft.typing == nil && !draft.isUncopied)
  }

  @Test("XEP-0184 Example 3 and 4") func receipts() throws {
    let request = try draft(
      """
      <message from='northumberland@shakespeare.lit/westminster' id='richard2-4.1.247' to='kingrichard@royalty.england.lit/throne'>
        <body>My lord, dispatch; read o'er these articles.</body><request xmlns='urn:xmpp:receipts'/></message>
      """)
    #expect(request.wantsReceipt && request.marker == nil)
    let received = try draft(
      """
      <message from='kingrichard@royalty.england.lit/throne' id='bi29sg183b4v' to='northumberland@shakespeare.lit/westminster'>
        <received xmlns='urn:xmpp:receipts' id='richard2-4.1.247'/></message>
      """)
    #expect(received.marker?.kind == .delivered)
    #expect(received.marker?.id == "richard2-4.1.247")
    #expect(!received.isKept)
    #expect(try draft("<message><received xmlns='urn:xmpp:receipts'/></message>").marker == nil)
  }

  @Test("XEP-0333 4.1 and 4.2") func markers() throws {
    let markable = try draft(
      """
      <message to='juliet@capulet.lit' from='romeo@montegue.lit/orchard' id='the-msg-1'><body>Hi. How are you?</body>
        <markable xmlns='urn:xmpp:chat-markers:0'/><request xmlns='urn:xmpp:receipts'/></message>
      """)
    #expect(markable.isMarkable && markable.wantsReceipt)
    let displayed = try draft(
      """
      <message to='romeo@montegue.lit' from='juliet@capulet.let/balcony'>
        <displayed xmlns='urn:xmpp:chat-markers:0' id='the-msg-1'/></message>
      """)
    #expect(displayed.marker?.kind == .displayed)
    #expect(displayed.marker?.id == "the-msg-1")
    let old = try draft("<message><received xmlns='urn:xmpp:chat-markers:0' id='the-msg-1'/></message>")
    #expect(old.marker == nil, "version 1.0 has no such marker (11)")
    let long = String(repeating: "x", count: Limits.stanzaIDBytesMax + 1)
    #expect(try draft("<message><displayed xmlns='urn:xmpp:chat-markers:0' id='\(long)'/></message>").marker == nil)
  }

  @Test(arguments: [("composing", true), ("paused", false), ("active", false), ("inactive", false), ("gone", false)])
  func chatStates(_ state: String, isTyping: Bool) throws {
    let draft = try draft("<message type='chat'><\(state) xmlns='http://jabber.org/protocol/chatstates'/></message>")
    #expect(draft.typing == isTyping)
    #expect(!draft.isKept)
  }

  @Test("XEP-0334 3.1 and 4") func hints() throws {
    let session = try draft(
      """
      <message from='romeo@montague.lit/laptop' to='juliet@capulet.lit/laptop'><body>V unir avtug'f pybnx</body>
        <no-copy xmlns="urn:xmpp:hints"/><no-store xmlns="urn:xmpp:hints"/></message>
      """)
    #expect(session.isUncopied && session.isUnstored && !session.isTransient && !session.isKept)
    let stored = try draft("<message><store xmlns='urn:xmpp:hints'/></message>")
    #expect(stored.isStored && stored.isSaid && !stored.isKept)
    let marker = try draft(
      "<message><displayed xmlns='urn:xmpp:chat-markers:0' id='a'/><store xmlns='urn:xmpp:hints'/></message>")
    #expect(marker.isStored && !marker.isSaid)
    #expect(try draft("<message><no-permanent-store xmlns='urn:xmpp:hints'/></message>").isTransient)
  }

  @Test("XEP-0280 9") func privateMessagesAreNotCopied() throws {
    #expect(try draft("<message><body>x</body><private xmlns='urn:xmpp:carbons:2'/></message>").isUncopied)
  }

  @Test("XEP-0359 2.2") func originID() throws {
    let draft = try draft(
      """
      <message to='room@muc.example.com'><body>Typical body text</body>
        <origin-id xmlns='urn:xmpp:sid:0' id='de305d54-75b4-431b-adb2-eb6b9e546013'/></message>
      """)
    #expect(draft.originID == "de305d54-75b4-431b-adb2-eb6b9e546013")
    #expect(try XMPPDoorTests.draft("<message><origin-id xmlns='urn:xmpp:sid:0'/></message>").originID == nil)
  }

  @Test(arguments: [
    "<subject>O Romeo, Romeo!</subject>",
    "<x xmlns='jabber:x:conference' jid='darkcave@macbeth.shakespeare.lit'/>",
    "<x xmlns='http://jabber.org/protocol/muc#user'><invite from='crone1@shakespeare.lit/desktop'/></x>",
    "<x xmlns='jabber:x:oob'><url>https://shakespeare.lit/a.png</url></x>",
    "<replace id='bad1' xmlns='urn:xmpp:message-correct:0'/>",
    "<reactions id='744f6e18' xmlns='urn:xmpp:reactions:0'><reaction>👋</reaction></reactions>",
    "<retract id='de305d54' xmlns='urn:xmpp:message-retract:1'/>",
    "<propose xmlns='urn:xmpp:jingle-message:0' id='ca3cf894'><description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'/></propose>",
    "<finish xmlns='urn:xmpp:jingle-message:0' id='ca3cf894'/>",
    "<invite xmlns='urn:xmpp:call-invites:0' video='true'/>",
    "<file-sharing xmlns='urn:xmpp:sfs:0' disposition='inline'/>",
    "<reply to='anna@example.com' id='message-id1' xmlns='urn:xmpp:reply:0'/>",
  ])
  func keptWithoutABody(_ child: String) throws {
    let draft = try draft("<message>\(child)</message>")
    #expect(draft.isKept)
    #expect(draft.kind == .none)
  }

  /// XEP-0384, 0380, 0373.
  @Test(arguments: [
    (
      "<encrypted xmlns='eu.siacs.conversations.axolotl'><header sid='1'/><payload>AA==</payload></encrypted>",
      Content.Kind.encrypted
    ),
    ("<encrypted xmlns='eu.siacs.conversations.axolotl'><header sid='1'/></encrypted>", .none),
    ("<encrypted xmlns='urn:xmpp:omemo:2'><header sid='27183'/><payload>AA==</payload></encrypted>", .encrypted),
    (
      "<encrypted xmlns='urn:xmpp:omemo:2'><header sid='27183'/></encrypted><encryption xmlns='urn:xmpp:eme:0' namespace='urn:xmpp:omemo:2'/>",
      .none
    ),
    ("<encryption xmlns='urn:xmpp:eme:0' namespace='urn:xmpp:otr:0'/>", .encrypted),
    ("<openpgp xmlns='urn:xmpp:openpgp:0'>AA==</openpgp>", .encrypted),
    ("<x xmlns='jabber:x:encrypted'>AA==</x>", .encrypted),
  ])
  func ciphertextIsKept(_ children: String, kind: Content.Kind) throws {
    let draft = try draft("<message>\(children)</message>")
    #expect(draft.isKept)
    #expect(draft.kind == kind)
  }

  @Test func markOfPrivateRoomMessagesIsNotKept() throws {
    #expect(try !draft("<message><x xmlns='http://jabber.org/protocol/muc#user'/></message>").isKept)
  }

  @Test(arguments: [
    ("<stanza-id xmlns='urn:xmpp:sid:0' id='1' by='romeo@montague.lit'/>", true),
    ("<stanza-id xmlns='urn:xmpp:sid:0' id='1' by='ROMEO@Montague.lit'/>", true),
    ("<stanza-id xmlns='urn:xmpp:sid:0' id='1' by='montague.lit'/>", true),
    ("<stanza-id xmlns='urn:xmpp:sid:0' id='1' by='room@conference.montague.lit'/>", true),
    ("<stanza-id xmlns='urn:xmpp:sid:0' id='1'/>", true),
    ("<stanza-id xmlns='urn:xmpp:sid:0' id='1' by='room@muc.example.com'/>", false),
    ("<stanza-id xmlns='urn:xmpp:sid:0' id='1' by='room@notmontague.lit'/>", false),
    ("<origin-id xmlns='urn:xmpp:sid:0' id='1'/>", false),
    ("<delay xmlns='urn:xmpp:delay' from='montague.lit' stamp='2002-09-10T23:08:25Z'/>", true),
    ("<delay xmlns='urn:xmpp:delay' from='juliet@montague.lit' stamp='2002-09-10T23:08:25Z'/>", true),
    ("<delay xmlns='urn:xmpp:delay' from='romeo@montague.lit/orchard' stamp='2002-09-10T23:08:25Z'/>", false),
    ("<delay xmlns='urn:xmpp:delay' stamp='2002-09-10T23:08:25Z'/>", false),
    ("<occupant-id xmlns='urn:xmpp:occupant-id:0' id='dd72603deec90a38ba552f7c68cbcc61bca202cd'/>", true),
    ("<x xmlns='http://jabber.org/protocol/muc#user'><item affiliation='owner' role='moderator'/></x>", true),
    ("<x xmlns='http://jabber.org/protocol/muc#user'><status code='104'/></x>", true),
    ("<x xmlns='http://jabber.org/protocol/muc#user'/>", false),
    ("<hats xmlns='urn:xmpp:hats:0'/>", true),
    (
      "<addresses xmlns='http://jabber.org/protocol/address'><address type='ofrom' jid='romeo@montague.lit/orchard'/></addresses>",
      true
    ),
    (
      "<addresses xmlns='http://jabber.org/protocol/address'><address type='to' jid='romeo@montague.lit/orchard'/></addresses>",
      false
    ),
    ("<retracted xmlns='urn:xmpp:message-retract:1' id='1' stamp='2019-09-20T23:08:25Z'/>", true),
    ("<retract xmlns='urn:xmpp:message-retract:1' id='1'/>", false),
    (
      "<retract xmlns='urn:xmpp:message-retract:1' id='1'><moderated xmlns='urn:xmpp:message-moderate:1'/></retract>",
      true
    ),
    (
      "<result xmlns='urn:xmpp:mam:2' id='1'><forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client'/></forwarded></result>",
      true
    ),
    ("<received xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'/></received>", true),
    ("<sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'/></sent>", true),
    ("<private xmlns='urn:xmpp:carbons:2'/>", false),
    ("<forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client'/></forwarded>", false),
    ("<displayed xmlns='urn:xmpp:mds:displayed:0'/>", true),
    ("<displayed xmlns='urn:xmpp:chat-markers:0' id='1'/>", false),
    ("<body>x</body>", false),
  ])
  func elementsOnlyServersMayAddAreRemoved(_ child: String, isStripped: Bool) throws {
    #expect(StanzaIDs.isStripped(try stanza(child), domain: "montague.lit") == isStripped)
  }

  /// XEP-0045 7.8.2: with 'from' they are the room's, with 'to' the client's; XEP-0249 is a client's.
  @Test(arguments: [
    ("<x xmlns='http://jabber.org/protocol/muc#user'><invite from='romeo@montague.lit'/></x>", true),
    ("<x xmlns='http://jabber.org/protocol/muc#user'><invite/></x>", true),
    ("<x xmlns='http://jabber.org/protocol/muc#user'><invite from='a@montague.lit' to='b@capulet.lit'/></x>", true),
    ("<x xmlns='http://jabber.org/protocol/muc#user'><decline from='romeo@montague.lit'/></x>", true),
    ("<x xmlns='http://jabber.org/protocol/muc#user'><invite to='juliet@capulet.lit'/></x>", false),
    ("<x xmlns='http://jabber.org/protocol/muc#user'><decline to='juliet@capulet.lit'/></x>", false),
    ("<x xmlns='http://jabber.org/protocol/muc#user'/>", false),
    ("<x xmlns='jabber:x:conference' jid='darkcave@macbeth.shakespeare.lit'/>", false),
  ])
  func invitationsArePassedOnByRoomsAlone(_ child: String, isInvitation: Bool) throws {
    #expect(StanzaIDs.isInvitation(try stanza(child)) == isInvitation)
  }

  /// XEP-0203 5; XEP-0045 7.9 has the addresses of a chat's authors.
  @Test(arguments: [
    ("<delay xmlns='urn:xmpp:delay' stamp='2002-09-10T23:08:25Z'/>", true),
    ("<delay xmlns='urn:xmpp:delay' from='coven@chat.shakespeare.lit' stamp='2002-09-10T23:08:25Z'/>", true),
    ("<delay xmlns='urn:xmpp:delay' from='coven@CHAT.shakespeare.lit/hag66' stamp='2002-09-10T23:08:25Z'/>", true),
    ("<delay xmlns='urn:xmpp:delay' from='@' stamp='2002-09-10T23:08:25Z'/>", true),
    ("<x xmlns='jabber:x:delay' stamp='20020910T23:08:25'/>", true),
    ("<x xmlns='jabber:x:delay' from='coven@chat.shakespeare.lit' stamp='20020910T23:08:25'/>", true),
    ("<delay xmlns='urn:xmpp:delay' from='crone1@shakespeare.lit/desktop' stamp='2002-09-10T23:08:25Z'/>", false),
    ("<delay xmlns='urn:xmpp:delay' from='irc.shakespeare.lit' stamp='2002-09-10T23:08:25Z'/>", false),
    ("<x xmlns='jabber:x:oob'/>", false),
  ])
  func whatAnOccupantSaysIsNotDatedByTheRoom(_ child: String, isStripped: Bool) throws {
    #expect(StanzaIDs.isRoomsDelay(try stanza(child), rooms: "chat.shakespeare.lit") == isStripped)
  }

  @Test("XEP-0280 Example: received copy") func carbon() throws {
    let copy = try element { writer in
      Carbons.open(
        .received, from: "romeo@montague.example", to: "romeo@montague.example/home", type: .chat, into: &writer)
      writer.element(.message, ["from": "juliet@capulet.example/balcony", "type": "chat"]) { $0.element(.body) }
      Carbons.close(into: &writer)
    }
    let expected = try stanza(
      """
      <message from='romeo@montague.example' to='romeo@montague.example/home' type='chat'>\
      <received xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'>\
      <message xmlns='jabber:client' from='juliet@capulet.example/balcony' type='chat'><body/></message>\
      </forwarded></received></message>
      """)
    #expect(copy == expected)
  }
}
