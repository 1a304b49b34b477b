import AppProtocol
import Dialogs

/// What the server notes in a dialog, as a message of type `system`: a `kind` and
/// its members for apps that show it in their own words, and a text for all others.
struct SystemContent {
  enum Kind: String, CaseIterable {
    case created, named, topic, avatar, settings, joined, added, left, removed, banned, role, destroyed
  }

  private let kind: Kind
  private let text: String
  /// Behind `kind`; those that are nil are left out.
  private let fields: [(name: StaticString, value: String?)]

  private init(_ kind: Kind, _ text: String, _ fields: [(name: StaticString, value: String?)] = []) {
    self.kind = kind
    self.text = text
    self.fields = fields
  }

  static func of(_ change: RoomChange.Change, by author: Party) -> ContentBody {
    let content =
      switch change {
      case .created: SystemContent(.created, "\(author.name) created the dialog")
      case .settings(let now, let was): settings(now, was: was, by: author)
      case .topic(let topic): self.topic(topic, by: author)
      case .member(let change): member(change, by: author)
      case .destroyed(let reason, _):
        SystemContent(.destroyed, "\(author.name) deleted the dialog", [("reason", reason)])
      }
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("kind", content.kind.rawValue)
    for field in content.fields { writer.member(field.name, field.value) }
    writer.endObject()
    return ContentBody(
      type: ContentBody.Kind.system.rawValue, text: content.text, fields: RawObject(trusted: writer.text))
  }

  private static func settings(_ now: RoomSettings, was: RoomSettings, by author: Party) -> SystemContent {
    if now.name != was.name {
      guard let name = now.name else { return SystemContent(.named, "\(author.name) removed the dialog's name") }
      return SystemContent(.named, "\(author.name) named the dialog \"\(name)\"", [("name", name)])
    }
    if now.avatarHash != was.avatarHash {
      return SystemContent(
        .avatar, "\(author.name) \(now.avatarHash == nil ? "removed" : "changed") the dialog's picture",
        [("avatarHash", now.avatarHash)])
    }
    // What changed, where a client can be told in a word; all of it is in the event's `dialog`.
    return SystemContent(
      .settings, "\(author.name) changed the dialog's settings",
      [
        ("about", now.about == was.about ? nil : now.about),
        ("dialogType", now.isMembersOnly == was.isMembersOnly ? nil : now.wireType.rawValue),
        ("historyVisibility", now.history == was.history ? nil : now.history.wire.rawValue),
      ])
  }

  private static func topic(_ topic: Topic, by author: Party) -> SystemContent {
    topic.text.isEmpty
      ? SystemContent(.topic, "\(author.name) removed the topic")
      : SystemContent(.topic, "\(author.name) set the topic: \(topic.text)", [("topic", topic.text)])
  }

  private static func member(_ change: MemberChange, by author: Party) -> SystemContent {
    let name = change.party.name
    let isOwn = change.party.id == author.id
    let kind: Kind
    let text: String
    switch (change.was, change.now) {
    case (let was, let now) where now.isMember && !was.isMember:
      kind = isOwn ? .joined : .added
      text = isOwn ? "\(name) joined" : "\(author.name) added \(name)"
    case (let was, .none) where was.isMember:
      kind = isOwn ? .left : .removed
      text = isOwn ? "\(name) left" : "\(author.name) removed \(name)"
    case (let was, .outcast) where was != .outcast:
      kind = .banned
      text = "\(author.name) banned \(name)"
    case (.outcast, .none):
      kind = .role
      text = "\(author.name) lifted the ban on \(name)"
    case (let was, let now) where was == now:
      kind = .role
      text = "\(name) is called \(change.nick ?? name) here"
    case (_, let now):
      kind = .role
      text = isOwn ? "\(name) is \(now.article) now" : "\(author.name) made \(name) \(now.article)"
    }
    return SystemContent(
      kind, text,
      [("userId", name), ("role", change.now.wire), ("nick", change.nick), ("reason", change.reason)])
  }
}

extension Affiliation {
  /// The word of the wire.
  var wire: String {
    switch self {
    case .owner: MemberBody.Role.owner.rawValue
    case .admin: MemberBody.Role.admin.rawValue
    case .member: MemberBody.Role.member.rawValue
    case .watcher: MemberBody.Role.watcher.rawValue
    case .outcast: MemberBody.Role.banned.rawValue
    case .none: MemberBody.gone
    }
  }

  init(_ role: MemberBody.Role) {
    self =
      switch role {
      case .owner: .owner
      case .admin: .admin
      case .member: .member
      case .watcher: .watcher
      case .banned: .outcast
      }
  }

  fileprivate var article: String { (self >= .admin ? "an " : "a ") + wire }
}

extension RoomSettings {
  var wireType: DialogBody.Kind { isMembersOnly ? .group : .isPublic }

  /// Makes it what the wire calls so: closed and hidden, everybody known; or open,
  /// listed, and XMPP clients see nicks alone.
  mutating func become(_ kind: DialogBody.Kind) {
    let model: RoomSettings = kind == .isPublic ? .open : .group
    isMembersOnly = model.isMembersOnly
    isListed = model.isListed
    showsAddresses = model.showsAddresses
  }
}

extension RoomSettings.HistoryVisibility {
  var wire: DialogBody.HistoryVisibility {
    switch self {
    case .all: .all
    case .sinceJoin: .sinceJoin
    }
  }

  init(_ wire: DialogBody.HistoryVisibility) {
    self =
      switch wire {
      case .all: .all
      case .sinceJoin: .sinceJoin
      }
  }
}
