import Basics

/// The contents of Prosody's stores, by their names (0.12), as records.
enum ProsodyRecords {
  /// Returns an element from the table that Prosody makes of one.
  static func element(_ table: LuaTable, within namespace: String = "jabber:client") -> XMLNode? {
    guard let name = table["name"]?.text else { return nil }
    var attributes: [XMLNode.Attribute] = []
    var own = namespace
    for (key, value) in table["attr"]?.table?.fields ?? [] {
      guard let text = value.text else { continue }
      if key == "xmlns" {
        own = text
        continue
      }
      // A namespace is in front of the name, behind a byte 1 or, in older files, a bar.
      let parts = key.split(whereSeparator: { $0 == "\u{1}" || $0 == "|" })
      if parts.count == 2 {
        attributes.append(XMLNode.Attribute(name: String(parts[1]), namespace: String(parts[0]), value: text))
      } else if key.hasPrefix("xml:") {
        attributes.append(
          XMLNode.Attribute(
            name: String(key.dropFirst(4)), namespace: "http://www.w3.org/XML/1998/namespace", value: text))
      } else {
        attributes.append(XMLNode.Attribute(name: key, namespace: "", value: text))
      }
    }
    var node = XMLNode(name, own, attributes)
    for child in table.list {
      switch child {
      case .table(let table): if let child = element(table, within: own) { node.children.append(.node(child)) }
      case .text(let text): node.children.append(.text(text))
      case .none, .boolean, .number: break
      }
    }
    return node
  }

  // MARK: accounts

  static func account(_ jid: String, _ data: LuaTable, _ place: Place) -> [Reading] {
    var account = AccountRecord(jid: jid)
    // COMPAT(Prosody 13): `disabled` stands beside credentials that are still valid. Anything but nil and false is true in
    // Lua.
    switch data["disabled"] {
    case nil, .some(.none), .boolean(false)?: break
    case .boolean(true)?, .number?, .text?, .table?: account.isDisabled = true
    }
    let password = data["password"]?.text ?? ""
    if password.isEmpty, let stored = data["stored_key"]?.text, let server = data["server_key"]?.text,
      let salt = data["salt"]?.text, let iterations = data["iteration_count"]?.number.flatMap({ Int(exactly: $0) })
    {
      guard let stored = bytes(ofHex: stored), let server = bytes(ofHex: server) else {
        return [.flaw(place, "stored_key or server_key is no hexadecimal number")]
      }
      let mechanism: String
      switch stored.count {
      case 20: mechanism = "SCRAM-SHA-1"
      case 32: mechanism = "SCRAM-SHA-256"
      default: return [.flaw(place, "stored_key is of no known hash")]
      }
      account.scram = [
        SCRAMRecord(
          mechanism: mechanism, iterations: iterations, salt: Base64.string(Array(salt.utf8)),
          storedKey: Base64.string(stored), serverKey: Base64.string(server))
      ]
    }
    var found: [Reading] = []
    if let flaw = account.take(password: password) { found.append(.flaw(place, flaw)) }
    found.append(.record(.account(account), place))
    return found
  }

  /// Reports the roles of an account, which are not taken: `_default` has the role since Prosody 13, and each key is one
  /// before.
  static func roles(_ data: LuaTable, _ place: Place) -> [Reading] {
    let named = data["_default"]?.text.map { [$0] } ?? data.fields.filter { $0.value == .boolean(true) }.map(\.key)
    return named.filter { !["prosody:registered", "prosody:member"].contains($0) }.map {
      .flaw(place, "its role \($0) is not taken: parley user role makes administrators")
    }
  }

