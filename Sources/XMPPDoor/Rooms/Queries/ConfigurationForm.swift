import Addresses
import Dialogs
import XMPP

/// The configuration of a room as a form for its owners (XEP-0045 10.1.3, 10.2, 16.5.3; slow mode: XEP-0500 5.1).
///
/// Fields that this server does not support are left out, and refused where they ask for something: public logs, hiding
/// the presence of some roles, a publish-subscribe node. The affiliation and `whois` decide who may see the member list
/// (5.2.1).
///
/// Clients that were written for other servers send the fields of these without a look at the form. Those of Prosody and
/// ejabberd that mean a setting of this server are read as well, and none of them is offered.
enum ConfigurationForm {
  enum Key {
    /// Parley's own field: whether users of other servers may enter.
    static let acceptsRemote = "parley#acceptremote"
    /// Parley's own field: the days after which messages go. No XEP has a field for it.
    static let retention = "parley#retention"
    static let hasPassword = "muc#roomconfig_passwordprotectedroom"
    static let password = "muc#roomconfig_roomsecret"
    static let occupantsMax = "muc#roomconfig_maxusers"
    static let historyMax = "muc#maxhistoryfetch"
    /// Prosody's name of `historyMax`.
    static let historyLength = "muc#roomconfig_historylength"
    static let admins = "muc#roomconfig_roomadmins"
    static let owners = "muc#roomconfig_roomowners"
    // Not in the form.
    static let publicLog = "muc#roomconfig_enablelogging"
    static let broadcast = "muc#roomconfig_presencebroadcast"
    static let listReaders = "muc#roomconfig_getmemberlist"
    static let node = "muc#roomconfig_pubsub"
    /// Whether the room has an archive: the names of Prosody, ejabberd, and ejabberd's hosting.
    static let archives = ["muc#roomconfig_enablearchiving", "mam", "muc#roomconfig_mam"]
  }

  // MARK: Settings

  typealias Field = FormField<RoomSettings>

  /// The settings that the form has, in its order: a setting is a line here, or, if it has rules of its own, a constant
  /// below.
  static let settings: [Field] = [
    .text("muc#roomconfig_roomname", \.name, label: "Name", bytesMax: Limits.displayNameBytesMax),
    .text("muc#roomconfig_roomdesc", \.about, label: "Description", bytesMax: Limits.statusBytesMax),
    // A tag in the form of RFC 5646 2.1 need not be registered.
    .text(
      "muc#roomconfig_lang", \.language, label: "Language", bytesMax: XMPPLimits.languageBytesMax,
      fault: { LanguageTag.isWellFormed($0) ? nil : "is no language tag (RFC 5646)" }),
    .flag("muc#roomconfig_publicroom", \.isListed, label: "Anybody may find the room"),
    .flag("muc#roomconfig_persistentroom", \.isPersistent, label: "The room stays when everybody has left"),
    .flag("muc#roomconfig_membersonly", \.isMembersOnly, label: "Only members may enter"),
    .flag("muc#roomconfig_moderatedroom", \.isModerated, label: "Only those with voice may write"),
    // Parley's own: XEP-0045 has no field that takes the voice from members.
    .flag("parley#readonly", \.isReadOnly, label: "Only admins may write"),
    password,
    whois,
    occupantsMax,
    whispers,
    .flag(
      "muc#roomconfig_allowinvites", \.membersInvite, label: "Members may invite",
      // Prosody's name.
      alias: "{http://prosody.im/protocol/muc}roomconfig_allowmemberinvites"),
    .flag("muc#roomconfig_changesubject", \.participantsSetTopic, label: "Those with voice may set the subject"),
    .number(
      "muc#roomconfig_slow_mode_duration", \.slowModeSeconds, in: 0...Limits.slowModeSecondsMax, label: "Slow mode",
      description: "Seconds between two messages of one person; 0: none."),
    historyMax,
    history,
    // Whether the operators allow so many days, the core knows.
    .optionalNumber(
      Key.retention, \.retentionDays, in: 1...Limits.retentionDaysMax, label: "Messages go after",
      description: "Days; empty: as long as the server keeps them."),
    .flag(Key.acceptsRemote, \.acceptsRemote, label: "Users of other servers may enter"),
  ]

  /// The flag decides where it is given. Without it, the field of the password does: the form shows the password, so
  /// that an emptied field removes it.
  private static let password = Field(
    offer: { settings in
      [
        DataForm.Field(Key.hasPassword, settings.password != nil, label: "Entering takes a password"),
        DataForm.Field(Key.password, .textPrivate, label: "Password", values: settings.password.map { [$0] } ?? []),
      ]
    },
    read: { (form, present) throws(StanzaError) in
      let isWanted = try form.boolean(Key.hasPassword)
      if isWanted == false { return { settings in settings.password = nil } }
      guard let value = try form.single(Key.password), !value.isEmpty else {
        let isEmptied = form[Key.password] != nil
        if isWanted == nil, isEmptied { return { settings in settings.password = nil } }
        if isWanted == nil || (present.password != nil && !isEmptied) { return nil }
        throw StanzaError(field: Key.password, "is empty, and the room is to have a password")
      }
      guard value.utf8.count <= Limits.passwordBytesMax else {
        throw StanzaError(field: Key.password, "has more than \(Limits.passwordBytesMax) bytes")
      }
      return { settings in settings.password = value }
    })

