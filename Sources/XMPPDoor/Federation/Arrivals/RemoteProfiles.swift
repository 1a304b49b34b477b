import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Handles the profiles of remote contacts, which they publish to an app's session (XEP-0163 4.2): the nickname
/// (XEP-0172), and the picture (XEP-0084), whose bytes are fetched unless they are stored.
enum RemoteProfiles {
  private static let event = Name("event", NS.pubsubEvent)
  private static let items = Name("items", NS.pubsubEvent)
  private static let item = Name("item", NS.pubsubEvent)

  /// Handles a notification for an app's session. Returns `false` for any other message. Malformed and unauthorised
  /// notifications are ignored; none is answered.
  static func handle(_ arrival: RemoteArrival) -> Bool {
    guard arrival.stanza.messageType == .headline, arrival.from.resource == nil, arrival.from.local != nil,
      let items = arrival.stanza.element.first(event)?.first(items), let client = try? FullJID(arrival.to),
      let session = arrival.parley.hub.appSession(client, subscribedTo: arrival.from.bare)
    else { return false }
    // A notification without an item retracts the last one.
    let payload = items.first(item)?.children.first { _ in true }
    switch items["node"].flatMap(ProfileNode.init) {
    case .nickname: arrival.post(draft(name: payload), to: client)
    case .avatarMetadata: follow(payload, arrival, client, session.session.party)
    case .avatarData, .vCard4, nil: break
    }
    return true
  }

  private static func draft(name payload: Element?) -> RemoteProfileDraft? {
    guard let payload else { return RemoteProfileDraft(displayName: .some(nil)) }
    guard case .nickname(let name)? = try? UserNickname.read(payload) else { return nil }
    return RemoteProfileDraft(displayName: .some(name.isEmpty ? nil : name))
  }

  private static func follow(_ payload: Element?, _ arrival: RemoteArrival, _ client: FullJID, _ asker: Party) {
    var hash: String?
    if let payload {
      guard let metadata = try? UserAvatar.read(metadata: payload) else { return }
      hash = metadata.hashes.first
    }
    guard let hash else { return arrival.post(RemoteProfileDraft(avatar: .some(nil)), to: client) }
    let picture = RemoteProfileSource(owner: arrival.from.bare, kind: .picture(hash))
    arrival.link.work?.fetch(picture, for: [client], asker) { arrival.post($0, to: $1) }
  }

  /// Returns the picture that an item of XEP-0084 names.
  static func draft(
    ofPicture hash: String, _ owner: BareJID, _ realm: RealmID, _ asker: Party, _ door: DoorContext
  ) async -> RemoteProfileDraft? {
    let stored = try? await door.parley.read { try $0.user(owner, seenFrom: realm)?.profile.avatarHash }
    if stored == hash { return RemoteProfileDraft() }
    let answer = await door.questions.ask(
      .get, UserAvatar.request(hash), of: JID(owner), from: asker, within: DoorLimits.delegationAnswer, door.parley.hub)
    guard let answer, !answer.isError, let avatar = UserAvatar.avatar(in: answer.element), avatar.hash == hash,
      avatar.isKnown
    else { return nil }
    return RemoteProfileDraft(avatar: .some(avatar))
  }
}

extension RemoteArrival {
  fileprivate func post(_ draft: RemoteProfileDraft?, to client: FullJID) {
    guard let draft else { return }
    link.work?.post(.remoteProfile(draft, to: client), by: sender, for: stanza) { _ in }
  }
}

/// A part of a remote user's profile that is fetched for apps.
struct RemoteProfileSource: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// The picture with this hash (XEP-0084).
    case picture(String)
    /// The vCard, announced with the hash of this picture (XEP-0153), or with `nil` if without a picture.
    case card(String?)
  }
  let owner: BareJID
  let kind: Kind

  func draft(_ realm: RealmID, _ asker: Party, _ door: DoorContext) async -> RemoteProfileDraft? {
    switch kind {
    case .picture(let hash): await RemoteProfiles.draft(ofPicture: hash, owner, realm, asker, door)
    case .card(let hash): await RemoteCards.draft(of: owner, hash, realm, asker, door)
    }
  }
}

extension LinkWork {
  /// Fetches a source once for all clients that are notified of it until it has arrived, and calls `then` for each, without a
  /// draft if it is not available or does not fit. At `DoorLimits.picturesFetchedMax` it only returns `false`.
  @discardableResult
  func fetch(
    _ source: RemoteProfileSource, for clients: [FullJID], _ asker: Party,
    then: @escaping (RemoteProfileDraft?, FullJID) -> Void
  ) -> Bool {
    guard let link else { return false }
    if pictures[source] != nil {
      pictures[source]?.formUnion(clients)
      return true
    }
    guard pictures.count < DoorLimits.picturesFetchedMax else { return false }
    pictures[source] = Set(clients)
    let (door, realm, loop) = (link.door, link.realm, link.loopContext.loop)
    let fetched: (RemoteProfileDraft?) -> Void = { [weak self] draft in
      for client in self?.pictures.removeValue(forKey: source) ?? [] { then(draft, client) }
    }
    let back = NIOLoopBound(fetched, eventLoop: loop)
    Task {
      let draft = await source.draft(realm, asker, door)
      loop.execute { back.value(draft) }
    }
    return true
  }
}
