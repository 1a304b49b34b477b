import Addresses
import Dialogs
import NIOCore
import StoreConformance
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("Configuration of rooms: XEP-0045 10.1, 10.2")
struct RoomsConfigurationTests {
  private let configure = "http://jabber.org/protocol/muc#roomconfig"

  // MARK: Offering

  /// The fields of the example that this server honours, with their types; the others are not offered.
  @Test func example157ServiceSendsConfigurationForm() throws {
    let form = ConfigurationForm.form(of: .group, owners: [], admins: [])
    #expect(form.kind == .form)
    #expect(form.fields.first == DataForm.Field("FORM_TYPE", .hidden, configure))
    let offered: [(String, DataForm.FieldKind)] = [
      ("muc#roomconfig_roomname", .textSingle), ("muc#roomconfig_roomdesc", .textSingle),
      ("muc#roomconfig_lang", .textSingle), ("muc#roomconfig_changesubject", .boolean),
      ("muc#roomconfig_allowinvites", .boolean), ("muc#roomconfig_allowpm", .listSingle),
      ("muc#roomconfig_maxusers", .listSingle), ("muc#roomconfig_publicroom", .boolean),
      ("muc#roomconfig_persistentroom", .boolean), ("muc#roomconfig_moderatedroom", .boolean),
      ("muc#roomconfig_membersonly", .boolean), ("muc#roomconfig_passwordprotectedroom", .boolean),
      ("muc#roomconfig_roomsecret", .textPrivate), ("muc#roomconfig_whois", .listSingle),
      ("muc#roomconfig_roomadmins", .jidMulti), ("muc#roomconfig_roomowners", .jidMulti),
      ("muc#maxhistoryfetch", .textSingle),
    ]
    for (name, kind) in offered { #expect(form[name]?.kind == kind, "\(name)") }
    for name in [
      "muc#roomconfig_enablelogging", "muc#roomconfig_presencebroadcast", "muc#roomconfig_getmemberlist",
      "muc#roomconfig_pubsub",
    ] { #expect(form[name] == nil, "\(name)") }
    #expect(form["muc#roomconfig_allowpm"]?.options.map(\.value) == ["anyone", "participants", "moderators", "none"])
    #expect(form["muc#roomconfig_whois"]?.options.map(\.value) == ["moderators", "anyone"])
    #expect(form["muc#roomconfig_maxusers"]?.options.last?.value == "none")
    #expect(form.value("muc#roomconfig_persistentroom") == "1")
    // Without federation nobody is elsewhere.
    #expect(form["parley#acceptremote"] == nil)
    let federated = ConfigurationForm.form(of: .group, owners: [], admins: [], isFederated: true)
    #expect(federated.value("parley#acceptremote") == "1")
    let instant = ConfigurationForm.form(of: .instant, owners: [], admins: [])
    #expect(instant.value("muc#roomconfig_persistentroom") == "0")
  }

  @Test func example165ServiceSendsConfigurationFormToOwner() throws {
    var settings = RoomSettings.group
    settings.name = "A Dark Cave"
    settings.about = "The place for all good witches!"
    settings.participantsSetTopic = true
    settings.occupantsMax = 12
    settings.isMembersOnly = false
    settings.password = "cauldronburn"
    settings.showsAddresses = false
    settings.language = "en"
    settings.slowModeSeconds = 20
    settings.history = .sinceJoin
    settings.retentionDays = 30
    let form = ConfigurationForm.form(
      of: settings, owners: [try bare("crone1@shakespeare.lit")],
      admins: [try bare("wiccarocks@shakespeare.lit"), try bare("hecate@shakespeare.lit")])
    let values: [(String, [String])] = [
      ("muc#roomconfig_roomname", ["A Dark Cave"]), ("muc#roomconfig_roomdesc", ["The place for all good witches!"]),
      ("muc#roomconfig_changesubject", ["1"]), ("muc#roomconfig_allowinvites", ["0"]),
      ("muc#roomconfig_allowpm", ["anyone"]), ("muc#roomconfig_maxusers", ["12"]), ("muc#roomconfig_publicroom", ["0"]),
      ("muc#roomconfig_moderatedroom", ["0"]), ("muc#roomconfig_membersonly", ["0"]),
      ("muc#roomconfig_passwordprotectedroom", ["1"]), ("muc#roomconfig_roomsecret", ["cauldronburn"]),
      ("muc#roomconfig_whois", ["moderators"]), ("muc#roomconfig_lang", ["en"]), ("parley#history", ["since-join"]),
      ("muc#roomconfig_slow_mode_duration", ["20"]), ("parley#retention", ["30"]),
      ("muc#roomconfig_roomadmins", ["wiccarocks@shakespeare.lit", "hecate@shakespeare.lit"]),
      ("muc#roomconfig_roomowners", ["crone1@shakespeare.lit"]),
    ]
    for (name, expected) in values { #expect(form.values(name) == expected, "\(name)") }
    // The set value is among the offered ones.
    #expect(form["muc#roomconfig_maxusers"]?.options.map(\.value).contains("12") == true)
  }

  @Test("XEP-0500, example 1") func slowMode() throws {
    var settings = RoomSettings.group
    settings.slowModeSeconds = 20
    let form = ConfigurationForm.form(of: settings, owners: [], admins: [])
    let field = try element { form.write(into: &$0) }.children
      .first { $0.has("var", equalTo: "muc#roomconfig_slow_mode_duration") }
    let expected = try example(
      """
      <field xmlns='jabber:x:data' type='text-single' var='muc#roomconfig_slow_mode_duration' label='Slow mode'>
        <desc>Seconds between two messages of one person; 0: none.</desc>
        <validate xmlns='http://jabber.org/protocol/xdata-validate' datatype='xs:integer'>
          <range min='0' max='86400'/>
        </validate>
        <value>20</value>
      </field>
      """)
    #expect(field == expected)
  }

  // MARK: Reading

  @Test func example155OwnerRequestsInstantRoom() throws {
    let form = DataForm(.submit)
    #expect(try settings(form) == .group)
    #expect(try settings(form, of: .open) == .open)
    #expect(try ConfigurationForm.read(form, of: .group, owners: [], admins: []).members.isEmpty)
  }

  @Test func example159OwnerSubmitsConfigurationForm() throws {
    let form = try DataForm(
      example(
        """
        <x xmlns='jabber:x:data' type='submit'>
          <field var='FORM_TYPE'><value>http://jabber.org/protocol/muc#roomconfig</value></field>
          <field var='muc#roomconfig_roomname'><value>A Dark Cave</value></field>
          <field var='muc#roomconfig_roomdesc'><value>The place for all good witches!</value></field>
          <field var='muc#roomconfig_enablelogging'><value>0</value></field>
          <field var='muc#roomconfig_changesubject'><value>1</value></field>
          <field var='muc#roomconfig_allowinvites'><value>0</value></field>
          <field var='muc#roomconfig_allowpm'><value>anyone</value></field>
          <field var='muc#roomconfig_maxusers'><value>10</value></field>
          <field var='muc#roomconfig_publicroom'><value>0</value></field>
          <field var='muc#roomconfig_persistentroom'><value>0</value></field>
          <field var='muc#roomconfig_moderatedroom'><value>0</value></field>
          <field var='muc#roomconfig_membersonly'><value>0</value></field>
          <field var='muc#roomconfig_passwordprotectedroom'><value>1</value></field>
          <field var='muc#roomconfig_roomsecret'><value>cauldronburn</value></field>
          <field var='muc#roomconfig_whois'><value>moderators</value></field>
          <field var='muc#maxhistoryfetch'><value>50</value></field>
          <field var='muc#roomconfig_roomadmins'>
            <value>wiccarocks@shakespeare.lit</value>
            <value>hecate@shakespeare.lit</value>
          </field>
        </x>
        """))
    var expected = RoomSettings.group
    expected.name = "A Dark Cave"
    expected.about = "The place for all good witches!"
    expected.participantsSetTopic = true
    expected.occupantsMax = 10
    expected.isMembersOnly = false
    expected.password = "cauldronburn"
    expected.showsAddresses = false
    expected.historyMax = 50
    expected.lifetime = .temporary
    #expect(try settings(form) == expected)
    let crone = try bare("crone1@shakespeare.lit")
    #expect(
      try ConfigurationForm.read(form, of: .group, owners: [crone], admins: []).members == [
        MemberDraft(address: try bare("wiccarocks@shakespeare.lit"), affiliation: .admin),
        MemberDraft(address: try bare("hecate@shakespeare.lit"), affiliation: .admin),
      ])
  }

  /// "e.g., because the password for a password-protected room is blank".
  @Test func example161RequestedConfigurationOptionsAreUnacceptable() throws {
    let wanted = ("muc#roomconfig_passwordprotectedroom", ["1"])
    let secret = "muc#roomconfig_roomsecret"
    for form in [
      configuration([wanted]), configuration([wanted, (secret, [])]), configuration([wanted, (secret, [""])]),
    ] { #expect(refusal { _ = try settings(form) } == .notAcceptable) }
    let error = #expect(throws: StanzaError.self) { try settings(configuration([wanted])) }
    #expect(error?.text?.contains(secret) == true)
    #expect(error?.type == .modify)
  }

  @Test func passwords() throws {
    var locked = RoomSettings.group
    locked.password = "cauldronburn"
    func password(_ flag: String?, _ secret: [String]?) throws -> String? {
      let fields =
        (flag.map { [("muc#roomconfig_passwordprotectedroom", [$0])] } ?? [])
        + (secret.map { [("muc#roomconfig_roomsecret", $0)] } ?? [])
      return try settings(configuration(fields), of: locked).password
    }
    // The flag alone keeps the password there is; so does a missing field, and an emptied one removes it.
    #expect(try password("1", nil) == "cauldronburn")
    #expect(try password(nil, nil) == "cauldronburn")
    #expect(try password(nil, [""]) == nil)
    #expect(try password(nil, []) == nil)
    // An empty password beside the flag is refused.
    #expect(refusal { _ = try password("1", [""]) } == .notAcceptable)
    #expect(refusal { _ = try password("1", []) } == .notAcceptable)
    #expect(try password("0", ["cauldronburn"]) == nil)
    #expect(try password("0", nil) == nil)
    #expect(try password("true", ["bubble"]) == "bubble")
    #expect(try password(nil, ["bubble"]) == "bubble")
  }

  /// The server accepts the form that it offers, and nothing changes.
  @Test(arguments: [RoomSettings.Whispers.anyone, .participants, .moderators, .none])
  func theOfferedFormIsAccepted(whispers: RoomSettings.Whispers) throws {
    var room = RoomSettings.open
    room.whispers = whispers
    room.name = "Coven <&> 'co'"
    room.about = "Two\nlines"
    room.language = "de-CH-1996"
    room.password = "p"
    room.occupantsMax = Limits.occupantsMax
    room.history = .sinceJoin
    room.slowModeSeconds = Limits.slowModeSecondsMax
    room.isModerated = true
    room.membersInvite = true
    let (owners, admins) = ([try bare("crone1@shakespeare.lit")], [try bare("hecate@shakespeare.lit")])
    let sent = try element { ConfigurationForm.form(of: room, owners: owners, admins: admins).write(into: &$0) }
    var form = try DataForm(sent)
    form.kind = .submit
    #expect(try settings(form, of: room, owners: owners, admins: admins) == room)
    var other = try settings(form, owners: owners, admins: admins)
    #expect(other.isListed && !other.isMembersOnly && !other.showsAddresses)
    other.metadata = room.metadata
    #expect(other == room)
    #expect(try ConfigurationForm.read(form, of: room, owners: owners, admins: admins).members.isEmpty)
  }

  /// A new setting has a line in the form, or a reason here why it has none.
  @Test func theFormHasEverySetting() throws {
    let owners = [try bare("crone1@shakespeare.lit")]
    var form = ConfigurationForm.form(of: .noDefaults, owners: owners, admins: [], isFederated: true)
    form.kind = .submit
    let read = try settings(form, of: RoomSettings(), owners: owners)
    let onlyOfApps: Set = ["metadata", "membersPin"]
    // XMPP clients set it by the room's vCard (XEP-0486).
    let avatar: Set = ["avatarHash"]
    #expect(read.differences(from: .noDefaults) == onlyOfApps.union(avatar))
  }

  @Test func fieldsOfOtherServersAreRead() throws {
    let invites = "{http://prosody.im/protocol/muc}roomconfig_allowmemberinvites"
    let form = configuration([
      ("muc#roomconfig_historylength", ["20"]), ("muc#roomconfig_defaulthistorymessages", ["10"]), (invites, ["1"]),
      ("muc#roomconfig_allowpm", ["moderator"]), ("{xmpp:prosody.im}muc#allow_modpm", ["1"]),
      ("muc#roomconfig_enablearchiving", ["1"]), ("mam", ["1"]), ("muc#roomconfig_mam", ["1"]),
      ("members_by_default", ["1"]), ("muc#roomconfig_allowvisitorstatus", ["1"]),
    ])
    var room = RoomSettings.open
    room.membersInvite = false
    var expected = room
    expected.historyMax = 20
    expected.membersInvite = true
    expected.whispers = .moderators
    #expect(try settings(form, of: room) == expected)
    let words: [(String, RoomSettings.Whispers)] = [("visitor", .anyone), ("participant", .participants)]
    for (word, whispers) in words {
      #expect(try settings(configuration([("muc#roomconfig_allowpm", [word])]), of: room).whispers == whispers)
    }
    // The most that there is, which a new room has.
    expected = room
    expected.historyMax = nil
    #expect(try settings(configuration([("muc#roomconfig_historylength", ["500"])]), of: room) == expected)
    // The name of the XEP comes first.
    let both = configuration([
      (invites, ["1"]), ("muc#roomconfig_allowinvites", ["0"]), ("muc#roomconfig_historylength", ["20"]),
      ("muc#maxhistoryfetch", ["5"]),
    ])
    expected = room
    expected.historyMax = 5
    #expect(try settings(both, of: room) == expected)
  }

  @Test func emptyFieldsTakeAway() throws {
    var room = RoomSettings.group
    room.name = "A Dark Cave"
    room.about = "The place"
    room.language = "en"
    room.occupantsMax = 5
    room.historyMax = 5
    room.slowModeSeconds = 5
    room.retentionDays = 5
    let form = configuration([
      ("muc#roomconfig_roomname", [""]), ("muc#roomconfig_roomdesc", []), ("muc#roomconfig_lang", [" "]),
      ("muc#roomconfig_maxusers", ["none"]), ("muc#maxhistoryfetch", [""]),
      ("muc#roomconfig_slow_mode_duration", [""]), ("parley#retention", [""]),
      // Without a value these say nothing.
      ("muc#roomconfig_whois", []), ("muc#roomconfig_membersonly", []), ("muc#roomconfig_allowpm", []),
      ("parley#history", []), ("muc#roomconfig_moderatedroom", []),
    ])
    #expect(try settings(form, of: room) == .group)
  }

  @Test(arguments: [
    ("muc#roomconfig_whois", "none"), ("muc#roomconfig_whois", "Anyone"), ("muc#roomconfig_allowpm", "visitors"),
    ("muc#roomconfig_maxusers", "many"), ("muc#roomconfig_maxusers", "0"), ("muc#roomconfig_maxusers", "-1"),
    ("muc#roomconfig_maxusers", "10001"), ("muc#roomconfig_maxusers", "99999999999999999999"),
    ("muc#roomconfig_membersonly", "yes"), ("muc#roomconfig_publicroom", ""), ("muc#roomconfig_persistentroom", "2"),
    ("muc#roomconfig_slow_mode_duration", "-1"), ("muc#roomconfig_slow_mode_duration", "86401"),
    ("muc#roomconfig_slow_mode_duration", "1.5"), ("parley#history", "none"), ("muc#roomconfig_lang", "en_US"),
    ("muc#roomconfig_lang", "en--US"), ("muc#roomconfig_lang", "englishlanguage"),
    ("muc#roomconfig_lang", "aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-e"), ("muc#maxhistoryfetch", "101"),
    ("muc#maxhistoryfetch", "-1"), ("parley#retention", "0"), ("parley#retention", "36501"),
    ("parley#retention", "1.5"),
    ("muc#roomconfig_enablelogging", "1"), ("muc#roomconfig_getmemberlist", "moderator"),
    ("muc#roomconfig_presencebroadcast", "moderator"), ("muc#roomconfig_pubsub", "xmpp:pubsub.localhost?;node=coven"),
    // Of Prosody and ejabberd.
    ("muc#roomconfig_historylength", "-1"), ("muc#roomconfig_historylength", "many"),
    ("{http://prosody.im/protocol/muc}roomconfig_allowmemberinvites", "yes"), ("muc#roomconfig_allowpm", "affiliated"),
    ("muc#roomconfig_enablearchiving", "0"), ("mam", "false"), ("muc#roomconfig_mam", "0"),
  ])
  func wrongValuesAreRefused(field: String, value: String) {
    let error = #expect(throws: StanzaError.self) { try settings(configuration([(field, [value])])) }
    #expect(error?.condition == .notAcceptable)
    #expect(error?.text?.contains(field) == true)
  }

  /// XEP-0004 3.2. Whichever value was taken, the other one would be lost.
  @Test(arguments: [
    "muc#roomconfig_roomname", "muc#roomconfig_roomdesc", "muc#roomconfig_lang", "muc#roomconfig_roomsecret",
    "muc#roomconfig_whois", "muc#roomconfig_allowpm", "muc#roomconfig_maxusers", "muc#roomconfig_membersonly",
    "muc#roomconfig_slow_mode_duration", "muc#maxhistoryfetch", "parley#history", "parley#retention",
    "muc#roomconfig_enablelogging",
  ])
  func severalValuesWhereOneIsMeantAreRefused(field: String) {
    let error = #expect(throws: StanzaError.self) { try settings(configuration([(field, ["1", "1"])])) }
    #expect(error?.condition == .notAcceptable)
    #expect(error?.text?.contains(field) == true)
  }

  @Test(arguments: [
    ("muc#roomconfig_roomname", Limits.displayNameBytesMax),
    ("muc#roomconfig_roomdesc", Limits.statusBytesMax),
    ("muc#roomconfig_roomsecret", Limits.passwordBytesMax),
  ])
  func bounds(field: String, bytesMax: Int) throws {
    func condition(_ count: Int) -> StanzaError.Condition? {
      refusal { _ = try settings(configuration([(field, [String(repeating: "x", count: count)])])) }
    }
    #expect(condition(bytesMax) == nil)
    #expect(condition(bytesMax + 1) == .notAcceptable)
  }

  @Test func otherFormsAreRefused() {
    let form = DataForm(.submit, formType: "\(NS.mucRegister)")
    #expect(refusal { _ = try settings(form) } == .badRequest)
    // Unknown fields are ignored.
    #expect(refusal { _ = try settings(configuration([("muc#roomconfig_ldap", ["x"]), ("", ["y"])])) } == nil)
  }

  // MARK: People

  private func changes(
    owners: [String]? = nil, admins: [String]? = nil, wereOwners: [String] = ["crone1@shakespeare.lit"],
    wereAdmins: [String] = []
  ) throws -> [String: Affiliation] {
    let fields =
      (owners.map { [("muc#roomconfig_roomowners", $0)] } ?? [])
      + (admins.map { [("muc#roomconfig_roomadmins", $0)] } ?? [])
    let drafts = try ConfigurationForm.read(
      configuration(fields), of: .group, owners: wereOwners.map(bare), admins: wereAdmins.map(bare)
    ).members
    #expect(Set(drafts.map(\.address)).count == drafts.count)
    return drafts.reduce(into: [:]) { $0[$1.address.description] = $1.affiliation }
  }

  @Test func example167LossOfAdminAffiliation() throws {
    let were = ["wiccarocks@shakespeare.lit", "hecate@shakespeare.lit"]
    #expect(
      try changes(admins: ["hecate@shakespeare.lit"], wereAdmins: were) == ["wiccarocks@shakespeare.lit": .member])
    // An empty value is an empty list.
    #expect(
      try changes(admins: [""], wereAdmins: were)
        == ["wiccarocks@shakespeare.lit": .member, "hecate@shakespeare.lit": .member])
    #expect(try changes(wereAdmins: were) == [:])
  }

  @Test func example168GainOfAdminAffiliation() throws {
    #expect(
      try changes(admins: ["Wiccarocks@Shakespeare.lit/laptop", "wiccarocks@shakespeare.lit"])
        == ["wiccarocks@shakespeare.lit": .admin])
    // An owner among the admins stays owner.
    #expect(try changes(admins: ["crone1@shakespeare.lit"]) == [:])
    #expect(try changes(owners: ["crone1@shakespeare.lit"], admins: ["crone1@shakespeare.lit"]) == [:])
  }

