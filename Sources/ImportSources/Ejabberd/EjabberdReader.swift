import Basics

/// One pass over a dump of ejabberd (23.01). Nodes and items refer to each other by numbers and come in any order: they
/// wait in a temporary database for the end of the pass.
final class EjabberdReader: RecordReader {
  private let file: TermFile
  private let kinds: RecordKinds
  private let nodes: EjabberdNodes?
  private let groups: EjabberdGroups?
  private let accounts: EjabberdAccounts?
  private var waiting: [Reading] = []
  private var isAtEnd = false
  private var isBegun = false

  init(_ file: TermFile, _ kinds: RecordKinds) throws(SourceFailure) {
    self.file = file
    self.kinds = kinds
    nodes = kinds.contains(.settings) ? try EjabberdNodes(file.path) : nil
    groups = kinds.contains(.settings) ? EjabberdGroups() : nil
    accounts = kinds.contains(.accounts) ? try EjabberdAccounts() : nil
  }

  var fraction: Double { file.fraction }

  func next() throws(SourceFailure) -> Reading? {
    while true {
      if let reading = waiting.popLast() { return reading }
      if isAtEnd {
        if let account = try accounts?.next() { return account }
        if let group = groups?.next(file.path) { return group }
        return try nodes?.next()
      }
      switch try file.next() {
      case nil: isAtEnd = true
      case .flaw(let line, let text)?:
        try checkBegun(nil, line)
        if kinds.contains(.accounts) { return .flaw(Place(file: file.path, line: line), text) }
      case .term(let term, let line)?:
        try checkBegun(term, line)
        waiting = try read(term.tuple, Place(file: file.path, line: line)).reversed()
      }
    }
  }

  /// A dump begins with the list of its tables.
  private func checkBegun(_ term: ErlangTerm?, _ line: Int) throws(SourceFailure) {
    if isBegun { return }
    guard term?.tuple.first?.atom == "tables" else {
      throw SourceFailure(
        Place(file: file.path, line: line), "it is no dump of ejabberd; \(EjabberdSource.expected) is expected")
    }
    isBegun = true
  }

  private func read(_ record: [ErlangTerm], _ place: Place) throws(SourceFailure) -> [Reading] {
    guard let table = record.first?.atom, record.count > 2 else { return [] }
    switch table {
    case "passwd":
      guard let accounts else { return [] }
      switch EjabberdRecords.account(record) {
      case .success(let found):
        let other = try accounts.add(found.account, place)
        return [found.flaw, other].compactMap { $0 }.map { .flaw(place, "passwd: \(found.account.jid): \($0)") }
      case .failure(let flaw): return [.flaw(place, flaw.text)]
      }
    case "private_storage":
      let ban = EjabberdRecords.ban(record)
      if let ban, let accounts { try accounts.ban(ban) }
      return ban == nil && kinds.contains(.settings) ? [EjabberdRecords.privateXML(record, place)] : []
    case "archive_msg" where kinds.contains(.copies): return EjabberdRecords.archived(record, place)
    case "offline_msg" where kinds.contains(.copies): return [EjabberdRecords.offline(record, place)]
    case "muc_room": return EjabberdRooms.read(record, place, kinds)
    case "sr_group", "sr_user":
      groups?.add(record)
      return []
    case "roster" where kinds.contains(.settings): return EjabberdRecords.contact(record, place)
    case "vcard" where kinds.contains(.settings): return [EjabberdRecords.vCard(record, place)]
    case "privacy" where kinds.contains(.settings): return EjabberdRecords.privacy(record, place)
    case "pubsub_node", "pubsub_item", "pubsub_state":
      guard let flaw = try nodes?.add(record) else { return [] }
      return [.flaw(place, flaw)]
    default: return []
    }
  }
}

/// The tables of ejabberd's modules as records.
enum EjabberdRecords {
  /// Returns an address; the resource is left out.
  static func jid(_ term: ErlangTerm?) -> String? {
    guard let parts = term?.tuple, parts.count >= 2, let user = parts[0].text, let host = parts[1].text else {
      return nil
    }
    return user.isEmpty ? host : "\(user)@\(host)"
  }