  private static let whois = Field.choice(
    "muc#roomconfig_whois", \.showsAddresses, [(false, "moderators", "Moderators"), (true, "anyone", "Everybody")],
    label: "Who sees the addresses of people",
    // "none" was a fully anonymous room, which no longer exists (10.1.3).
    fault: "is neither 'anyone' nor 'moderators'")

  /// The numbers offered are examples; any up to `Limits.occupantsMax` is accepted.
  private static let occupantsMax = Field(
    offer: { settings in
      var numbers = [10, 20, 30, 50, 100, 200, 500, 1_000]
      if let current = settings.occupantsMax, !numbers.contains(current) { numbers.append(current) }
      let options = numbers.sorted().map { DataForm.Option("\($0)", label: "\($0)") }
      return [
        DataForm.Field(
          Key.occupantsMax, .listSingle, label: "Most people in the room at once",
          values: [settings.occupantsMax.map { "\($0)" } ?? "none"],
          options: options + [DataForm.Option("none", label: "No limit")])
      ]
    },
    read: { (form, _) throws(StanzaError) in
      guard form[Key.occupantsMax] != nil else { return nil }
      guard let value = try form.single(Key.occupantsMax), !value.isEmpty, value != "none" else {
        return { settings in settings.occupantsMax = nil }
      }
      guard let number = try form.integer(Key.occupantsMax), (1...Limits.occupantsMax).contains(number) else {
        throw StanzaError(
          field: Key.occupantsMax, "is neither 'none' nor a number from 1 to \(Limits.occupantsMax)")
      }
      return { settings in settings.occupantsMax = number }
    })

  /// The words of 16.5.3 or, one role each, of Prosody.
  private static let whispers = Field.choice(
    "muc#roomconfig_allowpm", \.whispers,
    [
      (RoomSettings.Whispers.anyone, text(.anyone), "Everybody"),
      (.participants, text(.participants), "Those with voice"), (.moderators, text(.moderators), "Moderators"),
      (.none, text(.none), "Nobody"),
    ],
    aliases: ["visitor": .anyone, "participant": .participants, "moderator": .moderators],
    label: "Who may write to one person in the room",
    fault: "is none of 'anyone', 'participants', 'moderators', 'none'")

  private static let historyMax = Field(
    offer: { settings in
      [
        DataForm.Field(
          Key.historyMax, .textSingle, label: "Most messages of history",
          values: ["\(settings.historyMax ?? DoorLimits.historyMax)"],
          range: DataForm.WholeNumbers(0...DoorLimits.historyMax))
      ]
    },
    read: { (form, _) throws(StanzaError) in
      guard let key = [Key.historyMax, Key.historyLength].first(where: { form[$0] != nil }) else { return nil }
      guard var number = try form.integer(key) else { return { settings in settings.historyMax = nil } }
      // Clients send this one without a look at the form, and Prosody takes its own maximum instead.
      if key == Key.historyLength { number = min(number, DoorLimits.historyMax) }
      guard (0...DoorLimits.historyMax).contains(number) else {
        throw StanzaError(field: key, "is no number from 0 to \(DoorLimits.historyMax)")
      }
      let most = number == DoorLimits.historyMax ? nil : number
      return { settings in settings.historyMax = most }
    })

  /// Parley's own field: the history that new members may see. XEP-0045 has none for it.
  private static let history = Field.choice(
    "parley#history", \.history,
    [
      (RoomSettings.HistoryVisibility.all, "all", "Everything"),
      (.sinceJoin, "since-join", "What was said since they are members"),
    ],
    label: "What new members may read", fault: "is neither 'all' nor 'since-join'")

  static func text(_ whispers: RoomSettings.Whispers) -> String {
    switch whispers {
    case .anyone: "anyone"
    case .participants: "participants"
    case .moderators: "moderators"
    case .none: "none"
    }
  }

  // MARK: Offering

  /// Returns the form with the present settings (10.2). Owners see the password.
  ///
  /// - Parameters:
  ///   - owners: all of them; the field holds the full list, not a change (10.5).
  ///   - admins: all of them (10.8).
  ///   - isFederated: whether this server communicates with others.
  static func form(
    of settings: RoomSettings, owners: [BareJID], admins: [BareJID], isFederated: Bool = false
  ) -> DataForm {
    DataForm(
      .form, formType: "\(NS.mucRoomConfig)", title: settings.name.map { "Configuration of \($0)" } ?? "Configuration",
      instructions: ["What you leave out stays as it is."],
      fields: self.settings.flatMap { $0.offer(settings) }.filter { isFederated || $0.name != Key.acceptsRemote } + [
        DataForm.Field(Key.admins, .jidMulti, label: "Admins", values: admins.map(\.description)),
        DataForm.Field(Key.owners, .jidMulti, label: "Owners", values: owners.map(\.description)),
      ])
  }

