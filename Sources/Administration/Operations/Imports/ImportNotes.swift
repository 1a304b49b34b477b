import Addresses
import Dialogs
import XMPPDoor

/// A thing that an import brings, by what it is about and not by its content.
struct ImportedThing: Hashable, Sendable {
  /// The kinds. Stored: never rename.
  enum Kind: String, Sendable {
    case contact, request, profile, block, node, item
    case privateXML = "private"
    case file, room
    case roomPerson = "room-person"
    case contactGroup = "contact-group"
    case contactGroupMember = "contact-group-member"
    case contactGroupLink = "contact-group-link"
  }
  let kind: Kind
  let name: String
  /// The room or contact group to which it belongs, whose notes of this kind are a value of their own; else empty. Files
  /// come one at a time, so that each has a value of its own.
  let scope: String

  init(_ kind: Kind, _ name: String = "", of scope: String = "") {
    self.kind = kind
    self.name = name
    self.scope = scope
  }

  /// The profile that an import has set. The profile itself gets a note also where the user's own stayed.
  static let profileSet = ImportedThing(.profile, "set")

  static func item(_ id: String, in node: String) -> ImportedThing { ImportedThing(.item, "\(node)\u{0}\(id)") }
  static func file(_ id: BlobID) -> ImportedThing { ImportedThing(.file, id.description, of: id.description) }
  static func room(_ address: BareJID) -> ImportedThing { ImportedThing(.room, address.description) }

  fileprivate var digest: UInt64 {
    var digest = Digest64()
    digest.combine(name)
    return digest.finish()
  }
}

/// The notes of what imports have brought to users, and to realms: their rooms and contact groups. A thing with a note is
/// not brought again, so what has been changed or removed since stays so (docs/decisions/0036).
///
/// The notes of one kind and scope are the 64-bit digests of its things in one value. Two things with the same digest are a
/// matter of chance: the second one would be passed over and reported.
struct ImportNotes {
  enum Owner: Hashable, Sendable {
    case user(UserID)
    case realm(RealmID)
  }
  private struct Key: Hashable {
    let owner: Owner
    let kind: ImportedThing.Kind
    let scope: String

    init(_ owner: Owner, _ thing: ImportedThing) {
      self.owner = owner
      kind = thing.kind
      scope = thing.scope
    }

    var item: String { scope.isEmpty ? kind.rawValue : "\(kind.rawValue) \(scope)" }

    func read(_ reader: any StoreReader) throws -> [UInt8]? {
      switch owner {
      case .user(let user): try reader.value(of: user, node: ValueKey.imported, item: item)
      case .realm(let realm): try reader.value(of: realm, item: "\(ValueKey.imported) \(item)")
      }
    }

    func write(_ bytes: [UInt8], _ writer: any StoreWriter) throws {
      switch owner {
      case .user(let user): try writer.setValue(of: user, node: ValueKey.imported, item: item, bytes)
      case .realm(let realm): try writer.setValue(of: realm, item: "\(ValueKey.imported) \(item)", bytes)
      }
    }
  }
  private var known: [Key: Set<UInt64>] = [:]
  /// The bookmarks that this batch brings: a list that comes behind them must not remove them.
  fileprivate var bookmarks: [UserID: [Bookmark]] = [:]
  /// Whether a room was brought and is no longer here, which each of its messages asks.
  private var lostRooms: [BareJID: Bool] = [:]

  mutating func contains(_ thing: ImportedThing, of owner: Owner, _ reader: any StoreReader) throws -> Bool {
    if try load(Key(owner, thing), reader).contains(thing.digest) { return true }
    guard thing.kind == .file else { return false }
    // Earlier imports kept the notes of all files of a user in one value.
    return try load(Key(owner, ImportedThing(.file)), reader).contains(thing.digest)
  }

