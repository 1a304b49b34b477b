/// A row of `muc_room` as records: the room's options with its affiliations.
enum EjabberdRooms {
  /// The options that are flags, and their fields (XEP-0045 16.5.3).
  private static let flags = [
    "allow_change_subj": "changesubject", "public": "publicroom", "persistent": "persistentroom",
    "moderated": "moderatedroom", "members_only": "membersonly", "allow_user_invites": "allowinvites",
    "password_protected": "passwordprotectedroom",
  ]
  private static let words = [
    "title": "roomname", "description": "roomdesc", "password": "roomsecret", "lang": "lang", "max_users": "maxusers",
    "allowpm": "allowpm",
  ]

  static func read(_ record: [ErlangTerm], _ place: Place, _ kinds: RecordKinds) -> [Reading] {
    guard let room = EjabberdRecords.jid(record[1]) else {
      return kinds.contains(.rooms) ? [.flaw(place, "muc_room: its name is damaged")] : []
    }
    return read(record[2], of: room, place, kinds)
  }

  static func read(_ options: ErlangTerm, of room: String, _ place: Place, _ kinds: RecordKinds) -> [Reading] {
    var place = place
    place.key = room
    guard case .list(let options) = options else {
      return kinds.contains(.rooms) ? [.flaw(place, "muc_room: its options are no list")] : []
    }
    var values: [String: ErlangTerm] = [:]
    for option in options where option.tuple.count == 2 {
      if let name = option.tuple[0].atom { values[name] = option.tuple[1] }
    }
    let people = people(values["affiliations"]?.list ?? [], of: room, place)
    var found: [Reading] = []
    if kinds.contains(.rooms) {
      var owners: [String] = []
      for case .record(.roomPerson(let person), _) in people where person.affiliation == "owner" {
        owners.append(person.jid)
      }
      let nick = values["subject_author"]?.text ?? ""
      found.append(
        .record(
          .room(
            RoomRecord(
              jid: room, fields: fields(values), owners: owners, subject: subject(values["subject"]),
              subjectNick: nick.isEmpty ? nil : nick)), place))
    }
    return found + (kinds.contains(.settings) ? people : [])
  }

  private static func fields(_ values: [String: ErlangTerm]) -> [String: String] {
    var fields: [String: String] = [:]
    for (option, field) in flags { if let flag = values[option]?.atom { fields[field] = flag == "true" ? "1" : "0" } }
    for (option, field) in words { if let word = values[option]?.word, !word.isEmpty { fields[field] = word } }
    if fields["passwordprotectedroom"] != "1" { fields["roomsecret"] = nil }
    if let hides = values["anonymous"]?.atom { fields["whois"] = hides == "true" ? "moderators" : "anyone" }
    // One option of texts since 22.05; two of flags before.
    if fields["allowpm"] == nil, let allowed = values["allow_private_messages"]?.atom {
      fields["allowpm"] = allowed == "true" ? "anyone" : "none"
    }
    return fields
  }

  /// Returns the subject: a text, or since 18.06 a list of `{text, Language, Text}`.
  private static func subject(_ term: ErlangTerm?) -> String {
    term?.text ?? term?.list.first?.tuple.last?.text ?? ""
  }

  /// `{{User, Server, Resource}, Affiliation}`, where the affiliation may be one with a reason.
  private static func people(_ list: [ErlangTerm], of room: String, _ place: Place) -> [Reading] {
    list.map { person in
      let parts = person.tuple
      guard parts.count == 2, let jid = EjabberdRecords.jid(parts[0]),
        let affiliation = parts[1].atom ?? parts[1].tuple.first?.atom
      else { return .flaw(place, "muc_room: an affiliation is damaged") }
      let reason = parts[1].tuple.last?.text ?? ""
      return .record(
        .roomPerson(
          RoomPersonRecord(
            room: room, jid: jid, affiliation: affiliation, reason: reason.isEmpty ? nil : reason)),
        Place(file: place.file, line: place.line, key: "\(room), affiliation of \(jid)"))
    }
  }
}

/// Shared roster groups (mod_shared_roster), whose rows of groups and of users come in any order.
final class EjabberdGroups {
  private struct Key: Hashable, Comparable {
    let domain: String
    let name: String
    static func < (a: Key, b: Key) -> Bool { (a.domain, a.name) < (b.domain, b.name) }
  }
  private var groups: [Key: [String: ErlangTerm]] = [:]
  private var members: [Key: [String]] = [:]
  private var waiting: [Key]?
  private var flaws: [Reading] = []

  func add(_ record: [ErlangTerm]) {
    let key = record[record[0].atom == "sr_group" ? 1 : 2].tuple
    guard key.count == 2, let name = key[0].text, let domain = key[1].text else { return }
    if record[0].atom == "sr_group" {
      add(name, of: domain, record[2])
    } else if let jid = EjabberdRecords.jid(record[1]) {
      add(jid, to: name, of: domain)
    }
  }

  func add(_ name: String, of domain: String, _ options: ErlangTerm) {
    var values: [String: ErlangTerm] = [:]
    for option in options.list where option.tuple.count == 2 {
      if let key = option.tuple[0].atom { values[key] = option.tuple[1] }
    }
    groups[Key(domain: domain, name: name)] = values
  }

  func add(_ jid: String, to name: String, of domain: String) {
    members[Key(domain: domain, name: name), default: []].append(jid)
  }

  func next(_ path: String) -> Reading? {
    if let flaw = flaws.popLast() { return flaw }
    if waiting == nil { waiting = groups.keys.sorted(by: >) }
    guard let key = waiting?.popLast() else { return nil }
    let options = groups[key] ?? [:]
    let place = Place(file: path, key: "sr_group \(key.name) of \(key.domain)")
    // Members here see each other, and groups do so mutually or not at all (docs/decisions/0038).
    let shown = shown(by: key)
    guard shown.isEmpty || shown.contains(key.name) else {
      let names = shown.sorted().joined(separator: ", ")
      return .flaw(place, "it shows its members other groups, and not each other: \(names)")
    }
    let others = shown.subtracting([key.name])
    let mutual = others.filter { self.shown(by: Key(domain: key.domain, name: $0)).contains(key.name) }
    if mutual != others {
      let names = others.subtracting(mutual).sorted().joined(separator: ", ")
      flaws.append(.flaw(place, "it shows its members groups that do not show it, and are not seen here: \(names)"))
    }
    let label = options["label"]?.text ?? options["name"]?.text ?? ""
    return .record(
      .contactGroup(
        ContactGroupRecord(
          domain: key.domain, name: key.name, label: label.isEmpty ? nil : label, members: members[key]?.sorted() ?? [],
          hasEveryone: options["all_users"]?.atom == "true",
          // Those that are there already: it makes no difference which of two names the other.
          sees: mutual.filter { $0 < key.name && isImported(Key(domain: key.domain, name: $0)) }.sorted())), place)
  }

  private func shown(by key: Key) -> Set<String> {
    Set(groups[key]?["displayed_groups"]?.list.compactMap(\.text) ?? [])
  }

  private func isImported(_ key: Key) -> Bool { groups[key] != nil && shown(by: key).contains(key.name) }
}
