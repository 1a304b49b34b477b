import Addresses
import Dialogs
import XMPP

/// The disco#info of a room (XEP-0045 6.4, 16.3, 16.5.4; slow mode: XEP-0500 5.2; avatar: XEP-0486 3.3).
enum RoomInfo {
  /// Returns the identity, the features and the form of room information.
  ///
  /// - Parameters:
  ///   - occupants: the number of people in the room.
  ///   - isMember: whether the viewer is a member. Others see neither the topic of a closed room nor any room's owners.
  ///   - owners: the people to contact about the room, shown to members.
  ///   - activity: messages per hour.
  ///   - features: the features of other protocols; each is listed once.
  static func capabilities(
    of room: Room, occupants: Int, isMember: Bool, owners: [BareJID], activity: Double? = nil, features: [String] = []
  ) -> Capabilities {
    var seen: Set<String> = []
    return Capabilities(
      identities: [Capabilities.Identity(category: "conference", type: "text", name: room.settings.name)],
      // XEP-0115 5.4: without duplicates.
      features: (common + traits(of: room.settings) + features).filter { seen.insert($0).inserted },
      forms: [form(of: room, occupants: occupants, isMember: isMember, owners: owners, activity: activity)])
  }

  /// The features of every room. All have occupant ids (XEP-0421 4) and stable message ids (16.3), and the picture is
  /// in the room's vCard (XEP-0486).
  private static let common: [String] = [
    NS.discoInfo, NS.muc, NS.mucStableID, NS.mucRoomConfig, NS.mucRegister, NS.mucRequest, NS.register, NS.occupantID,
    NS.hats, NS.vCard,
  ].map { "\($0)" }

  /// Returns one feature of each pair (4.2).
  private static func traits(of settings: RoomSettings) -> [String] {
    [
      settings.password == nil ? "muc_unsecured" : "muc_passwordprotected",
      settings.isListed ? "muc_public" : "muc_hidden",
      settings.isPersistent ? "muc_persistent" : "muc_temporary",
      settings.isMembersOnly ? "muc_membersonly" : "muc_open",
      settings.isModerated || settings.isReadOnly ? "muc_moderated" : "muc_unmoderated",
      settings.showsAddresses ? "muc_nonanonymous" : "muc_semianonymous",
    ]
  }

  private static func form(
    of room: Room, occupants: Int, isMember: Bool, owners: [BareJID], activity: Double?
  ) -> DataForm {
    let settings = room.settings
    var fields: [DataForm.Field] = []
    func say(_ key: String, _ value: String?, _ kind: DataForm.FieldKind = .textSingle, label: String) {
      if let value { fields.append(DataForm.Field(key, kind, value, label: label)) }
    }
    say("muc#roomconfig_roomname", settings.name, label: "Name")
    say("muc#roominfo_description", settings.about, label: "Description")
    say("muc#roominfo_lang", settings.language, label: "Language")
    say("muc#roominfo_occupants", "\(occupants)", label: "People in the room")
    if isMember || room.isOpen {
      say("muc#roominfo_subject", room.topic.flatMap { $0.text.isEmpty ? nil : $0.text }, label: "Subject")
    }
    if isMember, !owners.isEmpty {
      fields.append(
        DataForm.Field(
          "muc#roominfo_contactjid", .jidMulti, label: "Whom to ask", values: owners.map(\.description)))
    }
    let topicLabel = "Those with voice may set the subject"
    fields.append(DataForm.Field("muc#roominfo_subjectmod", settings.participantsSetTopic, label: topicLabel))
    // 6.4: fields of the configuration may stand here; clients use these to offer only what will succeed.
    fields.append(DataForm.Field("muc#roomconfig_changesubject", settings.participantsSetTopic, label: topicLabel))
    fields.append(DataForm.Field("muc#roomconfig_allowinvites", settings.membersInvite, label: "Members may invite"))
    say(
      "muc#roomconfig_allowpm", ConfigurationForm.text(settings.whispers), .listSingle,
      label: "Who may write to one person in the room")
    say("muc#maxhistoryfetch", "\(settings.historyMax ?? DoorLimits.historyMax)", label: "Most messages of history")
    say("muc#roominfo_slow_mode_duration", "\(settings.slowModeSeconds)", label: "Slow mode")
    say(ConfigurationForm.Key.retention, settings.retentionDays.map { "\($0)" }, label: "Days after which messages go")
    // Only for public rooms (XEP-0502 4).
    if room.settings.isListed {
      say(RoomActivity.field, activity.map { RoomActivity.text($0) }, label: "Messages per hour")
    }
    // Absent where there is none (XEP-0486 4).
    say("muc#roominfo_avatarhash", settings.avatarHash, .textMulti, label: "Hash of the picture")
    return DataForm(.result, formType: "\(NS.mucRoomInfo)", fields: fields)
  }
}