  // MARK: Reading

  /// Returns the changes in a filled-in form. A missing field, or one without a value that needs one, changes nothing;
  /// an emptied text is removed. Other unknown fields are ignored (XEP-0004 3.2). An empty form accepts the room as it
  /// is (10.1.2), a new one as a temporary one.
  ///
  /// The lists of people become changes: an owner who is no longer named becomes admin, an admin member (10.2: "admin";
  /// "member" or "none", of which the former does not remove them from a members-only room). An owner among the admins
  /// stays owner.
  ///
  /// - Parameters:
  ///   - settings: the present ones, to know whether there is a password.
  ///   - owners: the present ones.
  ///   - admins: the present ones.
  /// - Throws: `bad-request` for a form of another type; `not-acceptable` (10.1.3) for an invalid value, several in a field
  ///   that has one, a value beyond its bound, an option that is not to be had, or a missing password; `jid-malformed` for
  ///   an invalid address; `conflict` (10.2, 10.5) for a list without owners; `policy-violation` for more than
  ///   `Limits.memberChangesMax` people.
  static func read(
    _ form: DataForm, of settings: RoomSettings, owners: [BareJID], admins: [BareJID]
  ) throws(StanzaError) -> SettingsDraft {
    if let type = form.formType, type != "\(NS.mucRoomConfig)" {
      throw StanzaError(.badRequest, "the form is no configuration of a room")
    }
    try checkUnsupported(form)
    var changes: [Field.Change] = []
    for field in self.settings {
      if let change = try field.read(form, settings) { changes.append(change) }
    }
    let members = try people(form, owners: owners, admins: admins)
    return SettingsDraft(members: members) { [changes] settings in
      for change in changes { change(&settings) }
    }
  }

  /// Refuses the options of 16.5.3 that are not in the form, where they ask for what no room here does.
  private static func checkUnsupported(_ form: DataForm) throws(StanzaError) {
    if try form.boolean(Key.publicLog) == true {
      throw StanzaError(field: Key.publicLog, "is set, and there are no public logs")
    }
    for key in Key.archives {
      if try form.boolean(key) == false { throw StanzaError(field: key, "is not set, and every room has an archive") }
    }
    if let roles = form[Key.broadcast]?.values, !Set(roles).isSuperset(of: ["moderator", "participant", "visitor"]) {
      throw StanzaError(field: Key.broadcast, "leaves out a role, and everybody's presence is shown")
    }
    for key in [Key.listReaders, Key.node] where form[key]?.values.contains(where: { !$0.isEmpty }) == true {
      throw StanzaError(field: key, "is not supported")
    }
  }

  // MARK: People

  private static func people(
    _ form: DataForm, owners: [BareJID], admins: [BareJID]
  ) throws(StanzaError) -> [MemberDraft] {
    let namedOwners = try addresses(form, Key.owners)
    let namedAdmins = try addresses(form, Key.admins)
    if let namedOwners, namedOwners.isEmpty {
      throw StanzaError(.conflict, "the field '\(Key.owners)' is empty, and a room has at least one owner")
    }
    var drafts: [MemberDraft] = []
    let (oldOwners, oldAdmins) = (Set(owners), Set(admins))
    let newOwners = namedOwners.map { Set($0) } ?? oldOwners
    for address in namedOwners ?? [] where !oldOwners.contains(address) {
      drafts.append(MemberDraft(address: address, affiliation: .owner))
    }
    for address in owners where !newOwners.contains(address) {
      drafts.append(MemberDraft(address: address, affiliation: .admin))
    }
    if let namedAdmins {
      for address in namedAdmins
      where !oldAdmins.contains(address) && !oldOwners.contains(address) && !newOwners.contains(address) {
        drafts.append(MemberDraft(address: address, affiliation: .admin))
      }
      let newAdmins = Set(namedAdmins)
      for address in admins where !newAdmins.contains(address) && !newOwners.contains(address) {
        drafts.append(MemberDraft(address: address, affiliation: .member))
      }
    }
    guard drafts.count <= Limits.memberChangesMax else {
      throw StanzaError(.policyViolation, "one form changes at most \(Limits.memberChangesMax) people")
    }
    return drafts
  }

  /// Returns the addresses in a field; `nil` if it is missing. Full addresses count as bare ones (10.5); clients send
  /// an empty value for an empty list.
  private static func addresses(_ form: DataForm, _ key: String) throws(StanzaError) -> [BareJID]? {
    guard let field = form[key] else { return nil }
    var seen: Set<BareJID> = []
    var list: [BareJID] = []
    for text in field.values where !text.allSatisfy(\.isWhitespace) {
      guard let jid = JID(parsing: text) else {
        throw StanzaError(.jidMalformed, "the field '\(key)' holds no address")
      }
      if seen.insert(jid.bare).inserted { list.append(jid.bare) }
    }
    return list
  }
}
