import Addresses
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Information about rooms: XEP-0045 6.4")
struct RoomsInfoTests {
  private func cave() throws -> Room {
    var settings = RoomSettings.open
    settings.name = "A Dark Cave"
    settings.about = "The place for all good witches!"
    settings.language = "en"
    settings.isListed = false
    settings.showsAddresses = true
    settings.password = "cauldronburn"
    settings.participantsSetTopic = true
    return Room(
      name: try room(), externalID: nil, createdAt: someTime, settings: settings,
      topic: Topic(text: "Spells", nick: "firstwitch", time: someTime))
  }

  @Test func example9RoomReturnsDiscoInfoResult() throws {
    let info = RoomInfo.capabilities(of: try cave(), occupants: 3, isMember: false, owners: [])
    #expect(info.identities == [Capabilities.Identity(category: "conference", type: "text", name: "A Dark Cave")])
    for feature in [
      "http://jabber.org/protocol/muc", "http://jabber.org/protocol/muc#stable_id", "muc_passwordprotected",
      "muc_hidden", "muc_open", "muc_unmoderated", "muc_nonanonymous", "muc_persistent", "urn:xmpp:occupant-id:0",
      "urn:xmpp:hats:0", "http://jabber.org/protocol/muc#request",
    ] { #expect(info.features.contains(feature), "\(feature)") }
    #expect(!info.features.contains("muc_temporary"))
    var temporary = try cave()
    temporary.settings.isPersistent = false
    let features = RoomInfo.capabilities(of: temporary, occupants: 3, isMember: false, owners: []).features
    #expect(features.contains("muc_temporary") && !features.contains("muc_persistent"))
    // XEP-0115 5.4: nothing is said twice.
    #expect(info.isWellFormed)
  }

  @Test func example10RoomReturnsExtendedDiscoInfoResult() throws {
    let crone = try bare("crone1@shakespeare.lit")
    let info = RoomInfo.capabilities(of: try cave(), occupants: 3, isMember: true, owners: [crone])
    let form = try #require(info.forms.first)
    #expect(form.kind == .result)
    #expect(form.fields.first == DataForm.Field("FORM_TYPE", .hidden, "http://jabber.org/protocol/muc#roominfo"))
    let values: [(String, String)] = [
      ("muc#roominfo_description", "The place for all good witches!"), ("muc#roominfo_subject", "Spells"),
      ("muc#roominfo_contactjid", "crone1@shakespeare.lit"), ("muc#roomconfig_changesubject", "1"),
      ("muc#roominfo_subjectmod", "1"), ("muc#roominfo_occupants", "3"), ("muc#roominfo_lang", "en"),
      ("muc#roomconfig_roomname", "A Dark Cave"), ("muc#maxhistoryfetch", "\(DoorLimits.historyMax)"),
      ("muc#roomconfig_allowpm", "anyone"), ("muc#roomconfig_allowinvites", "0"),
    ]
    for (name, value) in values { #expect(form.values(name) == [value], "\(name)") }
  }

  /// Others do not learn from a closed room what it talks about, nor whose it is, nor ever its password.
  @Test func strangersLearnLess() throws {
    let owners = [try bare("crone1@shakespeare.lit")]
    func text(_ change: (inout RoomSettings) -> Void, isMember: Bool) throws -> String {
      var room = try cave()
      change(&room.settings)
      return written {
        RoomInfo.capabilities(of: room, occupants: 3, isMember: isMember, owners: owners).writeContent(into: &$0)
      }
    }
    for isMember in [true, false] { #expect(!(try text({ _ in }, isMember: isMember)).contains("cauldronburn")) }
    #expect(!(try text({ _ in }, isMember: false)).contains("Spells"))
    let open = try text({ $0.password = nil }, isMember: false)
    #expect(open.contains("Spells") && !open.contains("crone1"))
    let closed = { (settings: inout RoomSettings) in
      settings.password = nil
      settings.isMembersOnly = true
    }
    #expect(!(try text(closed, isMember: false)).contains("Spells"))
    let known = try text(closed, isMember: true)
    #expect(known.contains("Spells") && known.contains("crone1"))
  }

  /// 4.2: one of each pair, always.
  @Test func roomTypes() throws {
    let pairs = [
      ("muc_public", "muc_hidden"), ("muc_membersonly", "muc_open"), ("muc_moderated", "muc_unmoderated"),
      ("muc_nonanonymous", "muc_semianonymous"), ("muc_passwordprotected", "muc_unsecured"),
    ]
    for bits in 0..<32 {
      var room = try cave()
      room.settings.isListed = bits & 1 != 0
      room.settings.isMembersOnly = bits & 2 != 0
      room.settings.isModerated = bits & 4 != 0
      room.settings.showsAddresses = bits & 8 != 0
      room.settings.password = bits & 16 != 0 ? "x" : nil
      let features = RoomInfo.capabilities(of: room, occupants: 0, isMember: false, owners: []).features
      for (index, pair) in pairs.enumerated() {
        #expect(features.contains(pair.0) == (bits & 1 << index != 0))
        #expect(features.contains(pair.1) == (bits & 1 << index == 0))
      }
    }
    var room = try cave()
    room.settings.isReadOnly = true
    let features = RoomInfo.capabilities(of: room, occupants: 0, isMember: false, owners: []).features
    #expect(features.contains("muc_moderated") && !features.contains("muc_unmoderated"))
  }

  @Test("XEP-0500, example 2; XEP-0486, example 10") func furtherFields() throws {
    var room = try cave()
    func form() -> DataForm? {
      RoomInfo.capabilities(of: room, occupants: 0, isMember: false, owners: []).forms.first
    }
    #expect(
      form()?["muc#roominfo_slow_mode_duration"]
        == DataForm.Field("muc#roominfo_slow_mode_duration", .textSingle, "0", label: "Slow mode"))
    #expect(form()?["muc#roominfo_avatarhash"] == nil)
    room.settings.slowModeSeconds = 20
    room.settings.avatarHash = "a31c4bd04de69663cfd7f424a8453f4674da37ff"
    #expect(form()?.value("muc#roominfo_slow_mode_duration") == "20")
    #expect(form()?["muc#roominfo_avatarhash"]?.kind == .textMulti)
    #expect(form()?.values("muc#roominfo_avatarhash") == ["a31c4bd04de69663cfd7f424a8453f4674da37ff"])
    let features = RoomInfo.capabilities(
      of: room, occupants: 0, isMember: false, owners: [], features: ["urn:xmpp:mam:2"]
    ).features
    #expect(features.last == "urn:xmpp:mam:2")
    let twice = RoomInfo.capabilities(
      of: room, occupants: 0, isMember: false, owners: [], features: features + ["muc_hidden"])
    #expect(twice.features == features && twice.isWellFormed)
    #expect(features.contains("vcard-temp"))
  }

  @Test func aRoomWithoutAnything() throws {
    let bare = Room(name: try room(), externalID: nil, createdAt: someTime, settings: .group)
    let info = RoomInfo.capabilities(of: bare, occupants: 0, isMember: true, owners: [])
    #expect(info.identities.first?.name == nil)
    for name in ["muc#roominfo_subject", "muc#roominfo_description", "muc#roominfo_contactjid", "muc#roominfo_lang"] {
      #expect(info.forms.first?[name] == nil)
    }
  }
}
