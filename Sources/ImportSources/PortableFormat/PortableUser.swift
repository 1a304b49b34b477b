import Basics

/// A user of a portable export, while the element is read. What depends on elements that may follow is held to its end:
/// the account, and nodes until their configurations are known.
final class PortableUser {
  private typealias NS = PortableReader.NS

  let jid: String
  private let password: String?
  private let place: Place
  private var account: AccountRecord
  /// The flaws of the account to report, besides those that were reported at once.
  private var flaws: [String] = []
  private var forms: [String: String] = [:]
  private var affiliations: [String: [String: String]] = [:]
  /// The configured nodes in their order.
  private var configured: [(node: String, Place)] = []
  private var items: [(item: ItemRecord, Place)] = []
  private var pubsubBytes = 0

  /// - Parameter status: that of an account of Tigase.
  init(jid: String, password: String?, status: String?, place: Place) {
    self.jid = jid
    self.password = password
    self.place = place
    account = AccountRecord(jid: jid)
    // COMPAT(Tigase 8.4): `AuthRepository.AccountStatus`; all others are inactive.
    if let status, !["active", "vip", "paid", "undefined_active"].contains(status) {
      account.isDisabled = true
      if !["disabled", "banned"].contains(status) {
        flaws.append("its status is \(status), which is not known here: the account is disabled")
      }
    }
  }

  /// Takes an element of the user, or one of a list in it.
  func take(_ node: XMLNode, in list: String?, at place: Place, _ kinds: RecordKinds) -> [Reading] {
    switch list {
    case NS.roster: kinds.contains(.settings) ? [contact(node, place)] : []
    case NS.privateXML: privateXML(node, place, kinds)
    case NS.pubsub: kinds.contains(.settings) ? published(node, place) : []
    case NS.pubsubOwner: kinds.contains(.settings) ? owned(node, place) : []
    case NS.archive: kinds.contains(.copies) ? [archived(node, place)] : []
    case NS.pie: kinds.contains(.copies) ? [offline(node, place)] : []
    default: element(node, place, kinds)
    }
  }

  private func element(_ node: XMLNode, _ place: Place, _ kinds: RecordKinds) -> [Reading] {
    switch (node.name, node.namespace) {
    case ("scram-credentials", NS.scram):
      guard kinds.contains(.accounts) else { return [] }
      do throws(FlawText) {
        let keys = try credentials(node)
        if let flaw = account.add([keys]) { return [.flaw(place, flaw)] }
        return []
      } catch {
        return [.flaw(place, "scram-credentials: \(error.text)")]
      }
    case ("plain-credentials", NS.tigasePlain):
      guard kinds.contains(.accounts) else { return [] }
      let encoded = node.first("password", NS.tigasePlain)?.text.filter { !$0.isWhitespace } ?? ""
      guard let bytes = Base64.decode(encoded.utf8, canonical: false), !bytes.isEmpty,
        let password = String(validating: bytes, as: UTF8.self)
      else { return [.flaw(place, "plain-credentials: the password is no text in base 64: \(AccountRecord.locked)")] }
      if let known = account.password, known != password {
        return [.flaw(place, "it has two passwords, of which the first is taken")]
      }
      account.password = password
      return []
    case ("disabled", NS.parley):
      account.isDisabled = true
      return node.nodes.flatMap { element($0, place, kinds) }
    case ("vCard", NS.vCard):
      return kinds.contains(.settings) ? [.record(.vCard(ElementRecord(owner: jid, xml: node.xml)), place)] : []
    case ("presence", NS.client):
      guard kinds.contains(.settings), node["type"] == "subscribe", let from = node["from"] else { return [] }
      let children = node.childrenXML
      return [
        .record(
          .request(
            RequestRecord(
              owner: jid, from: MessageCopies.bare(from), children: children.isEmpty ? nil : children)), place)
      ]
    case ("query", NS.privacy): return kinds.contains(.settings) ? blocked(PrivacyLists(node), place) : []
    case ("blocklist", NS.blocking):
      guard kinds.contains(.settings) else { return [] }
      return [.record(.block(BlockRecord(owner: jid, jids: node.nodes.compactMap { $0["jid"] })), place)]
    default:
      return kinds.contains(.accounts)
        ? [.flaw(place, "<\(node.name) xmlns='\(node.namespace)'/> is not known and not taken")] : []
    }
  }

  /// Returns what was held.
  func end(_ kinds: RecordKinds) -> [Reading] {
    if kinds.contains(.accounts) {
      if let password, let flaw = account.take(password: password) { flaws.append(flaw) }
      var found: [Reading] = flaws.map { .flaw(place, $0) }
      found.append(.record(.account(account), place))
      return found
    }
    guard kinds.contains(.settings) else { return [] }
    var found: [Reading] = configured.filter { $0.node != BookmarkList.node }.map { node, place in
      .record(
        .node(NodeRecord(owner: jid, name: node, form: forms[node], affiliations: affiliations[node] ?? [:])), place)
    }
    // The description of a picture refers to the picture itself.
    let isMetadata = { (item: ItemRecord) in item.node == "urn:xmpp:avatar:metadata" }
    for (item, place) in items.filter({ !isMetadata($0.item) }) + items.filter({ isMetadata($0.item) }) {
      if item.node == BookmarkList.node {
        if let xml = item.payload { found.append(.record(.privateXML(ElementRecord(owner: jid, xml: xml)), place)) }
        continue
      }
      var item = item
      item.form = forms[item.node]
      found.append(.record(.item(item), place))
    }
    return found
  }

  // MARK: Kinds of elements