  /// Adds the notes of many things, with one value for each owner, kind and scope.
  static func add(_ things: [(owner: Owner, thing: ImportedThing)], _ writer: any StoreWriter) throws {
    var notes = ImportNotes()
    var changed: Set<Key> = []
    for (owner, thing) in things {
      let key = Key(owner, thing)
      var digests = try notes.load(key, writer)
      guard digests.insert(thing.digest).inserted else { continue }
      notes.known[key] = digests
      changed.insert(key)
    }
    for key in changed {
      let bytes = (notes.known[key] ?? []).sorted().flatMap { digest in
        (0..<8).map { UInt8(truncatingIfNeeded: digest >> (56 - 8 * $0)) }
      }
      try key.write(bytes, writer)
    }
  }

  private mutating func load(_ key: Key, _ reader: any StoreReader) throws -> Set<UInt64> {
    if let known = known[key] { return known }
    let bytes = try key.read(reader) ?? []
    let digests = stride(from: 0, to: bytes.count - bytes.count % 8, by: 8).map { start in
      bytes[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    known[key] = Set(digests)
    return Set(digests)
  }

  fileprivate mutating func isLost(_ room: BareJID, of owner: Owner, _ reader: any StoreReader) throws -> Bool {
    if let known = lostRooms[room] { return known }
    var isLost = false
    if try reader.room(at: room)?.isDestroyed ?? true { isLost = try contains(.room(room), of: owner, reader) }
    lostRooms[room] = isLost
    return isLost
  }
}

/// The treatment of a record of an import, which depends on what is here.
enum ImportDecision {
  /// The intents are posted; `things` get notes if none of them is refused. `kept` is for the report: the reason why a
  /// part of the record is not taken.
  case post([Intent], things: [ImportedThing], kept: String? = nil)
  /// All of it is here as it was there.
  case here([ImportedThing])
  /// The record differs from what is here, or was removed here, and is not taken. The text is for the report.
  case kept(String, [ImportedThing])

  /// The thing that another record must not bring without knowing of this one; `nil` for lists, of which each brings what
  /// is missing.
  var subject: ImportedThing? {
    switch self {
    case .here(let things), .kept(_, let things): return things.first
    case .post(let intents, let things, _):
      if case .block? = intents.first { return nil }
      if case .node(.bookmarks, _)? = intents.first { return nil }
      return things.first
    }
  }

  static let changed = "this server has another value, which is kept"
  static let changedOrRemoved = "it was changed or removed on this server, and is not imported again"
  private static let removed = "it was imported before and then removed, and is not imported again"

  /// Decides of a record: existence decides, or else a note. Each kind has its own line here, and one in the table of
  /// docs/decisions/0036; accounts are decided with their passwords (`ImportRecords`).
  ///
  /// - Parameters:
  ///   - owner: The user whose record it is; `Parley.nobody` for that of a realm.
  ///   - noting: Whose notes know of it.
  ///   - reading: What says whether an export has the record as it is here, so that what this server has exported itself is
  ///     recognised when it comes back.
  init(
    _ intents: [Intent], of owner: Party, noting: ImportNotes.Owner, _ notes: inout ImportNotes,
    _ reading: ImportedRecords, _ reader: any StoreReader
  ) throws {
    func isNoted(_ thing: ImportedThing) throws -> Bool { try notes.contains(thing, of: noting, reader) }
    switch intents.first {
    case .imported(let imported)?:
      self = try Self.imported(imported, intents, of: owner, noting: noting, &notes, reader)
    case .profile(let draft)?: self = try Self.profile(draft, intents, of: owner, reading, reader, isNoted)
    case .setPrivateXML(let drafts)?: self = try Self.privateXML(drafts, intents, of: owner, reader, isNoted)
    case .block(let patterns, _)?: self = try Self.blocks(patterns, of: owner, reader, isNoted)
    case .node(.bookmarks(let draft), _)?:
      let coming = notes.bookmarks[owner.id] ?? []
      self = try Self.bookmarks(draft, besides: coming, of: owner, reader, isNoted)
      if case .post = self { notes.bookmarks[owner.id] = coming + draft.bookmarks }
    case .node(.create(let name, let options), _)?:
      self = try Self.node(name, options, intents, of: owner, reader, isNoted)
    case .node(.publish(let publication), _)?:
      self = try Self.item(publication, intents, of: owner, reading, reader, isNoted)
      if case .post = self, case .bookmark(let bookmark)? = publication.item?.content {
        notes.bookmarks[owner.id, default: []].append(bookmark)
      }
    case .contactGroup?: self = try Self.contactGroup(intents, reader, isNoted)
    case .message, .marker, .contact, .removeContact, .subscription, .befriend, .link, .redeem, .report, .unblock,
      .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call, .room, .node, .visit,
      .archivePreferences, .blob, .push, .goOnline, .handOver, .outbox, .signal, .confirm, .leave, .endTyping, .refused,
      .erase, .work, nil:
      self = .post(intents, things: [])
    }
  }

  /// Decides of what the posts of users cannot say.
  private static func imported(
    _ imported: ImportIntent, _ intents: [Intent], of owner: Party, noting: ImportNotes.Owner,
    _ notes: inout ImportNotes, _ reader: any StoreReader
  ) throws -> ImportDecision {
    func isNoted(_ thing: ImportedThing) throws -> Bool { try notes.contains(thing, of: noting, reader) }
    switch imported {
    case .contact(let contact): return try self.contact(contact, intents, of: owner, reader, isNoted)
    case .request(let address, _): return try request(address, intents, of: owner, reader, isNoted)
    case .file(let file): return try self.file(file, intents, reader, isNoted)
    case .room(let room):
      if let here = try reader.room(at: room.address), !here.isDestroyed {
        return room.isAs(here) ? .here([.room(room.address)]) : .kept(changed, [.room(room.address)])
      } else {
        let isLost = try notes.isLost(room.address, of: noting, reader)
        return isLost ? .kept(removed, []) : .post(intents, things: [.room(room.address)])
      }
    case .roomPerson(let person):
      let isLost = try notes.isLost(person.room, of: noting, reader)
      return try isLost ? .kept(removed, []) : self.person(person, intents, reader, isNoted)
    case .roomMessage(let message):
      // The judge finds the message itself by time, author, id and content.
      let isLost = try notes.isLost(message.room, of: noting, reader)
      return isLost ? .kept(removed, []) : .post(intents, things: [])
    case .message: return .post(intents, things: [])
    }
  }

  private static func contact(
    _ contact: ImportedContact, _ intents: [Intent], of owner: Party, _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    let thing = ImportedThing(.contact, contact.address.description)
    if let here = try reader.ownContact(of: owner.id, contact.address), here.subscription.isInRoster {
      let isOurs = contact.address.local != nil && contact.address.domain == owner.address.domain
      let hasAccount = try reader.user(contact.address).map { $0.state != .deleted } ?? false
      // Requests to an address that was nobody's are void here, and are not exported.
      let isAlike = contact.isAs(here.exported(by: owner.address), isNobodys: isOurs && !hasAccount)
      return isAlike ? .here([thing]) : .kept(changed, [thing])
    } else {
      return try isNoted(thing) ? .kept(removed, [thing]) : .post(intents, things: [thing])
    }
  }

  private static func request(
    _ address: BareJID, _ intents: [Intent], of owner: Party, _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    let thing = ImportedThing(.request, address.description)
    let here = try reader.ownContact(of: owner.id, address)
    if here?.subscription.pendingIn == true {
      return .here([thing])
    } else if try !isNoted(thing) {
      return .post(intents, things: [thing])
    } else {
      // A request that was accepted has become a contact.
      return here == nil ? .kept(removed, [thing]) : .here([thing])
    }
  }

  private static func file(
    _ file: ImportedFile, _ intents: [Intent], _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    // The note follows the last byte (`ImportFile`): a slot alone is no file.
    switch try reader.blob(file.id, .server(.administration))?.state {
    case .stored?: return .here([.file(file.id)])
    case .gone?: return .kept(removed, [.file(file.id)])
    case .awaited?, .refused?: return .post(intents, things: [])
    case nil: return try isNoted(.file(file.id)) ? .kept(removed, []) : .post(intents, things: [])
    }
  }

  private static func profile(
    _ draft: ProfileDraft, _ intents: [Intent], of owner: Party, _ reading: ImportedRecords, _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    let thing = ImportedThing(.profile)
    let card = try reader.value(of: owner.id, node: ValueKey.vCard, item: ValueKey.bytes)
    let user = try reader.user(owner.id)
    var isHere = card == draft.vCard
    if !isHere, let user { isHere = try reading.isExported(draft, of: user, reader) }
    // A picture that an import has set says nothing of a vCard that comes after it.
    let isPictured = try user?.profile.avatarHash != nil && !isNoted(.profileSet)
    if isHere {
      return .here([thing])
    } else if card != nil || user?.profile.displayName != nil || isPictured {
      return .kept(changed, [thing])
    } else {
      return try isNoted(thing) ? .kept(removed, [thing]) : .post(intents, things: [thing, .profileSet])
    }
  }

  private static func privateXML(
    _ drafts: [PrivateXMLDraft], _ intents: [Intent], of owner: Party, _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    let thing = ImportedThing(.privateXML, drafts.first?.name ?? "")
    let here = try reader.value(of: owner.id, node: ValueKey.privateXML, item: thing.name)
    if let here {
      return here == drafts.first?.bytes ? .here([thing]) : .kept(changed, [thing])
    } else {
      return try isNoted(thing) ? .kept(removed, [thing]) : .post(intents, things: [thing])
    }
  }

  /// A list of blocks brings those that are missing.
  private static func blocks(
    _ patterns: [BlockPattern], of owner: Party, _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    let things = patterns.map { ImportedThing(.block, $0.jid.description) }
    let here = try Set(reader.blocks(of: owner.id))
    let missing = zip(patterns, things).filter { !here.contains($0.0) }
    let wanted = try missing.filter { try !isNoted($0.1) }
    if !wanted.isEmpty {
      let isKept = wanted.count < missing.count
      return .post([.block(wanted.map(\.0))], things: things, kept: isKept ? removed : nil)
    } else {
      return missing.isEmpty ? .here(things) : .kept(removed, things)
    }
  }

  /// A list of bookmarks brings those that are missing, and removes none.
  ///
  /// - Parameter coming: the bookmarks that the same batch brings.
  private static func bookmarks(
    _ draft: BookmarksDraft, besides coming: [Bookmark], of owner: Party, _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    var here: [Bookmark] = []
    var others: [UInt8] = []
    if case .bookmarks(let bookmarks, let other)? = try Bookmark.list(of: owner.id, reader)?.content {
      (here, others) = (bookmarks, other)
    }
    let known = Dictionary(here.map { ($0.address, $0) }, uniquingKeysWith: { first, _ in first })
    let new = coming.filter { known[$0.address] == nil }
    let arriving = Set(new.map(\.address))
    let things = draft.bookmarks.map { ImportedThing.item($0.address.description, in: Bookmark.node) }
    var (missing, isKept): ([Bookmark], Bool) = ([], false)
    for (bookmark, thing) in zip(draft.bookmarks, things) {
      if let known = known[bookmark.address] {
        if !bookmark.isAs(known, comparingExtensions: false) { isKept = true }
      } else if arriving.contains(bookmark.address) {
        continue
      } else if try isNoted(thing) {
        isKept = true
      } else {
        missing.append(bookmark)
      }
    }
    let list = ImportedThing(.privateXML, Bookmark.listNode)
    let bringsOthers = try draft.others?.isEmpty == false && others.isEmpty && !isNoted(list)
    if missing.isEmpty, !bringsOthers {
      return isKept ? .kept(changed, things + [list]) : .here(things + [list])
    }
    let whole = BookmarksDraft(bookmarks: here + new + missing, others: bringsOthers ? draft.others : nil)
    return .post([.node(.bookmarks(whole))], things: things + [list], kept: isKept ? changed : nil)
  }

  /// A node is configured once, if it has not been configured here.
  private static func node(
    _ name: String, _ options: [NodeOption], _ intents: [Intent], of owner: Party, _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    let thing = ImportedThing(.node, name)
    let wasBrought = try isNoted(thing)
    guard let node = try reader.node(name, of: owner.id) else {
      return wasBrought ? .kept(removed, [thing]) : .post(intents, things: [thing])
    }
    var configuration = node.configuration
    for option in options { option.apply(to: &configuration) }
    let isAlike = configuration == node.configuration
    var people: [BareJID: NodeAffiliation?] = [:]
    for case .node(.affiliate(_, let coming), _) in intents { people = coming }
    let known = try reader.people(of: name, of: owner.id).affiliations
    if isAlike, wasBrought || people.allSatisfy({ known[$0.key] == $0.value }) { return .here([thing]) }
    let isStandard = node.configuration == .standard(for: name, of: owner.id)
    return !wasBrought && (isAlike || isStandard) ? .post(intents, things: [thing]) : .kept(changed, [thing])
  }

  private static func item(
    _ publication: NodePublication, _ intents: [Intent], of owner: Party, _ reading: ImportedRecords,
    _ reader: any StoreReader, _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    guard let item = publication.item else { return .post(intents, things: []) }
    let thing = ImportedThing.item(item.id, in: publication.node)
    // What the server has made of an imported profile is not the user's yet.
    let view = ProfileNode(rawValue: publication.node)
    let isMirror = try view != nil && isNoted(.profileSet)
    let things = view == nil ? [thing] : [thing, .profileSet]
    let wasBrought = try isNoted(thing)
    if let here = try reader.item(item.id, in: publication.node, of: owner.id) {
      if here.content == item.content { return .here([thing]) }
      if try reading.isExported(item.content, of: here, in: publication.node, of: owner, reader) {
        return .here([thing])
      }
      if case .bookmark(let bookmark) = item.content, case .bookmark(let known) = here.content,
        bookmark.isAs(known, comparingExtensions: true)
      {
        return .here([thing])
      }
      return isMirror && !wasBrought ? .post(intents, things: things) : .kept(changed, [thing])
    }
    if wasBrought { return .kept(removed, [thing]) }
    if let view, !isMirror, let profile = try reader.user(owner.id)?.profile {
      let isHere =
        switch view {
        case .nickname, .vCard4: profile.displayName != nil
        case .avatarData, .avatarMetadata: profile.avatarHash != nil
        }
      if isHere { return .kept(changed, [thing]) }
    }
    // An item of the past must not take the place of one that was published here.
    if !isMirror, let node = try reader.node(publication.node, of: owner.id),
      node.itemCount > 0, node.itemCount >= node.capacity,
      let oldest = try reader.items(in: node.name, of: owner.id, newest: false, limit: 1).first,
      try !isNoted(.item(oldest.id, in: node.name))
    {
      return .kept(changed, [thing])
    }
    return .post(intents, things: things)
  }
}

extension ImportDecision {
  /// Somebody is brought into a room once: who was removed stays outside, a ban that was lifted stays lifted.
  private static func person(
    _ person: ImportedRoomPerson, _ intents: [Intent], _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    let draft = person.member
    let thing = ImportedThing(.roomPerson, draft.address.description, of: person.room.description)
    let wasBrought = try isNoted(thing)
    guard let room = try reader.room(at: person.room), !room.isDestroyed else {
      return .post(intents, things: [thing])
    }
    if draft.address.local != nil, let user = try reader.user(draft.address, seenFrom: room.name.realm),
      user.state != .deleted, let member = try reader.member(user.id, of: .server(room.id, .administration))
    {
      let isAlike = member.affiliation == draft.affiliation
      let nick = member.affiliation.isMember ? draft.nick.flatMap { try? Precis.nickname($0) } : nil
      if isAlike, nick == nil || nick == member.nick { return .here([thing]) }
      // The owner for whom the room was created has no nick yet.
      let lacksNick = isAlike && member.nick == nil && !wasBrought
      return lacksNick ? .post(intents, things: [thing]) : .kept(changed, [thing])
    }
    if try reader.value(of: room.id, node: ValueKey.bans, item: draft.address.description) != nil {
      return draft.affiliation == .outcast ? .here([thing]) : .kept(changed, [thing])
    }
    return wasBrought ? .kept(removed, [thing]) : .post(intents, things: [thing])
  }

  /// A contact group is created once, and its members and the groups that it sees are added once. Its name and kind are
  /// those that it has here.
  private static func contactGroup(
    _ intents: [Intent], _ reader: any StoreReader, _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    guard case .contactGroup(.put(let realm, let name, let displayName, let hasEveryone))? = intents.first else {
      return .post(intents, things: [])
    }
    var (adding, seeing): ([BareJID], [String]) = ([], [])
    for case .contactGroup(.change(_, _, let joining, _, let sighted, _)) in intents {
      adding += joining
      seeing += sighted
    }
    let thing = ImportedThing(.contactGroup, name)
    func member(_ address: BareJID) -> ImportedThing {
      ImportedThing(.contactGroupMember, address.description, of: name)
    }
    func link(_ other: String) -> ImportedThing { ImportedThing(.contactGroupLink, other, of: name) }
    let things = [thing] + adding.map(member) + seeing.map(link)
    let here = try reader.contactGroup(name, in: realm)
    if here == nil, try isNoted(thing) { return .kept(removed, [thing]) }
    var posts: [Intent] = here == nil ? [intents[0]] : []
    var isKept = false
    if let here {
      isKept = here.displayName != displayName ?? name || here.hasEveryone != hasEveryone ?? false
      // Everyone is in such a group, and nobody else can be.
      if here.hasEveryone { adding = [] }
    }
    let members = try here.map { try Set(reader.members(ofContactGroup: $0.id)) } ?? []
    let missing = try adding.filter { address in
      if let user = try reader.user(address), members.contains(user.id) { return false }
      if try isNoted(member(address)) {
        isKept = true
        return false
      }
      return true
    }
    let seen = try here.map { try Set(reader.contactGroups(seenBy: $0.id)) } ?? []
    let unseen = try seeing.filter { name in
      let other = try reader.contactGroup(name, in: realm)
      if let other, seen.contains(other.id) { return false }
      // A group that was deleted here cannot be seen.
      let isDeleted = try other == nil && isNoted(ImportedThing(.contactGroup, name))
      if try isDeleted || isNoted(link(name)) {
        isKept = true
        return false
      }
      return true
    }
    if !missing.isEmpty { posts.append(.contactGroup(.change(realm, name: name, adding: missing, removing: []))) }
    if !unseen.isEmpty {
      posts.append(.contactGroup(.change(realm, name: name, adding: [], removing: [], seeing: unseen)))
    }
    if posts.isEmpty { return isKept ? .kept(changed, things) : .here(things) }
    return .post(posts, things: things, kept: isKept ? changed : nil)
  }
}

extension Bookmark {
  /// Whether it says the same as one that is here, beside what the server keeps with it.
  fileprivate func isAs(_ here: Bookmark, comparingExtensions: Bool) -> Bool {
    var one = self
    (one.notifications, one.isPinned) = (here.notifications, here.isPinned)
    if !comparingExtensions { (one.extensions, one.others) = (here.extensions, here.others) }
    return one == here
  }
}
