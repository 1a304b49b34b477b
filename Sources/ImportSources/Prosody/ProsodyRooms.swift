import Basics
import Crypto

/// A room's store `config` (mod_muc of 0.10 to 0.12) as records.
enum ProsodyRooms {
  /// The members of `_data` that are flags, and their fields (XEP-0045 16.5.3).
  private static let flags = [
    "persistent": "persistentroom", "members_only": "membersonly", "moderated": "moderatedroom",
    "changesubject": "changesubject", "allow_member_invites": "allowinvites",
  ]
  private static let texts = [
    "name": "roomname", "description": "roomdesc", "language": "lang", "password": "roomsecret", "whois": "whois",
    "allow_pm": "allowpm",
  ]

  static func room(_ jid: String, _ table: LuaTable, _ place: Place) -> Reading {
    guard let data = table["_data"]?.table else { return .flaw(place, "_data is no table") }
    var fields = ["whois": "moderators"]
    for (key, field) in flags { fields[field] = data[key] == .boolean(true) ? "1" : "0" }
    for (key, field) in texts { fields[field] = data[key]?.text ?? fields[field] }
    fields["publicroom"] = data["hidden"] == .boolean(true) ? "0" : "1"
    fields["passwordprotectedroom"] = fields["roomsecret"]?.isEmpty ?? true ? "0" : "1"
    let setter = data["subject_from"]?.text ?? ""
    return .record(
      .room(
        RoomRecord(
          jid: jid, fields: fields, owners: affiliations(table).filter { $0.value == "owner" }.map(\.jid),
          subject: data["subject"]?.text ?? "",
          subjectNick: setter.firstIndex(of: "/").map { String(setter[setter.index(after: $0)...]) })), place)
  }

  static func people(_ room: String, _ table: LuaTable, _ place: Place) -> [Reading] {
    let details = table["_affiliation_data"]?.table
    return affiliations(table).map { jid, affiliation in
      let detail = details?[jid]?.table
      return .record(
        .roomPerson(
          RoomPersonRecord(
            room: room, jid: jid, affiliation: affiliation, nick: detail?["reserved_nickname"]?.text,
            reason: detail?["reason"]?.text)),
        Place(file: place.file, line: place.line, key: "\(room), affiliation of \(jid)"))
    }
  }

  /// Returns the affiliations by address. They stand beside names that begin with an underscore; before 0.11 in a table of
  /// their own.
  static func affiliations(_ table: LuaTable) -> [(jid: String, value: String)] {
    let fields = table["_affiliations"]?.table?.fields ?? table.fields
    return fields.compactMap { jid, value in
      guard !jid.hasPrefix("_"), !jid.contains("/"), let text = value.text, jid != "jid" else { return nil }
      return (jid, text)
    }.sorted { $0.jid < $1.jid }
  }
}

/// The people of a room by their occupant ids. The archive of a room that hides addresses has no others: an id is made of
/// the address and a number of the room (muc/occupant_id.lib.lua of 0.12), so it tells whose it is of those who are known.
final class ProsodyOccupants {
  let room: String
  private let salt: [UInt8]?
  private let people: [String]
  private lazy var authors = salt.map { salt in
    Dictionary(
      people.map { jid in
        let code = HMAC<SHA256>.authenticationCode(for: salt, using: SymmetricKey(data: Array(jid.utf8)))
        return (Base64.string(Array(code)), jid)
      }, uniquingKeysWith: { first, _ in first })
  }

  init(of room: String, _ table: LuaTable, _ accounts: [String]) {
    self.room = room
    salt = table["_data"]?.table?["occupant_id_salt"]?.text.map { Array($0.utf8) }
    people = ProsodyRooms.affiliations(table).map(\.jid) + accounts
  }

  func author(of stanza: XMLNode) -> String? {
    stanza.first("occupant-id", MessageCopies.occupantID)?["id"].flatMap { authors?[$0] }
  }
}