  /// Returns an element from `{xmlel, Name, Attributes, Children}`.
  static func element(_ term: ErlangTerm?, within namespace: String = "jabber:client") -> XMLNode? {
    guard let parts = term?.tuple, parts.count == 4, parts[0].atom == "xmlel", let name = parts[1].text else {
      return nil
    }
    var own = namespace
    var attributes: [XMLNode.Attribute] = []
    for attribute in parts[2].list {
      guard attribute.tuple.count == 2, let key = attribute.tuple[0].text, let value = attribute.tuple[1].text else {
        return nil
      }
      if key == "xmlns" {
        own = value
      } else if key.hasPrefix("xml:") {
        attributes.append(
          XMLNode.Attribute(
            name: String(key.dropFirst(4)), namespace: "http://www.w3.org/XML/1998/namespace", value: value))
      } else if !key.contains(":") {
        attributes.append(XMLNode.Attribute(name: key, namespace: "", value: value))
      }
    }
    var node = XMLNode(name, own, attributes)
    for child in parts[3].list {
      if child.tuple.first?.atom == "xmlcdata", let text = child.tuple.last?.text {
        node.children.append(.text(text))
      } else if let child = element(child, within: own) {
        node.children.append(.node(child))
      } else {
        return nil
      }
    }
    return node
  }

  /// Returns an account, and what there is to report of it.
  static func account(_ record: [ErlangTerm]) -> Result<(account: AccountRecord, flaw: String?), FlawText> {
    guard let jid = jid(record[1]) else { return .failure(FlawText("passwd: it has no user")) }
    var account = AccountRecord(jid: jid)
    if let password = record[2].text {
      let flaw = account.take(password: password)
      return .success((account, flaw))
    }
    let keys = record[2].tuple
    guard keys.count >= 5, keys[0].atom == "scram", let stored = keys[1].text, let server = keys[2].text,
      let salt = keys[3].text, let iterations = keys.last?.integer.flatMap({ Int(exactly: $0) })
    else { return .failure(FlawText("passwd: \(jid) has neither a password nor SCRAM keys")) }
    // The hash is stated since 20.12.
    let mechanism =
      switch keys.count > 5 ? keys[4].atom : "sha" {
      case "sha256": "SCRAM-SHA-256"
      case "sha512": "SCRAM-SHA-512"
      default: "SCRAM-SHA-1"
      }
    account.scram = [
      SCRAMRecord(mechanism: mechanism, iterations: iterations, salt: salt, storedKey: stored, serverKey: server)
    ]
    return .success((account, nil))
  }

  /// Returns the user who is banned by an element of private XML; `nil` for any other element.
  static func ban(_ record: [ErlangTerm]) -> String? {
    let key = record[1].tuple
    guard key.count > 2, key[2].text == XMLNode.banNamespace, let element = element(record[2], within: ""),
      element.isBan
    else { return nil }
    return jid(record[1])
  }

  static func contact(_ record: [ErlangTerm], _ place: Place) -> [Reading] {
    guard record.count >= 8, let owner = jid(record[2]), let other = jid(record[3]), let subscription = record[5].atom,
      let ask = record[6].atom
    else { return [.flaw(place, "roster: the item is damaged")] }
    var found: [Reading] = []
    // A request alone makes no item (RFC 6121 A.1).
    if subscription != "none" || ask != "in" {
      let name = record[4].text ?? ""
      found.append(
        .record(
          .contact(
            ContactRecord(
              owner: owner, jid: other, name: name.isEmpty ? nil : name, groups: record[7].list.compactMap(\.text),
              subscription: subscription, asks: ask == "out" || ask == "both" || ask == "subscribe")), place))
    }
    if ask == "in" || ask == "both" { found.append(.record(.request(RequestRecord(owner: owner, from: other)), place)) }
    return found
  }

  static func vCard(_ record: [ErlangTerm], _ place: Place) -> Reading {
    guard let owner = jid(record[1]), let element = element(record[2], within: "vcard-temp") else {
      return .flaw(place, "vcard: it is damaged")
    }
    return .record(.vCard(ElementRecord(owner: owner, xml: element.xml)), place)
  }

