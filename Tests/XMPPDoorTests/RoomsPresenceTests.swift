import Addresses
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Presence in rooms: XEP-0045 7 to 10")
struct RoomsPresenceTests {
  /// Returns a client's presence: here its priority, which is forwarded. Without `extras` it is an app's session.
  private func said(
    _ address: String, _ resource: String, _ availability: Presence.Availability = .online, id: String? = nil,
    status: String? = nil, extras: String? = "<priority>1</priority>"
  ) throws -> Presence {
    Presence(
      from: try person(address), resource: resource, availability: availability, status: status, id: id,
      extras: extras.map { Array($0.utf8) }, time: someTime)
  }

  private func occupant(
    _ nick: String, _ address: String, _ resource: String, _ affiliation: Affiliation, _ role: Role,
    _ presence: Presence? = nil, in name: String = "coven@chat.shakespeare.lit", codes: [UInt16] = [],
    ownCodes: [UInt16] = [], newNick: String? = nil, actor: String? = nil, reason: String? = nil,
    destroyed: OccupantPresence.Destroyed? = nil, occupantID: String = "", showsAddress: Bool = true
  ) throws -> OccupantPresence {
    OccupantPresence(
      room: try room(name), nick: nick, party: try person(address), resource: resource, affiliation: affiliation,
      role: role, presence: try presence ?? said(address, resource), codes: codes, ownCodes: ownCodes,
      newNick: newNick, actor: actor, reason: reason, destroyed: destroyed, occupantID: occupantID,
      showsAddress: showsAddress)
  }

  /// Gone, without a word.
  private func gone(_ address: String, _ resource: String) throws -> Presence {
    try said(address, resource, .offline, extras: nil)
  }

  private func sent(
    _ presence: OccupantPresence, _ variant: OccupantWriter.PresenceVariant, to: String,
    version: MemberListVersion? = nil
  ) throws -> Element {
    try element { OccupantWriter.write(presence, variant: variant, version: version, to: to, into: &$0) }
  }

