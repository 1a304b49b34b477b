import Accounts
import Addresses
import Basics
package import Dialogs
package import ImportSources
import XMPPDoor

/// Takes what another server kept; a record that is refused does not affect the others (docs/decisions/0036).
package enum ImportRecords: AdminOperation {
  package static let name = "records.import"

  package struct Input: Codable, Sendable {
    /// At most `AdminLimits.importBatchRecords` records: accounts before what belongs to them, messages in the order of
    /// their time.
    let records: [ImportRecord]
    /// The value names the import in the audit: the former server's kind and the path.
    let source: String
    package init(records: [ImportRecord], source: String) {
      self.records = records
      self.source = source
    }
  }

  /// The outcomes in the order of the records: `exists` for what is here already.
  package typealias Output = [RowOutcome]

  /// Batches are not acts: the audit has the beginning of an import, and its end (`EndImport`).
  package static let isReading = true

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [RowOutcome] {
    guard input.records.count <= AdminLimits.importBatchRecords else {
      throw Problem(.tooLarge, "batch-too-large", "One batch has at most \(AdminLimits.importBatchRecords) records.")
    }
    try await context.begin(input.source)
    var outcomes = [RowOutcome](repeating: RowOutcome(.done), count: input.records.count)
    try await accounts(input, in: context, &outcomes)
    try await others(input, in: context, &outcomes)
    return outcomes
  }

  // MARK: Accounts

  private static func accounts(
    _ input: Input, in context: AdminContext, _ outcomes: inout [RowOutcome]
  ) async throws(Problem) {
    var users: [Accounts.NewUser] = []
    var places: [Int] = []
    var records: [AccountRecord] = []
    for (place, record) in input.records.enumerated() {
      guard case .account(let account) = record else { continue }
      do throws(Problem) {
        let address = try AdminContext.account(account.jid)
        try checkServed(address.domain, context)
        users.append(try newUser(account, at: address))
        places.append(place)
        records.append(account)
      } catch {
        outcomes[place] = RowOutcome(error)
      }
    }
    if users.isEmpty { return }
    let addresses = users.map(\.address)
    let states = try await context.parley.read { reader in
      try addresses.map { try reader.user($0)?.state }
    }
    let refusals = try await context.accounts.refusals(of: users, byOperator: context.isOperator)
    // A source may name an account twice: the first one that can be taken counts.
    var seen: [BareJID: AccountRecord] = [:]
    var fresh: [(user: Accounts.NewUser, place: Int)] = []
    for (index, place) in places.enumerated() {
      let (address, record) = (addresses[index], records[index])
      if let state = states[index], state != .deleted {
        outcomes[place] =
          record.isDisabled && state != .disabled
          ? RowOutcome(.exists, "the account stays active, although it is disabled in the source", code: kept)
          : RowOutcome(.exists)
      } else if let refusal = refusals[index] {
        outcomes[place] = RowOutcome(refusal)
      } else if let first = seen[address] {
        outcomes[place] =
          first.isLike(record)
          ? RowOutcome(.exists)
          : RowOutcome(.exists, repeated, code: kept)
      } else {
        seen[address] = record
        fresh.append((users[index], place))
      }
    }
    if fresh.isEmpty { return }
    let rows = fresh.map(\.user)
    let results = await context.accounts.importUsers(rows, byOperator: context.isOperator)
    for (row, result) in zip(fresh, results) {
      if case .failure(let problem) = result {
        if problem.kind == .overloaded { throw problem }
        outcomes[row.place] = RowOutcome(problem)
      }
    }
  }

  /// The code of what is here already and is not as the source has it.
  package static let kept = "kept"
  /// The reason of a record about something that the source has before.
  static let repeated = "an earlier record of the source with another value counts"
  /// The code of what belongs to a domain that is not this server's. The reason names only the domains, so that all records
  /// of one have the same.
  package static let unserved = "domain-not-served"

  private static func checkServed(_ domain: String, _ context: AdminContext) throws(Problem) {
    if context.parley.realm(domain: domain) != nil { return }
    let served = context.parley.realms.map(\.domain).joined(separator: ", ")
    throw Problem(
      .foreign, unserved,
      "\(Line.safe(domain)) is not a domain of this server, whose domain is \(served) (the setting domain)")
  }

  private static func newUser(_ account: AccountRecord, at address: BareJID) throws(Problem) -> Accounts.NewUser {
    if let password = account.password {
      return Accounts.NewUser(
        address: address, password: password, displayName: nil, isDisabled: account.isDisabled, isMoved: true)
    }
    var found: [SCRAMKeys] = []
    for record in account.scram { if let keys = try keys(record) { found.append(keys) } }
    if found.isEmpty, let other = account.scram.first {
      throw Problem(.unsupported, "mechanism-unknown", "\(other.mechanism) is not supported.", field: "mechanism")
    }
    return Accounts.NewUser(address: address, keys: found, displayName: nil, isDisabled: account.isDisabled)
  }

  private static func keys(_ record: SCRAMRecord) throws(Problem) -> SCRAMKeys? {
    let hash: SCRAMHash
    switch record.mechanism {
    case "SCRAM-SHA-1": hash = .sha1
    case "SCRAM-SHA-256": hash = .sha256
    case "SCRAM-SHA-512": hash = .sha512
    default: return nil
    }
    func bytes(_ text: String, _ field: String) throws(Problem) -> [UInt8] {
      guard let bytes = Base64.decode(text.utf8, canonical: false) else {
        throw Problem(.malformed, "keys-invalid", "\(field) is not valid base64.", field: field)
      }
      return bytes
    }
    let keys = SCRAMKeys(
      hash: hash, salt: try bytes(record.salt, "salt"), iterations: record.iterations,
      storedKey: try bytes(record.storedKey, "stored-key"), serverKey: try bytes(record.serverKey, "server-key"))
    guard keys.isComplete else {
      throw Problem(
        .malformed, "keys-invalid", "The keys do not fit \(record.mechanism), or have too many iterations.",
        field: "scram")
    }
    return keys
  }

  // MARK: Everything else

  private static func others(
    _ input: Input, in context: AdminContext, _ outcomes: inout [RowOutcome]
  ) async throws(Problem) {
    let reading = ImportedRecords()
    var addresses: [String: BareJID] = [:]
    for case let owner? in input.records.map(\.owner) where addresses[owner] == nil {
      addresses[owner] = try? AdminContext.account(owner)
    }
    let known = addresses
    let parties = try await context.parley.read { reader in
      try known.compactMapValues { address -> Party? in
        try reader.user(address).flatMap { $0.state == .deleted || $0.realm.isRemote ? nil : $0.party }
      }
    }
    var wishes: [Wish] = []
    for (place, record) in input.records.enumerated() {
      guard let name = record.owner else {
        do throws(Problem) {
          if let found = try await ofRealm(record, reading, context, &outcomes[place]) {
            wishes.append(
              Wish(place: place, owner: Parley.nobody, noting: .realm(found.realm), intents: found.intents))
          }
        } catch {
          outcomes[place] = RowOutcome(error)
        }
        continue
      }
      do throws(Problem) {
        guard let address = addresses[name] else {
          throw Problem(.malformed, "jid-malformed", "\(Line.safe(name)) is not an account's address.", field: "owner")
        }
        try checkServed(address.domain, context)
        guard let party = parties[name] else {
          throw Problem(.missing, "user-unknown", "There is no user \(address).", field: "owner")
        }
        let intents = try intents(for: record, of: address, reading, &outcomes[place])
        wishes.append(Wish(place: place, owner: party, noting: .user(party.id), intents: intents))
      } catch {
        outcomes[place] = RowOutcome(error)
      }
    }
    if wishes.isEmpty { return }
    try await context.parley.makeWay(for: wishes.flatMap(\.intents))
    let found = try await post(wishes, reading, context.parley)
    for (place, outcome) in found where outcomes[place].status != .failed { outcomes[place] = outcome }
  }

  // MARK: Intents

  /// Returns the intents of what is a user's. What can only be taken in part becomes a failed `outcome` nonetheless.
  private static func intents(
    for record: ImportRecord, of owner: BareJID, _ reading: ImportedRecords, _ outcome: inout RowOutcome
  ) throws(Problem) -> [Intent] {
    switch record {
    case .account, .copy, .room, .roomPerson, .roomMessage, .contactGroup: return []
    case .contact(let contact): return [.imported(.contact(try self.contact(contact)))]
    case .file(let file): return [.imported(.file(file.slot))]
    case .request(let request):
      let children = try request.children.map { xml throws(Problem) in try reading.children(xml) }
      return [.imported(.request(from: try AdminContext.contact(request.from), stanza: children))]
    case .vCard(let element): return [try reading.vCard(element.xml)]
    case .privateXML(let element): return [try reading.privateXML(element.xml)]
    case .node(let node):
      let options = try reading.options(node.form)
      var affiliations: [BareJID: NodeAffiliation?] = [:]
      for (address, name) in node.affiliations where name != "none" && name != "owner" {
        guard let affiliation = reading.affiliation(name) else {
          throw Problem(.unsupported, "affiliation-unknown", "\(name) is not an affiliation.", field: "affiliations")
        }
        affiliations[try AdminContext.contact(address)] = affiliation
      }
      return [.node(.create(node: node.name, options)), .node(.configure(node: node.name, options))]
        + (affiliations.isEmpty ? [] : [.node(.affiliate(node: node.name, affiliations))])
    case .item(let item):
      return [
        .node(
          .publish(try reading.item(id: item.id, payload: item.payload, node: item.node, form: item.form)))
      ]
    case .block(let block):
      // One that is none must not let the others through.
      let odd = block.jids.filter { JID(parsing: $0) == nil }
      if !odd.isEmpty {
        outcome = RowOutcome(
          .failed, "jid: \(Line.safe(odd.joined(separator: ", "))) are not addresses", code: "jid-malformed")
      }
      let patterns = block.jids.compactMap { JID(parsing: $0) }.map { BlockPattern($0) }
      return patterns.isEmpty ? [] : [.block(patterns)]
    case .message(let message):
      let peer = try AdminContext.contact(message.peer)
      return [
        .imported(
          .message(
            try reading.message(
              message.xml, of: owner, with: peer, isInbound: message.isInbound,
              at: Timestamp(milliseconds: message.time),
              isInArchive: (message.isInAuthorsArchive, message.isInAddresseesArchive), isOffline: message.isOffline)))
      ]
    }
  }

  /// Returns the intents of what is no user's, and the realm that has it. What can only be taken in part becomes a failed
  /// `outcome` nonetheless.
  private static func ofRealm(
    _ record: ImportRecord, _ reading: ImportedRecords, _ context: AdminContext, _ outcome: inout RowOutcome
  ) async throws(Problem) -> (realm: RealmID, intents: [Intent])? {
    switch record {
    case .room(let room):
      let (address, realm) = try Self.room(room.jid, context)
      return (realm: realm, intents: [.imported(.room(try self.room(room, at: address, reading, &outcome)))])
    case .roomPerson(let person):
      guard let affiliation = reading.roomAffiliation(person.affiliation) else {
        throw Problem(
          .unsupported, "affiliation-unknown", "\(Line.safe(person.affiliation)) is not an affiliation.",
          field: "affiliation")
      }
      let (address, realm) = try Self.room(person.room, context)
      let imported = ImportedRoomPerson(
        room: address,
        member: MemberDraft(
          address: try AdminContext.contact(person.jid), affiliation: affiliation, nick: person.nick,
          reason: person.reason))
      return (realm: realm, intents: [.imported(.roomPerson(imported))])
    case .roomMessage(let message):
      let (address, realm) = try Self.room(message.room, context)
      let imported = try reading.roomMessage(
        message.xml, in: address, nick: message.nick,
        author: message.author.flatMap { try? AdminContext.contact($0) },
        at: Timestamp(milliseconds: message.time))
      return (realm: realm, intents: [.imported(.roomMessage(imported))])
    case .contactGroup(let group):
      try checkServed(group.domain, context)
      let realm = try context.realm(group.domain)
      let put = ContactGroupIntent.put(
        realm.id, name: group.name, displayName: group.label, hasEveryone: group.hasEveryone)
      let see = ContactGroupIntent.change(realm.id, name: group.name, adding: [], removing: [], seeing: group.sees)
      let seeing: [Intent] = group.sees.isEmpty ? [] : [.contactGroup(see)]
      if group.hasEveryone { return (realm: realm.id, intents: [.contactGroup(put)] + seeing) }
      let members = try group.members.map { jid throws(Problem) in try AdminContext.account(jid) }
      let known = try await context.parley.read { reader in
        try members.filter { try reader.user($0).map { $0.state != .deleted } ?? false }
      }
      let missing = members.filter { !known.contains($0) }
      if !missing.isEmpty {
        let names = missing.map(\.description).joined(separator: ", ")
        outcome = RowOutcome(.failed, "members: there is no user \(names)", code: "user-unknown")
      }
      let joining: [Intent] =
        known.isEmpty ? [] : [.contactGroup(.change(realm.id, name: group.name, adding: known, removing: []))]
      return (realm: realm.id, intents: [.contactGroup(put)] + joining + seeing)
    case .account, .contact, .request, .vCard, .privateXML, .node, .item, .block, .copy, .message, .file: return nil
    }
  }

  /// Returns the room without what does not fit here and restricts nobody: its archive is worth more than its description.
  private static func room(
    _ record: RoomRecord, at address: BareJID, _ reading: ImportedRecords, _ outcome: inout RowOutcome
  ) throws(Problem) -> ImportedRoom {
    func imported(_ fields: [String: String], topic: String) throws(Problem) -> ImportedRoom {
      try reading.room(
        at: address, fields: fields, owners: record.owners.compactMap { try? AdminContext.contact($0) }, topic: topic,
        topicNick: record.subjectNick, time: record.time.map { Timestamp(milliseconds: $0) })
    }
    var (fields, topic) = (record.fields, record.subject)
    var flaws: [String] = []
    for field in ["roomname", "roomdesc", "lang", "maxusers"] {
      guard let value = fields[field] else { continue }
      do throws(Problem) {
        try PlainText.check(value, field: field)
        _ = try imported([field: value], topic: "")
      } catch {
        fields[field] = nil
        flaws.append(error.text)
      }
    }
    if topic.utf8.count > Limits.topicBytesMax {
      topic = ""
      flaws.append("the subject has more than \(Limits.topicBytesMax) bytes")
    }
    do throws(Problem) { try PlainText.check(topic, field: "subject") } catch {
      topic = ""
      flaws.append(error.text)
    }
    if !flaws.isEmpty {
      outcome = RowOutcome(.failed, "the room was imported without this: \(flaws.joined(separator: "; "))")
    }
    return try imported(fields, topic: topic)
  }

  /// Returns the address of a room, and the realm that has the room.
  private static func room(_ jid: String, _ context: AdminContext) throws(Problem) -> (BareJID, RealmID) {
    let address = try AdminContext.contact(jid)
    guard let realm = context.parley.realm(rooms: address.domain) else {
      let served = context.parley.realms.map(\.rooms).joined(separator: ", ")
      throw Problem(
        .foreign, unserved,
        "\(address.domain) has no rooms here; the rooms of this server are at \(served) (the setting rooms.domain)")
    }
    return (address, realm.id)
  }

  private static func contact(_ record: ContactRecord) throws(Problem) -> ImportedContact {
    let address = try AdminContext.contact(record.jid)
    guard ["none", "to", "from", "both"].contains(record.subscription) else {
      throw Problem(
        .malformed, "subscription-invalid", "\(Line.safe(record.subscription)) is not a subscription.",
        field: "subscription")
    }
    let to = record.subscription == "to" || record.subscription == "both"
    let from = record.subscription == "from" || record.subscription == "both"
    // A request or an approval that was answered says nothing more.
    guard
      let subscription = Subscription(
        to: to, from: from, asks: record.asks && !to, isApproved: record.isApproved && !from)
    else {
      throw Problem(.malformed, "subscription-invalid", "These states exclude each other.", field: "subscription")
    }
    return ImportedContact(
      address: address, name: record.name.flatMap { $0.isEmpty ? nil : $0 },
      groups: record.groups.filter { !$0.isEmpty },
      subscription: subscription)
  }
}

extension AccountRecord {
  /// Whether another record of the same account says the same; their addresses may be written differently.
  fileprivate func isLike(_ other: AccountRecord) -> Bool {
    var other = other
    other.jid = jid
    return self == other
  }
}

extension ImportRecord {
  /// The user that the record belongs to; nil for an account itself, and for what is no user's.
  fileprivate var owner: String? {
    switch self {
    case .account, .room, .roomPerson, .roomMessage, .contactGroup: nil
    case .contact(let record): record.owner
    case .request(let record): record.owner
    case .vCard(let record), .privateXML(let record): record.owner
    case .node(let record): record.owner
    case .item(let record): record.owner
    case .block(let record): record.owner
    case .copy(let record): record.owner
    case .message(let record): record.owner
    case .file(let record): record.owner
    }
  }
}
