import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// The names and pictures of remote contacts who have only a vCard (XEP-0054), for apps. Theory:
///
/// Profiles published by XEP-0163 arrive as notifications (`RemoteProfiles`) and take precedence. A vCard has to be
/// fetched: when a contact shows a presence to a user with an app, or such an app comes online, once for each picture
/// that the presence announces (XEP-0153 4.1), or once for the name if it announces none. A changed picture has
/// another hash, for which the vCard is fetched again.
enum RemoteCards {
  private static let update = Name("x", NS.vCardUpdate)
  private static let photo = Name("photo", NS.vCardUpdate)

  /// The picture hashes for which vCards were fetched, as a value. At `bound` all are forgotten, and vCards are fetched again.
  struct Seen: Equatable {
    struct Pair: Hashable {
      let owner: BareJID
      let host: BareJID
    }
    private var hashes: [Pair: String?] = [:]
    private let bound: Int

    init(bound: Int = DoorLimits.cardsSeenMax) { self.bound = bound }

    /// Notes what a contact announces to a user. Returns whether it is news.
    mutating func note(_ hash: String?, of pair: Pair) -> Bool {
      if let before = hashes[pair], before == hash { return false }
      if hashes.count >= bound { hashes = [:] }
      hashes[pair] = .some(hash)
      return true
    }

    /// Forgets the hash, so that a vCard that could not be fetched is fetched later.
    mutating func forget(_ pair: Pair) { hashes[pair] = nil }
  }

  /// Handles an available presence that a contact shows to the addressee.
  static func announced(_ arrival: RemoteArrival) {
    let sessions = arrival.parley.hub.appSessions(of: arrival.to.bare, subscribedTo: arrival.from.bare)
    guard let user = sessions.first?.session.party else { return }
    let clients = sessions.compactMap { client(user.address, $0.resource) }
    look(at: arrival.from.bare, hash(in: arrival.stanza.element), for: user, clients, arrival.link)
  }

  /// Handles an available presence that a local user shows to a remote contact. If it is an app's, the vCard is fetched
  /// for the presence that the contact has shown before, if any.
  static func shown(_ presence: Presence, to contact: BareJID, by link: any RemoteLink) {
    let host = presence.from.address
    guard presence.isAvailable, let client = client(host, presence.resource),
      link.parley.hub.appSession(client, subscribedTo: contact) != nil,
      let theirs = link.parley.hub.remotePresences.presences(of: contact, toldTo: host).last
    else { return }
    let document = Array("<presence xmlns='jabber:client'>".utf8) + (theirs.extras ?? []) + Array("</presence>".utf8)
    guard let element = try? Element(parsing: document) else { return }
    look(at: contact, hash(in: element), for: presence.from, [client], link)
  }

  private static func client(_ user: BareJID, _ resource: String) -> FullJID? {
    try? FullJID(local: user.local, domain: user.domain, resource: resource)
  }

  /// Returns the hash of the picture; `nil` if none is announced, or one longer than a SHA-1 in hexadecimal digits, which
  /// bounds the memory of `Seen`.
  static func hash(in presence: Element) -> String? {
    guard let text = presence.first(update)?.first(photo)?.text, (1...40).contains(text.utf8.count) else { return nil }
    return text.lowercased()
  }

  private static func look(
    at owner: BareJID, _ hash: String?, for user: Party, _ clients: [FullJID], _ link: any RemoteLink
  ) {
    let pair = Seen.Pair(owner: owner, host: user.address)
    guard let work = link.work, work.cards.note(hash, of: pair) else { return }
    let (author, parley) = (Party(remote: owner, realm: link.realm), link.parley)
    let source = RemoteProfileSource(owner: owner, kind: .card(hash))
    let isFetched = work.fetch(source, for: clients, user) { [weak work] draft, client in
      guard let draft else {
        work?.cards.forget(pair)
        return
      }
      if draft.displayName == nil, draft.avatar == nil { return }
      _ = parley.submit(Post(author: author, intent: .remoteProfile(draft, to: client), completion: .none))
    }
    if !isFetched { work.cards.forget(pair) }
  }

  // MARK: Fetching

  /// Returns the data of a vCard that its owner does not publish by XEP-0163; `nil` if there was no answer.
  static func draft(
    of owner: BareJID, _ hash: String?, _ realm: RealmID, _ asker: Party, _ door: DoorContext
  ) async -> RemoteProfileDraft? {
    let stored = try? await door.parley.read { try $0.user(owner, seenFrom: realm)?.profile }
    if let hash, let stored, stored.avatarHash == hash, stored.displayName != nil {
      return RemoteProfileDraft()
    }
    func ask(_ payload: [UInt8]) async -> Stanza? {
      await door.questions.ask(
        .get, payload, of: JID(owner), from: asker, within: DoorLimits.delegationAnswer, door.parley.hub)
    }
    guard let nickname = await ask(request("\(NS.nick)")), let metadata = await ask(request("\(NS.avatarMetadata)"))
    else { return nil }
    let (hasName, hasPicture) = (hasItem(nickname), hasItem(metadata))
    if hasName && hasPicture { return RemoteProfileDraft() }
    var writer = StreamFraming.writer()
    writer.element(VCard.vCard)
    guard let answer = await ask(Array(writer.buffer.readableBytesView)) else { return nil }
    guard !answer.isError, let card = answer.element.first(VCard.vCard), let read = try? VCard.read(card) else {
      return RemoteProfileDraft()
    }
    return draft(read, hash, hasName: hasName, hasPicture: hasPicture)
  }

  /// Returns the usable part of a vCard. A picture that cannot be shown, or has another hash than announced, is left out.
  static func draft(_ card: ProfileDraft, _ hash: String?, hasName: Bool, hasPicture: Bool) -> RemoteProfileDraft {
    var draft = RemoteProfileDraft()
    if !hasName { draft.displayName = card.displayName }
    if !hasPicture, let avatar = card.avatar {
      if let avatar {
        if avatar.isKnown, hash == nil || avatar.hash == hash { draft.avatar = .some(avatar) }
      } else {
        draft.avatar = .some(nil)
      }
    }
    return draft
  }

  /// Returns whether the answer to such a request has an item.
  private static func hasItem(_ answer: Stanza) -> Bool {
    answer.element.first(.pubsub)?.first(Name("items", NS.pubsub))?.first(.pubsubItem) != nil
  }

  /// Returns the request for the last item of a node (XEP-0060 6.5.7).
  private static func request(_ node: String) -> [UInt8] {
    var writer = StreamFraming.writer()
    writer.element(.pubsub) { writer in
      writer.element("items") { writer in
        writer.attribute("node", node)
        writer.attribute("max_items", "1" as StaticString)
      }
    }
    return Array(writer.buffer.readableBytesView)
  }
}