  @Test func example20PresenceFromExistingOccupants() throws {
    let presence = try occupant(
      "firstwitch", "crone1@shakespeare.lit", "desktop", .owner, .moderator,
      said("crone1@shakespeare.lit", "desktop", id: "3DCB0401-D7CF-4E31-BE05-EDF8D057BFBD"), showsAddress: false)
    #expect(OccupantWriter.variant(of: presence, isModerator: false) == .anonymous)
    #expect(
      try sent(presence, .anonymous, to: "hag66@shakespeare.lit/pda")
        == example(
          """
          <presence
              from='coven@chat.shakespeare.lit/firstwitch'
              id='3DCB0401-D7CF-4E31-BE05-EDF8D057BFBD'
              to='hag66@shakespeare.lit/pda'>
            <priority>1</priority>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='owner' role='moderator'/>
            </x>
          </presence>
          """))
  }

  @Test func example23FullJIDToAllOccupants() throws {
    let presence = try occupant("thirdwitch", "hag66@shakespeare.lit", "pda", .none, .participant)
    #expect(OccupantWriter.variant(of: presence, isModerator: false) == .addressed)
    #expect(
      try sent(presence, .addressed, to: "crone1@shakespeare.lit/desktop")
        == example(
          """
          <presence
              from='coven@chat.shakespeare.lit/thirdwitch'
              to='crone1@shakespeare.lit/desktop'>
            <priority>1</priority>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='none'
                    jid='hag66@shakespeare.lit/pda'
                    role='participant'/>
            </x>
          </presence>
          """))
  }

  /// The occupant's own presence, with the address as everywhere else.
  @Test func example24NewOccupantsPresenceToNewOccupant() throws {
    let presence = try occupant(
      "thirdwitch", "hag66@shakespeare.lit", "pda", .member, .participant,
      said("hag66@shakespeare.lit", "pda", id: "n13mt3l"), ownCodes: [210, 100])
    #expect(
      try sent(presence, .own, to: "hag66@shakespeare.lit/pda")
        == example(
          """
          <presence
              from='coven@chat.shakespeare.lit/thirdwitch'
              id='n13mt3l'
              to='hag66@shakespeare.lit/pda'>
            <priority>1</priority>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='member'
                    jid='hag66@shakespeare.lit/pda'
                    role='participant'/>
              <status code='100'/>
              <status code='110'/>
              <status code='210'/>
            </x>
          </presence>
          """))
    // 7.2.3: the warning and the rest are for the occupant only.
    #expect(!"\(try sent(presence, .addressed, to: "a@b/c"))".contains("status"))
  }

  @Test func example50ServiceUpdatesNick() throws {
    let leaving = try occupant(
      "thirdwitch", "hag66@shakespeare.lit", "pda", .member, .participant, gone("hag66@shakespeare.lit", "pda"),
      codes: [303], newNick: "oldhag")
    #expect(
      try sent(leaving, .addressed, to: "crone1@shakespeare.lit/desktop")
        == example(
          """
          <presence
              from='coven@chat.shakespeare.lit/thirdwitch'
              to='crone1@shakespeare.lit/desktop'
              type='unavailable'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='member'
                    jid='hag66@shakespeare.lit/pda'
                    nick='oldhag'
                    role='participant'/>
              <status code='303'/>
            </x>
          </presence>
          """))
    #expect(
      try sent(leaving, .own, to: "hag66@shakespeare.lit/pda")
        == example(
          """
          <presence
              from='coven@chat.shakespeare.lit/thirdwitch'
              to='hag66@shakespeare.lit/pda'
              type='unavailable'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='member'
                    jid='hag66@shakespeare.lit/pda'
                    nick='oldhag'
                    role='participant'/>
              <status code='110'/>
              <status code='303'/>
            </x>
          </presence>
          """))
  }

  /// 7.14: the role after leaving is none, whatever it was.
  @Test func example81SelfPresenceRelatedToDeparture() throws {
    let leaving = try occupant(
      "thirdwitch", "hag66@shakespeare.lit", "pda", .member, .participant, gone("hag66@shakespeare.lit", "pda"))
    #expect(
      try sent(leaving, .own, to: "hag66@shakespeare.lit/pda")
        == example(
          """
          <presence
              from='coven@chat.shakespeare.lit/thirdwitch'
              to='hag66@shakespeare.lit/pda'
              type='unavailable'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='member'
                    jid='hag66@shakespeare.lit/pda'
                    role='none'/>
              <status code='110'/>
            </x>
          </presence>
          """))
  }

  @Test func example83CustomExitMessage() throws {
    let status = "<status>gone where the goblins go</status>"
    let leaving = try occupant(
      "oldhag", "wiccarocks@shakespeare.lit", "laptop", .member, .none,
      said("wiccarocks@shakespeare.lit", "laptop", .offline, extras: status))
    #expect(try sent(leaving, .addressed, to: "a@b/c").first(.status)?.text == "gone where the goblins go")
  }

  /// The example leaves out the address that 7.2.4 lets only some see, and that the kicked know.
  @Test func example90ServiceRemovesKickedOccupant() throws {
    let kicked = try occupant(
      "pistol", "pistol@shakespeare.lit", "harfleur", .none, .participant, gone("pistol@shakespeare.lit", "harfleur"),
      in: "harfleur@chat.shakespeare.lit", codes: [307], actor: "Fluellen", reason: "Avaunt, you cullion!")
    #expect(
      try sent(kicked, .own, to: "pistol@shakespeare.lit/harfleur")
        == example(
          """
          <presence
              from='harfleur@chat.shakespeare.lit/pistol'
              to='pistol@shakespeare.lit/harfleur'
              type='unavailable'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='none' jid='pistol@shakespeare.lit/harfleur' role='none'>
                <actor nick='Fluellen'/>
                <reason>Avaunt, you cullion!</reason>
              </item>
              <status code='110'/>
              <status code='307'/>
            </x>
          </presence>
          """))
  }

  @Test func example113ServiceRemovesBannedUser() throws {
    let banned = try occupant(
      "cambridge", "earlofcambridge@shakespeare.lit", "stabber", .outcast, .none,
      gone("earlofcambridge@shakespeare.lit", "stabber"), in: "southampton@chat.shakespeare.lit", codes: [301],
      actor: "The ♚", reason: "Treason")
    #expect(
      try sent(banned, .anonymous, to: "exeter@shakespeare.lit/pda")
        == example(
          """
          <presence
              from='southampton@chat.shakespeare.lit/cambridge'
              to='exeter@shakespeare.lit/pda'
              type='unavailable'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='outcast' role='none'>
                <actor nick='The ♚'/>
                <reason>Treason</reason>
              </item>
              <status code='301'/>
            </x>
          </presence>
          """))
  }

  @Test func example128ServiceRemovesNonMember() throws {
    let removed = try occupant(
      "thirdwitch", "hag66@shakespeare.lit", "pda", .none, .none, gone("hag66@shakespeare.lit", "pda"), codes: [321],
      actor: "TheBard")
    #expect(
      try sent(removed, .anonymous, to: "crone1@shakespeare.lit/desktop")
        == example(
          """
          <presence
              from='coven@chat.shakespeare.lit/thirdwitch'
              to='crone1@shakespeare.lit/desktop'
              type='unavailable'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='none' role='none'>
                <actor nick='TheBard'/>
              </item>
              <status code='321'/>
            </x>
          </presence>
          """))
  }

  @Test func example154ServiceAcknowledgesRoomCreation() throws {
    let presence = try occupant(
      "firstwitch", "crone1@shakespeare.lit", "desktop", .owner, .moderator, ownCodes: [201])
    let user = try #require(try sent(presence, .own, to: "crone1@shakespeare.lit/desktop").first(.mucUser))
    #expect(
      user
        == (try example(
          """
          <x xmlns='http://jabber.org/protocol/muc#user'>
            <item affiliation='owner'
                  jid='crone1@shakespeare.lit/desktop'
                  role='moderator'/>
            <status code='110'/>
            <status code='201'/>
          </x>
          """)))
  }

  /// The reason is that of the destruction; all affiliations are removed.
  @Test func example202ServiceRemovesEachOccupant() throws {
    func destroyed(_ alternate: String?, _ reason: String?) throws -> OccupantPresence {
      try occupant(
        "firstwitch", "crone1@shakespeare.lit", "desktop", .owner, .none, gone("crone1@shakespeare.lit", "desktop"),
        in: "heath@chat.shakespeare.lit", reason: reason,
        destroyed: OccupantPresence.Destroyed(alternate: alternate.map(bare)))
    }
    #expect(
      try sent(
        destroyed("coven@chat.shakespeare.lit", "Macbeth doth come."), .anonymous, to: "crone1@shakespeare.lit/desktop")
        == example(
          """
          <presence
              from='heath@chat.shakespeare.lit/firstwitch'
              to='crone1@shakespeare.lit/desktop'
              type='unavailable'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='none' role='none'/>
              <destroy jid='coven@chat.shakespeare.lit'>
                <reason>Macbeth doth come.</reason>
              </destroy>
            </x>
          </presence>
          """))
    // 10.9: the element is there even if there is nothing to say.
    let user = try sent(destroyed(nil, nil), .anonymous, to: "a@b/c").first(.mucUser)
    #expect(
      user
        == (try example(
          """
          <x xmlns='http://jabber.org/protocol/muc#user'>
            <item affiliation='none' role='none'/>
            <destroy/>
          </x>
          """)))
  }

  @Test func example207ServiceShutdown() throws {
    let leaving = try occupant(
      "pistol", "pistol@shakespeare.lit", "client", .none, .none, gone("pistol@shakespeare.lit", "client"),
      codes: [332, 332])
    let user = try #require(try sent(leaving, .own, to: "pistol@shakespeare.lit/client").first(.mucUser))
    #expect(
      user
        == (try example(
          """
          <x xmlns='http://jabber.org/protocol/muc#user'>
            <item affiliation='none' jid='pistol@shakespeare.lit/client' role='none'/>
            <status code='110'/>
            <status code='332'/>
          </x>
          """)))
  }

  // MARK: Beside XEP-0045

  @Test("XEP-0421, example 4") func occupantIDs() throws {
    let id = "dd72603deec90a38ba552f7c68cbcc61bca202cd"
    for availability in [Presence.Availability.online, .offline] {
      let presence = try occupant(
        "thirdwitch", "hag66@shakespeare.lit", "pda", .none, .participant,
        said("hag66@shakespeare.lit", "pda", availability), occupantID: id)
      for variant in OccupantWriter.PresenceVariant.allCases {
        let stanza = try sent(presence, variant, to: "crone1@shakespeare.lit/desktop")
        #expect(stanza.children.filter { $0.is(.occupantID) }.map { $0["id"] } == [id])
      }
    }
  }

  @Test("XEP-0317 3.1") func hats() throws {
    func hats(_ affiliation: Affiliation, _ availability: Presence.Availability = .online) throws -> Element? {
      let presence = try occupant(
        "thirdwitch", "hag66@shakespeare.lit", "pda", affiliation, .visitor,
        said("hag66@shakespeare.lit", "pda", availability))
      let stanza = try sent(presence, .anonymous, to: "crone1@shakespeare.lit/desktop")
      if affiliation == .watcher {
        #expect(stanza.first(.mucUser)?.first(.mucUserItem)?["affiliation"] == "member")
      }
      return stanza.first(.hats)
    }
    #expect(
      try hats(.watcher)
        == example(
          """
          <hats xmlns='urn:xmpp:hats:0'>
            <hat title='Watcher' uri='urn:parley:hat:watcher' xml:lang='en'/>
          </hats>
          """))
    #expect(try hats(.watcher, .offline) == nil)
    for affiliation in Affiliation.allCases where affiliation != .watcher { #expect(try hats(affiliation) == nil) }
  }

  @Test("XEP-0463, example 6") func memberListVersion() throws {
    let presence = try occupant("louise", "louise@commons.example", "desktop", .member, .participant)
    let user = try sent(
      presence, .own, to: "louise@commons.example/desktop", version: MemberListVersion(until: "ruz41312vw")
    ).first(.mucUser)
    #expect(user?.first(.mucAffiliations)?.attributes.map(\.local) == ["until"])
    #expect(user?.first(.mucAffiliations)?["until"] == "ruz41312vw")
  }

  /// An occupant who sees no addresses can read no lists, and gets no versions.
  @Test("XEP-0463 5.2.2") func versionsAreForThoseWhoSeeAddresses() throws {
    for showsAddress in [true, false] {
      let presence = try occupant(
        "louise", "louise@commons.example", "desktop", .member, .participant, showsAddress: showsAddress)
      let version = MemberListVersion(since: "9pacabr2q1", until: "ruz41312vw")
      for isModerator in [false, true] {
        let tail = OccupantWriter.shared(presence, isModerator: isModerator, version: version)
        let text = String(decoding: tail, as: UTF8.self)
        #expect(
          text.contains("<mav xmlns='urn:xmpp:muc:affiliations:1' since='9pacabr2q1' until='ruz41312vw'/>")
            == (showsAddress || isModerator))
      }
    }
  }

  // MARK: Sharing

  /// Hostile names stay within their attributes, and what is shared is what would have been written.
  @Test(arguments: OccupantWriter.PresenceVariant.allCases) func tailsAreTheRest(
    variant: OccupantWriter.PresenceVariant
  ) throws {
    let to = "hag66@shakespeare.lit/it's <me> & \"you\""
    let presence = try occupant(
      "</presence><x'y", "crone1@shakespeare.lit", "a'b", .watcher, .visitor,
      said("crone1@shakespeare.lit", "a'b", id: "<&'>", extras: "<show>away</show>"), codes: [301],
      actor: "<actor/>", reason: "]]><reason>", occupantID: "id", showsAddress: false)
    let whole = written { OccupantWriter.write(presence, variant: variant, to: to, into: &$0) }
    let parts = written { writer in
      writer.open(.presence)
      writer.attribute("to", to)
      writer.close(with: OccupantWriter.tail(of: presence, variant: variant))
      // The writer goes on where it was.
      writer.open(.message)
      writer.close()
    }
    #expect(parts == whole + "<message/>")
    let read = try stanza(whole)
    #expect(read["from"] == "coven@chat.shakespeare.lit/</presence><x'y")
    #expect(read["to"] == to)
    #expect(read.first(.mucUser)?.first(.mucUserItem)?.first(.mucUserReason)?.text == "]]><reason>")
  }

  @Test func sharedTails() throws {
    for showsAddress in [true, false] {
      let presence = try occupant(
        "thirdwitch", "hag66@shakespeare.lit", "pda", .none, .participant, showsAddress: showsAddress)
      for isModerator in [true, false, true] {
        let variant = OccupantWriter.variant(of: presence, isModerator: isModerator)
        #expect(
          OccupantWriter.shared(presence, isModerator: isModerator)
            == OccupantWriter.tail(of: presence, variant: variant))
      }
      let text = String(decoding: OccupantWriter.shared(presence, isModerator: false), as: UTF8.self)
      #expect(text.contains("hag66") == showsAddress)
    }
  }

  /// A session of the app has no children of its own: the server speaks for it.
  @Test func appSessions() throws {
    let presence = try occupant(
      "thirdwitch", "hag66@shakespeare.lit", "pda", .none, .participant,
      said("hag66@shakespeare.lit", "pda", .extendedAway, status: "in the & cave", extras: nil))
    let stanza = try sent(presence, .anonymous, to: "a@b/c")
    #expect(stanza.first(.show)?.text == "xa")
    #expect(stanza.first(.status)?.text == "in the & cave")
    #expect(stanza.first(.caps) != nil)
    let left = try occupant(
      "thirdwitch", "hag66@shakespeare.lit", "pda", .none, .none, gone("hag66@shakespeare.lit", "pda"))
    #expect(try sent(left, .anonymous, to: "a@b/c").first(.caps) == nil)
  }
}