  private func credentials(_ node: XMLNode) throws(FlawText) -> SCRAMRecord {
    guard let mechanism = node["mechanism"] else { throw FlawText("'mechanism' is missing") }
    func text(_ name: String) throws(FlawText) -> String {
      guard let text = node.first(name, NS.scram)?.text, !text.isEmpty else { throw FlawText("<\(name)/> is missing") }
      return text.filter { !$0.isWhitespace }
    }
    guard let iterations = Int(try text("iter-count")) else { throw FlawText("<iter-count/> is no number") }
    let keys = SCRAMRecord(
      mechanism: mechanism, iterations: iterations, salt: try text("salt"), storedKey: try text("stored-key"),
      serverKey: try text("server-key"))
    return Self.decodedTwice(keys) ?? keys
  }

  /// COMPAT(ejabberd 23.01): its export encodes in base 64 what is encoded already. No key is as long as another's text.
  private static func decodedTwice(_ keys: SCRAMRecord) -> SCRAMRecord? {
    func inner(_ text: String) -> (text: String, count: Int)? {
      guard let once = Base64.decode(text.utf8, canonical: false), let twice = Base64.decode(once) else { return nil }
      return (String(decoding: once, as: UTF8.self), twice.count)
    }
    guard let stored = inner(keys.storedKey), let server = inner(keys.serverKey), let salt = inner(keys.salt),
      stored.count == server.count, [20, 32, 64].contains(stored.count)
    else { return nil }
    var keys = keys
    (keys.salt, keys.storedKey, keys.serverKey) = (salt.text, stored.text, server.text)
    return keys
  }

  private func privateXML(_ node: XMLNode, _ place: Place, _ kinds: RecordKinds) -> [Reading] {
    if node.isBan {
      account.isDisabled = true
      return []
    }
    return kinds.contains(.settings) ? [.record(.privateXML(ElementRecord(owner: jid, xml: node.xml)), place)] : []
  }

  private func contact(_ node: XMLNode, _ place: Place) -> Reading {
    guard node.is("item", NS.roster), let contact = node["jid"] else {
      return .flaw(place, "a roster item without 'jid'")
    }
    return .record(
      .contact(
        ContactRecord(
          owner: jid, jid: contact, name: node["name"],
          groups: node.nodes.filter { $0.is("group", NS.roster) }.map(\.text),
          subscription: node["subscription"] ?? "none", asks: node["ask"] == "subscribe",
          isApproved: ["true", "1"].contains(node["approved"] ?? ""))), place)
  }

  private func owned(_ node: XMLNode, _ place: Place) -> [Reading] {
    guard let name = node["node"] else { return [.flaw(place, "<\(node.name)/> without 'node'")] }
    switch node.name {
    case "configure":
      configured.append((name, place))
      forms[name] = node.first("x", "jabber:x:data")?.xml
      return []
    case "affiliations":
      for child in node.nodes {
        if let other = child["jid"], let affiliation = child["affiliation"], MessageCopies.bare(other) != jid {
          affiliations[name, default: [:]][MessageCopies.bare(other)] = affiliation
        }
      }
      return []
    default: return [.flaw(place, "<\(node.name)/> of the node \(name) is not taken")]
    }
  }

  private func published(_ node: XMLNode, _ place: Place) -> [Reading] {
    guard node.is("items", NS.pubsub), let name = node["node"] else { return [.flaw(place, "<items/> without 'node'")] }
    var flaws: [Reading] = []
    for item in node.nodes where item.is("item", NS.pubsub) {
      let payload = item.childrenXML
      pubsubBytes += payload.utf8.count
      if pubsubBytes > ImportLimits.pubsubBytesMax {
        flaws.append(
          .flaw(place, "an item of the node \(name): \(jid) has more than \(ImportLimits.pubsubBytesMax) bytes"))
        continue
      }
      items.append(
        (
          ItemRecord(owner: jid, node: name, id: item["id"], payload: payload.isEmpty ? nil : payload),
          Place(file: place.file, line: place.line, key: "\(jid), node \(name), item \(item["id"] ?? "")")
        ))
    }
    return flaws
  }

  private func archived(_ node: XMLNode, _ place: Place) -> Reading {
    var place = place
    place.key = "\(jid), archive, id \(node["id"] ?? "")"
    guard node.is("result", NS.mam), let forwarded = node.first("forwarded", NS.forward),
      let stanza = forwarded.first("message", NS.client)
    else { return .flaw(place, "it is no <result/> with a forwarded message") }
    guard let time = forwarded.first("delay", MessageCopies.delay)?["stamp"].flatMap({ Timestamp($0) }) else {
      return .flaw(place, "<delay/> has no valid 'stamp'")
    }
    return copy(stanza, at: time, isOffline: false, place)
  }

  private func offline(_ node: XMLNode, _ place: Place) -> Reading {
    var place = place
    place.key = "\(jid), offline message"
    guard node.is("message", NS.client) else { return .flaw(place, "it is no message") }
    guard let time = MessageCopies.delay(of: node, for: jid) else {
      return .flaw(place, "<delay/> has no valid 'stamp'")
    }
    return copy(node, at: time, isOffline: true, place)
  }

  private func copy(_ stanza: XMLNode, at time: Timestamp, isOffline: Bool, _ place: Place) -> Reading {
    switch MessageCopies.make(stanza, of: jid, at: time, isOffline: isOffline) {
    case .success(let copy): .record(.copy(copy), place)
    case .failure(let flaw): .flaw(place, flaw.text)
    }
  }

  private func blocked(_ lists: PrivacyLists, _ place: Place) -> [Reading] {
    let blocks = lists.blocks()
    return (blocks.jids.isEmpty ? [] : [.record(.block(BlockRecord(owner: jid, jids: blocks.jids)), place)])
      + blocks.flaws.map { .flaw(place, "privacy list: \($0)") }
  }
}
