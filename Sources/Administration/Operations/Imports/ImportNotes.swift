import Addresses
import Dialogs

/// A thing of a user that an import brings, by what it is about and not by its content.
struct ImportedThing: Hashable, Sendable {
  /// The kinds. Stored: never rename.
  enum Kind: String, Sendable {
    case contact, request, profile, block, node, item
    case privateXML = "private"
  }
  let kind: Kind
  let name: String

  init(_ kind: Kind, _ name: String = "") {
    self.kind = kind
    self.name = name
  }

  /// The profile that an import has set. The profile itself gets a note also where the user's own stayed.
  static let profileSet = ImportedThing(.profile, "set")

  static func item(_ id: String, in node: String) -> ImportedThing { ImportedThing(.item, "\(node)\u{0}\(id)") }

  fileprivate var digest: UInt64 {
    var digest = Digest64()
    digest.combine(name)
    return digest.finish()
  }
}

/// The notes of what imports have brought to users. A thing with a note is not brought again, so what its user has changed
/// or removed since stays so (docs/decisions/0036).
///
/// The notes of one kind are the 64-bit digests of its things in one value. Two things with the same digest are a matter of
/// chance: the second one would be passed over and reported.
struct ImportNotes {
  private struct Key: Hashable {
    let owner: UserID
    let kind: ImportedThing.Kind
  }
  private var known: [Key: Set<UInt64>] = [:]
  /// The bookmarks that this batch brings: a list that comes behind them must not remove them.
  fileprivate var bookmarks: [UserID: [Bookmark]] = [:]

  mutating func contains(_ thing: ImportedThing, of owner: UserID, _ reader: any StoreReader) throws -> Bool {
    try load(thing.kind, of: owner, reader).contains(thing.digest)
  }

  /// Adds the notes of many things, with one value for each user and kind.
  static func add(_ things: [(owner: UserID, thing: ImportedThing)], _ writer: any StoreWriter) throws {
    var notes = ImportNotes()
    var changed: Set<Key> = []
    for (owner, thing) in things {
      let key = Key(owner: owner, kind: thing.kind)
      var digests = try notes.load(thing.kind, of: owner, writer)
      guard digests.insert(thing.digest).inserted else { continue }
      notes.known[key] = digests
      changed.insert(key)
    }
    for key in changed {
      let bytes = (notes.known[key] ?? []).sorted().flatMap { digest in
        (0..<8).map { UInt8(truncatingIfNeeded: digest >> (56 - 8 * $0)) }
      }
      try writer.setValue(of: key.owner, node: ValueKey.imported, item: key.kind.rawValue, bytes)
    }
  }

