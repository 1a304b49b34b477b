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
    static let name = "muc#roomconfig_roomname"
    static let about = "muc#roomconfig_roomdesc"
    static let language = "muc#roomconfig_lang"
    static let isPublic = "muc#roomconfig_publicroom"
    static let isPersistent = "muc#roomconfig_persistentroom"
    static let isMembersOnly = "muc#roomconfig_membersonly"
    static let isModerated = "muc#roomconfig_moderatedroom"
    static let hasPassword = "muc#roomconfig_passwordprotectedroom"
    static let password = "muc#roomconfig_roomsecret"
    static let whois = "muc#roomconfig_whois"
    static let occupantsMax = "muc#roomconfig_maxusers"
    static let whispers = "muc#roomconfig_allowpm"
    static let membersInvite = "muc#roomconfig_allowinvites"
    static let changeSubject = "muc#roomconfig_changesubject"
    static let slowMode = "muc#roomconfig_slow_mode_duration"
    static let historyMax = "muc#maxhistoryfetch"
    /// Parley's own field: the history that new members may see. XEP-0045 has none for it.
    static let history = "parley#history"
    /// Parley's own field as well: whether users of other servers may enter.
    static let acceptsRemote = "parley#acceptremote"
    /// Parley's own, too: the days after which messages go. No XEP has a field for it.
    static let retention = "parley#retention"
    static let admins = "muc#roomconfig_roomadmins"
    static let owners = "muc#roomconfig_roomowners"
    // Not in the form.
    static let publicLog = "muc#roomconfig_enablelogging"
    static let broadcast = "muc#roomconfig_presencebroadcast"
    static let listReaders = "muc#roomconfig_getmemberlist"
    static let node = "muc#roomconfig_pubsub"
    /// Prosody's name of `historyMax`.
    static let historyLength = "muc#roomconfig_historylength"
    /// Prosody's name of `membersInvite`.
    static let memberInvites = "{http://prosody.im/protocol/muc}roomconfig_allowmemberinvites"
    /// Whether the room has an archive: the names of Prosody, ejabberd, and ejabberd's hosting.
    static let archives = ["muc#roomconfig_enablearchiving", "mam", "muc#roomconfig_mam"]
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
    let remote = DataForm.Field(
      Key.acceptsRemote, settings.acceptsRemote, label: "Users of other servers may enter")
    return DataForm(
      .form, formType: "\(NS.mucRoomConfig)", title: settings.name.map { "Configuration of \($0)" } ?? "Configuration",
      instructions: ["What you leave out stays as it is."],
      fields: [
        text(Key.name, settings.name, label: "Name"),
        text(Key.about, settings.about, label: "Description"),
        text(Key.language, settings.language, label: "Language"),
        DataForm.Field(Key.isPublic, settings.isListed, label: "Anybody may find the room"),
        DataForm.Field(Key.isPersistent, settings.isPersistent, label: "The room stays when everybody has left"),
        DataForm.Field(Key.isMembersOnly, settings.isMembersOnly, label: "Only members may enter"),
        DataForm.Field(Key.isModerated, settings.isModerated, label: "Only those with voice may write"),
        DataForm.Field(Key.hasPassword, settings.password != nil, label: "Entering takes a password"),
        DataForm.Field(
          Key.password, .textPrivate, label: "Password", values: settings.password.map { [$0] } ?? []),
        list(
          Key.whois, settings.showsAddresses ? "anyone" : "moderators",
          [("moderators", "Moderators"), ("anyone", "Everybody")], label: "Who sees the addresses of people"),
        occupants(settings.occupantsMax),
        list(
          Key.whispers, text(settings.whispers),
          [
            ("anyone", "Everybody"), ("participants", "Those with voice"), ("moderators", "Moderators"),
            ("none", "Nobody"),
          ], label: "Who may write to one person in the room"),
        DataForm.Field(Key.membersInvite, settings.membersInvite, label: "Members may invite"),
        DataForm.Field(Key.changeSubject, settings.participantsSetTopic, label: "Those with voice may set the subject"),
        DataForm.Field(
          Key.slowMode, .textSingle, label: "Slow mode",
          description: "Seconds between two messages of one person; 0: none.", values: ["\(settings.slowModeSeconds)"],
          range: DataForm.WholeNumbers(0...Limits.slowModeSecondsMax)),
        DataForm.Field(
          Key.historyMax, .textSingle, label: "Most messages of history",
          values: ["\(settings.historyMax ?? DoorLimits.historyMax)"],
          range: DataForm.WholeNumbers(0...DoorLimits.historyMax)),
        list(
          Key.history, text(settings.history),
          [("all", "Everything"), ("since-join", "What was said since they are members")],
          label: "What new members may read"),
        DataForm.Field(
          Key.retention, .textSingle, label: "Messages go after",
          description: "Days; empty: as long as the server keeps them.",
          values: settings.retentionDays.map { ["\($0)"] } ?? [],
          range: DataForm.WholeNumbers(1...Limits.retentionDaysMax)),
      ] + (isFederated ? [remote] : []) + [
        DataForm.Field(Key.admins, .jidMulti, label: "Admins", values: admins.map(\.description)),
        DataForm.Field(Key.owners, .jidMulti, label: "Owners", values: owners.map(\.description)),
      ])
  }

  private static func text(_ key: String, _ value: String?, label: String) -> DataForm.Field {
    DataForm.Field(key, .textSingle, label: label, values: value.map { [$0] } ?? [])
  }

  private static func list(
    _ key: String, _ value: String, _ options: [(value: String, label: String)], label: String
  ) -> DataForm.Field {
    DataForm.Field(
      key, .listSingle, label: label, values: [value],
      options: options.map { DataForm.Option($0.value, label: $0.label) })
  }

  /// Returns the field for the most occupants. The numbers offered are examples; any up to `Limits.occupantsMax` is
  /// accepted.
  private static func occupants(_ current: Int?) -> DataForm.Field {
    var numbers = [10, 20, 30, 50, 100, 200, 500, 1_000]
    if let current, !numbers.contains(current) { numbers.append(current) }
    let options = numbers.sorted().map { (value: "\($0)", label: "\($0)") } + [(value: "none", label: "No limit")]
    return list(Key.occupantsMax, current.map { "\($0)" } ?? "none", options, label: "Most people in the room at once")
  }

  static func text(_ whispers: RoomSettings.Whispers) -> String {
    switch whispers {
    case .anyone: "anyone"
    case .participants: "participants"
    case .moderators: "moderators"
    case .none: "none"
    }
  }

  private static func text(_ history: RoomSettings.HistoryVisibility) -> String {
    switch history {
    case .all: "all"
    case .sinceJoin: "since-join"
    }
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
    let wishes = Wishes(
      name: try text(form, Key.name, bytesMax: Limits.displayNameBytesMax),
      about: try text(form, Key.about, bytesMax: Limits.statusBytesMax),
      language: try language(form), isListed: try form.boolean(Key.isPublic),
      isPersistent: try form.boolean(Key.isPersistent),
      isMembersOnly: try form.boolean(Key.isMembersOnly), isModerated: try form.boolean(Key.isModerated),
      password: try password(form, hasOne: settings.password != nil), showsAddresses: try showsAddresses(form),
      occupantsMax: try occupantsMax(form), whispers: try whispers(form),
      membersInvite: try membersInvite(form), participantsSetTopic: try form.boolean(Key.changeSubject),
      history: try history(form), historyMax: try historyMax(form), slowModeSeconds: try slowMode(form),
      acceptsRemote: try form.boolean(Key.acceptsRemote), retentionDays: try retention(form))
    let members = try people(form, owners: owners, admins: admins)
    return SettingsDraft(members: members) { wishes.apply(to: &$0) }
  }

  /// The changes that a form asks for; `nil` leaves a setting unchanged.
  private struct Wishes: Sendable {
    let name: String??
    let about: String??
    let language: String??
    let isListed: Bool?
    let isPersistent: Bool?
    let isMembersOnly: Bool?
    let isModerated: Bool?
    let password: String??
    let showsAddresses: Bool?
    let occupantsMax: Int??
    let whispers: RoomSettings.Whispers?
    let membersInvite: Bool?
    let participantsSetTopic: Bool?
    let history: RoomSettings.HistoryVisibility?
    let historyMax: Int??
    let slowModeSeconds: Int?
    let acceptsRemote: Bool?
    let retentionDays: Int??

    func apply(to settings: inout RoomSettings) {
      if let name { settings.name = name }
      if let about { settings.about = about }
      if let language { settings.language = language }
      if let isListed { settings.isListed = isListed }
      if let isPersistent { settings.setPersistent(isPersistent) }
      if let isMembersOnly { settings.isMembersOnly = isMembersOnly }
      if let isModerated { settings.isModerated = isModerated }
      if let password { settings.password = password }
      if let showsAddresses { settings.showsAddresses = showsAddresses }
      if let occupantsMax { settings.occupantsMax = occupantsMax }
      if let whispers { settings.whispers = whispers }
      if let membersInvite { settings.membersInvite = membersInvite }
      if let participantsSetTopic { settings.participantsSetTopic = participantsSetTopic }
      if let history { settings.history = history }
      if let historyMax { settings.historyMax = historyMax }
      if let slowModeSeconds { settings.slowModeSeconds = slowModeSeconds }
      if let acceptsRemote { settings.acceptsRemote = acceptsRemote }
      if let retentionDays { settings.retentionDays = retentionDays }
    }
  }

  /// Refuses the options of 16.5.3 that are not in the form, where they ask for what no room here does.
  private static func checkUnsupported(_ form: DataForm) throws(StanzaError) {
    if try form.boolean(Key.publicLog) == true {
      throw unacceptable(Key.publicLog, "is set, and there are no public logs")
    }
    for key in Key.archives {
      if try form.boolean(key) == false { throw unacceptable(key, "is not set, and every room has an archive") }
    }
    if let roles = form[Key.broadcast]?.values, !Set(roles).isSuperset(of: ["moderator", "participant", "visitor"]) {
      throw unacceptable(Key.broadcast, "leaves out a role, and everybody's presence is shown")
    }
    for key in [Key.listReaders, Key.node] where form[key]?.values.contains(where: { !$0.isEmpty }) == true {
      throw unacceptable(key, "is not supported")
    }
  }

  /// Returns the text of a field; `.some(nil)` removes the setting.
  private static func text(_ form: DataForm, _ key: String, bytesMax: Int) throws(StanzaError) -> String?? {
    guard form[key] != nil else { return nil }
    guard let value = try form.single(key), !value.allSatisfy(\.isWhitespace) else { return .some(nil) }
    guard value.utf8.count <= bytesMax else { throw unacceptable(key, "has more than \(bytesMax) bytes") }
    return value
  }

  /// Returns a language tag in the form of RFC 5646 2.1; it need not be registered.
  private static func language(_ form: DataForm) throws(StanzaError) -> String?? {
    guard let value = try text(form, Key.language, bytesMax: XMPPLimits.languageBytesMax) else { return nil }
    guard let value else { return .some(nil) }
    guard LanguageTag.isWellFormed(value) else { throw unacceptable(Key.language, "is no language tag (RFC 5646)") }
    return value
  }

  /// Returns the password. The flag decides where it is given. Without it, the field does: the form shows the password,
  /// so that an emptied field removes it.
  private static func password(_ form: DataForm, hasOne: Bool) throws(StanzaError) -> String?? {
    let isWanted = try form.boolean(Key.hasPassword)
    if isWanted == false { return .some(nil) }
    guard let value = try form.single(Key.password), !value.isEmpty else {
      let isEmptied = form[Key.password] != nil
      if isWanted == nil { return isEmptied ? .some(nil) : nil }
      if hasOne, !isEmptied { return nil }
      throw unacceptable(Key.password, "is empty, and the room is to have a password")
    }
    guard value.utf8.count <= Limits.passwordBytesMax else {
      throw unacceptable(Key.password, "has more than \(Limits.passwordBytesMax) bytes")
    }
    return value
  }

  private static func showsAddresses(_ form: DataForm) throws(StanzaError) -> Bool? {
    switch try form.single(Key.whois) {
    case nil: return nil
    case "anyone": return true
    case "moderators": return false
    // "none" was a fully anonymous room, which no longer exists (10.1.3).
    default: throw unacceptable(Key.whois, "is neither 'anyone' nor 'moderators'")
    }
  }

  private static func occupantsMax(_ form: DataForm) throws(StanzaError) -> Int?? {
    guard form[Key.occupantsMax] != nil else { return nil }
    guard let value = try form.single(Key.occupantsMax), !value.isEmpty, value != "none" else { return .some(nil) }
    guard let number = try form.integer(Key.occupantsMax), (1...Limits.occupantsMax).contains(number) else {
      throw unacceptable(Key.occupantsMax, "is neither 'none' nor a number from 1 to \(Limits.occupantsMax)")
    }
    return number
  }

  private static func membersInvite(_ form: DataForm) throws(StanzaError) -> Bool? {
    if let value = try form.boolean(Key.membersInvite) { return value }
    return try form.boolean(Key.memberInvites)
  }

  /// Returns who may send private messages, in the words of 16.5.3 or, one role each, of Prosody.
  private static func whispers(_ form: DataForm) throws(StanzaError) -> RoomSettings.Whispers? {
    switch try form.single(Key.whispers) {
    case nil: return nil
    case "anyone", "visitor": return .anyone
    case "participants", "participant": return .participants
    case "moderators", "moderator": return .moderators
    case "none": return RoomSettings.Whispers.none
    default: throw unacceptable(Key.whispers, "is none of 'anyone', 'participants', 'moderators', 'none'")
    }
  }

  private static func history(_ form: DataForm) throws(StanzaError) -> RoomSettings.HistoryVisibility? {
    switch try form.single(Key.history) {
    case nil: return nil
    case "all": return .all
    case "since-join": return .sinceJoin
    default: throw unacceptable(Key.history, "is neither 'all' nor 'since-join'")
    }
  }

  private static func slowMode(_ form: DataForm) throws(StanzaError) -> Int? {
    guard form[Key.slowMode] != nil else { return nil }
    let number = try form.integer(Key.slowMode) ?? 0
    guard (0...Limits.slowModeSecondsMax).contains(number) else {
      throw unacceptable(Key.slowMode, "is no number from 0 to \(Limits.slowModeSecondsMax)")
    }
    return number
  }

  private static func historyMax(_ form: DataForm) throws(StanzaError) -> Int?? {
    guard let key = [Key.historyMax, Key.historyLength].first(where: { form[$0] != nil }) else { return nil }
    guard var number = try form.integer(key) else { return .some(nil) }
    // Clients send this one without a look at the form, and Prosody takes its own maximum instead.
    if key == Key.historyLength { number = min(number, DoorLimits.historyMax) }
    guard (0...DoorLimits.historyMax).contains(number) else {
      throw unacceptable(key, "is no number from 0 to \(DoorLimits.historyMax)")
    }
    return .some(number == DoorLimits.historyMax ? nil : number)
  }

  /// Returns the days after which messages go; whether the operators allow so many, the core knows.
  private static func retention(_ form: DataForm) throws(StanzaError) -> Int?? {
    guard form[Key.retention] != nil else { return nil }
    guard let number = try form.integer(Key.retention) else { return .some(nil) }
    guard (1...Limits.retentionDaysMax).contains(number) else {
      throw unacceptable(Key.retention, "is neither empty nor a number from 1 to \(Limits.retentionDaysMax)")
    }
    return .some(number)
  }

  private static func unacceptable(_ key: String, _ fault: String) -> StanzaError {
    StanzaError(.notAcceptable, "the field '\(key)' \(fault)")
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