  static func privateXML(_ record: [ErlangTerm], _ place: Place) -> Reading {
    guard let owner = jid(record[1]), let element = element(record[2], within: "") else {
      return .flaw(place, "private_storage: it is damaged")
    }
    return .record(.privateXML(ElementRecord(owner: owner, xml: element.xml)), place)
  }

  static func privacy(_ record: [ErlangTerm], _ place: Place) -> [Reading] {
    guard record.count >= 4, let owner = jid(record[1]) else { return [.flaw(place, "privacy: it is damaged")] }
    guard let name = record[2].text else { return [] }
    var rules: [PrivacyLists.Rule] = []
    for list in record[3].list where list.tuple.count == 2 && list.tuple[0].text == name {
      for item in list.tuple[1].list where item.tuple.first?.atom == "listitem" && item.tuple.count >= 10 {
        let parts = item.tuple
        let value: String? = if let whole = jid(parts[2]) { whole } else { parts[2].word }
        let resource = parts[2].tuple.count > 2 ? parts[2].tuple[2].text ?? "" : ""
        rules.append(
          PrivacyLists.Rule(
            type: parts[1].atom == "none" ? nil : parts[1].atom,
            value: resource.isEmpty ? value : value.map { "\($0)/\(resource)" }, isDenied: parts[3].atom == "deny",
            isPartial: parts[5].atom != "true", order: parts[4].integer.flatMap { Int(exactly: $0) } ?? 0))
      }
    }
    let blocks = PrivacyLists(rules: rules).blocks()
    return (blocks.jids.isEmpty ? [] : [.record(.block(BlockRecord(owner: owner, jids: blocks.jids)), place)])
      + blocks.flaws.map { .flaw(place, "privacy: \($0)") }
  }

  // MARK: Messages

  /// Returns the time of `{Megaseconds, Seconds, Microseconds}`.
  static func time(_ term: ErlangTerm) -> Timestamp? {
    let parts = term.tuple.compactMap(\.integer)
    guard parts.count == 3, (0...100_000).contains(parts[0]), (0..<1_000_000).contains(parts[1]),
      (0..<1_000_000).contains(parts[2])
    else { return nil }
    return Timestamp(milliseconds: (parts[0] * 1_000_000 + parts[1]) * 1_000 + parts[2] / 1_000)
  }

  static func archived(_ record: [ErlangTerm], _ place: Place) -> [Reading] {
    guard record.count >= 9, let owner = jid(record[1]), let time = time(record[3]), let stanza = element(record[6])
    else {
      return [.flaw(place, "archive_msg: it is damaged")]
    }
    var place = place
    place.key = "\(owner), archive \(record[2].text ?? "")"
    if record[8].atom == "groupchat" {
      return [ofRoom(stanza, owner, at: time, nick: record[7].text, author: jid(record[5]), place)]
    }
    return [copy(stanza, of: owner, at: time, isOffline: false, place)]
  }

  static func offline(_ record: [ErlangTerm], _ place: Place) -> Reading {
    guard record.count >= 7, let owner = jid(record[1]), let time = time(record[2]), let stanza = element(record[6])
    else {
      return .flaw(place, "offline_msg: it is damaged")
    }
    var place = place
    place.key = "\(owner), offline message"
    return copy(stanza, of: owner, at: time, isOffline: true, place)
  }

  static func ofRoom(
    _ stanza: XMLNode, _ room: String, at time: Timestamp, nick: String?, author: String?, _ place: Place
  ) -> Reading {
    switch MessageCopies.ofRoom(stanza, room, at: time, nick: nick, author: author) {
    case .success(let message): .record(.roomMessage(message), place)
    case .failure(let flaw): .flaw(place, flaw.text)
    }
  }

  static func copy(
    _ stanza: XMLNode, of owner: String, at time: Timestamp, isOffline: Bool, _ place: Place
  ) -> Reading {
    switch MessageCopies.make(stanza, of: owner, at: time, isOffline: isOffline) {
    case .success(let copy): .record(.copy(copy), place)
    case .failure(let flaw): .flaw(place, flaw.text)
    }
  }
}