  private mutating func load(
    _ kind: ImportedThing.Kind, of owner: UserID, _ reader: any StoreReader
  ) throws -> Set<UInt64> {
    let key = Key(owner: owner, kind: kind)
    if let known = known[key] { return known }
    let bytes = try reader.value(of: owner, node: ValueKey.imported, item: kind.rawValue) ?? []
    let digests = stride(from: 0, to: bytes.count - bytes.count % 8, by: 8).map { start in
      bytes[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    known[key] = Set(digests)
    return Set(digests)
  }
}

/// The treatment of a record of an import, which depends on what is here.
enum ImportDecision {
  /// The intents are posted; `things` get notes if none of them is refused.
  case post([Intent], things: [ImportedThing])
  /// All of it is here as it was there.
  case here([ImportedThing])
  /// The record differs from what is here, or was removed here, and is not taken. The text is for the report.
  case kept(String, [ImportedThing])

  static let changed = "it is something else here, which stays"
  private static let removed = "it was imported before and is no longer here, which stays so"

  /// Decides of a record that is about one user.
  init(
    _ intents: [Intent], of owner: Party, _ notes: inout ImportNotes, _ reader: any StoreReader
  ) throws {
    func isNoted(_ thing: ImportedThing) throws -> Bool { try notes.contains(thing, of: owner.id, reader) }
    switch intents.first {
    case .imported(.contact(let contact))?:
      let thing = ImportedThing(.contact, contact.address.description)
      if let here = try reader.ownContact(of: owner.id, contact.address), here.subscription.isInRoster {
        let isOurs = contact.address.local != nil && contact.address.domain == owner.address.domain
        let hasAccount = try reader.user(contact.address).map { $0.state != .deleted } ?? false
        self = contact.isAs(here, isNobodys: isOurs && !hasAccount) ? .here([thing]) : .kept(Self.changed, [thing])
      } else {
        self = try isNoted(thing) ? .kept(Self.removed, [thing]) : .post(intents, things: [thing])
      }
    case .imported(.request(let address, _))?:
      let thing = ImportedThing(.request, address.description)
      if try !isNoted(thing) {
        self = .post(intents, things: [thing])
      } else {
        // A request that was accepted has become a contact.
        self = try reader.ownContact(of: owner.id, address) == nil ? .kept(Self.removed, [thing]) : .here([thing])
      }
    case .profile(let draft)?:
      let thing = ImportedThing(.profile)
      let card = try reader.value(of: owner.id, node: ValueKey.vCard, item: ValueKey.bytes)
      if card == draft.vCard {
        self = .here([thing])
      } else if try isNoted(thing) {
        self = .kept(card == nil ? Self.removed : Self.changed, [thing])
      } else {
        let isNamed = try reader.user(owner.id)?.profile.displayName != nil
        self =
          card != nil || isNamed ? .kept(Self.changed, [thing]) : .post(intents, things: [thing, .profileSet])
      }
    case .setPrivateXML(let drafts)?:
      let thing = ImportedThing(.privateXML, drafts.first?.name ?? "")
      let here = try reader.value(of: owner.id, node: ValueKey.privateXML, item: thing.name)
      if let here {
        self = here == drafts.first?.bytes ? .here([thing]) : .kept(Self.changed, [thing])
      } else {
        self = try isNoted(thing) ? .kept(Self.removed, [thing]) : .post(intents, things: [thing])
      }
    case .block(let patterns, _)?:
      let things = patterns.map { ImportedThing(.block, $0.jid.description) }
      let here = try Set(reader.blocks(of: owner.id))
      let missing = zip(patterns, things).filter { !here.contains($0.0) }
      let wanted = try missing.filter { try !isNoted($0.1) }
      if !wanted.isEmpty {
        self = .post([.block(wanted.map(\.0))], things: things)
      } else {
        self = missing.isEmpty ? .here(things) : .kept(Self.removed, things)
      }
    case .node(.bookmarks(let draft), _)?:
      let coming = notes.bookmarks[owner.id] ?? []
      self = try Self.bookmarks(draft, besides: coming, of: owner, reader, isNoted)
      if case .post = self { notes.bookmarks[owner.id] = coming + draft.bookmarks }
    case .node(.create(let name, let options), _)?:
      self = try Self.node(name, options, intents, of: owner, reader, isNoted)
    case .node(.publish(let publication), _)?:
      self = try Self.item(publication, intents, of: owner, reader, isNoted)
      if case .post = self, case .bookmark(let bookmark)? = publication.item?.content {
        notes.bookmarks[owner.id, default: []].append(bookmark)
      }
    default: self = .post(intents, things: [])
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
    return .post([.node(.bookmarks(whole))], things: things + [list])
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
    let isStandard = node.configuration == .standard(for: name, of: owner.id)
    if !wasBrought, isStandard || configuration == node.configuration { return .post(intents, things: [thing]) }
    return configuration == node.configuration ? .here([thing]) : .kept(changed, [thing])
  }

  private static func item(
    _ publication: NodePublication, _ intents: [Intent], of owner: Party, _ reader: any StoreReader,
    _ isNoted: (ImportedThing) throws -> Bool
  ) throws -> ImportDecision {
    guard let item = publication.item else { return .post(intents, things: []) }
    let thing = ImportedThing.item(item.id, in: publication.node)
    // What the server has made of an imported profile is not the user's yet.
    let view = ProfileNode(rawValue: publication.node)
    let isMirror = try view != nil && isNoted(.profileSet)
    let things = view == nil ? [thing] : [thing, .profileSet]
    let wasBrought = try isNoted(thing)
    if let here = try reader.item(item.id, in: publication.node, of: owner.id)?.content {
      if here == item.content { return .here([thing]) }
      if case .bookmark(let bookmark) = item.content, case .bookmark(let known) = here,
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
      node.itemCount > 0, node.itemCount >= node.configuration.capacity,
      let oldest = try reader.items(in: node.name, of: owner.id, newest: false, limit: 1).first,
      try !isNoted(.item(oldest.id, in: node.name))
    {
      return .kept(changed, [thing])
    }
    return .post(intents, things: things)
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