  @Test func example169LossOfOwnerAffiliation() throws {
    let were = ["crone1@shakespeare.lit", "wiccarocks@shakespeare.lit"]
    let expected: [String: Affiliation] = ["wiccarocks@shakespeare.lit": .admin]
    #expect(try changes(owners: ["crone1@shakespeare.lit"], wereOwners: were) == expected)
    #expect(try changes(owners: ["crone1@shakespeare.lit"], admins: [], wereOwners: were) == expected)
    #expect(
      try changes(owners: ["crone1@shakespeare.lit"], admins: ["wiccarocks@shakespeare.lit"], wereOwners: were)
        == expected)
    // 10.2: at least one owner stays.
    #expect(refusal { _ = try changes(owners: []) } == .conflict)
    #expect(refusal { _ = try changes(owners: [""]) } == .conflict)
  }

  @Test func example170GainOfOwnerAffiliation() throws {
    #expect(
      try changes(
        owners: ["crone1@shakespeare.lit", "wiccarocks@shakespeare.lit"], admins: [],
        wereAdmins: ["wiccarocks@shakespeare.lit"]) == ["wiccarocks@shakespeare.lit": .owner])
    // The room is handed over.
    #expect(
      try changes(owners: ["wiccarocks@shakespeare.lit"])
        == ["wiccarocks@shakespeare.lit": .owner, "crone1@shakespeare.lit": .admin])
  }

  @Test func hostileLists() {
    #expect(refusal { _ = try changes(owners: ["@"]) } == .jidMalformed)
    #expect(refusal { _ = try changes(admins: ["crone1@shakespeare.lit", "a b@c@d"]) } == .jidMalformed)
    let many = (0...Limits.memberChangesMax).map { "witch\($0)@shakespeare.lit" }
    #expect(refusal { _ = try changes(admins: many) } == .policyViolation)
    #expect(refusal { _ = try changes(admins: Array(many.dropLast())) } == nil)
    // A user who is an admin already does not count.
    #expect(refusal { _ = try changes(admins: many, wereAdmins: many) } == nil)
  }
}