  private static func bytes(ofHex text: String) -> [UInt8]? {
    let digits = text.utf8.compactMap { Hex.value(ofDigit: $0) }
    guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  // MARK: roster

  static func roster(_ owner: String, _ data: LuaTable, _ place: Place) -> [Reading] {
    var found: [Reading] = []
    for (jid, value) in data.fields {
      guard let item = value.table else {
        found.append(.flaw(place, "the item \(jid) is no table"))
        continue
      }
      // Before 0.10 the requests stood in an item of this name.
      if jid == "pending" {
        found += requests(owner, item, place)
        continue
      }
      found.append(
        .record(
          .contact(
            ContactRecord(
              owner: owner, jid: jid, name: item["name"]?.text,
              groups: item["groups"]?.table.map { ($0.fields.map(\.key) + $0.list.compactMap(\.text)).sorted() } ?? [],
              subscription: item["subscription"]?.text ?? "none", asks: item["ask"]?.text == "subscribe",
              isApproved: item["approved"]?.text == "true" || item["approved"] == .boolean(true))),
          Place(file: place.file, line: place.line, key: "\(owner), roster item \(jid)")))
    }
    if let pending = data.whole.first?.table?["pending"]?.table { found += requests(owner, pending, place) }
    return found
  }

  private static func requests(_ owner: String, _ pending: LuaTable, _ place: Place) -> [Reading] {
    pending.fields.map { jid, value in
      let children = value.table.flatMap { element($0) }?.childrenXML ?? ""
      return .record(
        .request(RequestRecord(owner: owner, from: jid, children: children.isEmpty ? nil : children)), place)
    }
  }

  // MARK: vcard, private, blocklist, privacy

  static func vCard(_ owner: String, _ data: LuaTable, _ place: Place) -> [Reading] {
    guard let element = element(data, within: "vcard-temp") else { return [.flaw(place, "it is no element")] }
    return [.record(.vCard(ElementRecord(owner: owner, xml: element.xml)), place)]
  }

  static func privateXML(_ owner: String, _ data: LuaTable, _ place: Place) -> [Reading] {
    data.fields.map { key, value in
      guard let element = value.table.flatMap({ element($0, within: "") }) else {
        return .flaw(place, "\(key) is no element")
      }
      return .record(.privateXML(ElementRecord(owner: owner, xml: element.xml)), place)
    }
  }

  static func blocks(_ owner: String, _ data: LuaTable, _ place: Place) -> [Reading] {
    let jids = data.fields.map(\.key).sorted()
    return jids.isEmpty ? [] : [.record(.block(BlockRecord(owner: owner, jids: jids)), place)]
  }

  /// Privacy lists of versions before 0.10, which the next login would have turned into a block list.
  static func privacy(_ owner: String, _ data: LuaTable, _ place: Place) -> [Reading] {
    guard let name = data["default"]?.text, let list = data["lists"]?.table?[name]?.table else { return [] }
    let rules = (list["items"]?.table?.list ?? []).compactMap(\.table).map { item in
      PrivacyLists.Rule(
        type: item["type"]?.text, value: item["value"]?.text, isDenied: item["action"]?.text == "deny",
        isPartial: ["message", "iq", "presence-in", "presence-out"].contains { item[$0] == .boolean(true) },
        order: item["order"]?.number.flatMap { Int(exactly: $0) } ?? 0)
    }
    let blocks = PrivacyLists(rules: rules).blocks()
    return (blocks.jids.isEmpty ? [] : [.record(.block(BlockRecord(owner: owner, jids: blocks.jids)), place)])
      + blocks.flaws.map { .flaw(place, $0) }
  }

  // MARK: pep

  /// The nodes of a user in the order in which they are to be taken: a picture before its description.
  static func nodes(_ owner: String, _ data: LuaTable, _ place: Place) -> [(record: NodeRecord, place: Place)] {
    data.fields.sorted { $0.key < $1.key }.map { name, value in
      let node = value.table
      var affiliations: [String: String] = [:]
      for (jid, affiliation) in node?["affiliations"]?.table?.fields ?? [] where MessageCopies.bare(jid) != owner {
        affiliations[MessageCopies.bare(jid)] = affiliation.text
      }
      return (
        NodeRecord(
          owner: owner, name: name, form: node?["config"]?.table.flatMap(form), affiliations: affiliations),
        Place(file: place.file, line: place.line, key: "\(owner), node \(name)")
      )
    }
  }

  /// The options of Prosody's nodes, and their fields (XEP-0060 16.4.4).
  private static let options = [
    "access_model": "access_model", "publish_model": "publish_model", "persist_items": "persist_items",
    "max_items": "max_items", "send_last_published_item": "send_last_published_item", "title": "title",
    "description": "description", "payload_type": "type", "notify_items": "deliver_notifications",
    "include_payload": "deliver_payloads", "notify_retract": "notify_retract", "notify_delete": "notify_delete",
    "roster_groups_allowed": "roster_groups_allowed",
  ]

  private static func form(_ config: LuaTable) -> String? {
    var fields: [(String, [String])] = []
    for (key, value) in config.fields {
      guard let field = options[key] else { continue }
      if let text = value.text { fields.append((field, [text])) }
      if let list = value.table { fields.append((field, list.list.compactMap(\.text))) }
    }
    return fields.isEmpty ? nil : NodeOptions.form(fields)
  }

  // MARK: Times

  /// Returns the time of an entry of an archive: seconds, with a fraction since 0.12.
  static func time(_ seconds: Double) -> Timestamp? {
    guard seconds.isFinite, abs(seconds) < 1e11 else { return nil }
    return Timestamp(milliseconds: Int64((seconds * 1_000).rounded()))
  }
}
