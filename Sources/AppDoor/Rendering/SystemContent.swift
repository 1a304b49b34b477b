import Addresses
import Dialogs
import JSON

/// A notice of the server in a dialog, as a message of type `system`: a `kind` and its fields for apps that show it in
/// their own words, and a text for all others. The names in the text are as they are shown; the fields are as they were
/// written, since those apps show them in their own way.
struct SystemContent {
  enum Kind: String, CaseIterable {
    case created, named, topic, avatar, settings, joined, added, left, removed, kicked, banned, role, destroyed
  }

  private let kind: Kind
  private let text: String
  /// The fields behind `kind`, without those that are `nil`.
  private let fields: [(name: StaticString, value: String?)]

  private init(_ kind: Kind, _ text: String, _ fields: [(name: StaticString, value: String?)] = []) {
    self.kind = kind
    self.text = text
    self.fields = fields
  }

  static func of(_ change: RoomChange.Change, by author: Party, _ naming: ParticipantNaming) -> ContentBody {
    let actor = naming.text(author)
    let content =
      switch change {
      case .created: SystemContent(.created, "\(actor) created the dialog")
      case .settings(let now, let was): settings(now, was: was, by: actor)
      case .topic(let topic): self.topic(topic, by: actor)
      case .member(let change): member(change, by: author, naming)
      case .destroyed(let reason, _):
        SystemContent(.destroyed, "\(actor) deleted the dialog", [("reason", reason)])
      }
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("kind", content.kind.rawValue)
    for field in content.fields { writer.member(field.name, field.value) }
    writer.endObject()
    return ContentBody(
      type: ContentBody.Kind.system.rawValue, text: content.text, fields: RawObject(trusted: writer.text))
  }

  private static func settings(_ now: RoomSettings, was: RoomSettings, by actor: String) -> SystemContent {
    if now.name != was.name {
      guard let name = now.name else { return SystemContent(.named, "\(actor) removed the dialog's name") }
      return SystemContent(.named, "\(actor) named the dialog \"\(ShownText.name(name) ?? "")\"", [("name", name)])
    }
    if now.avatarHash != was.avatarHash {
      return SystemContent(
        .avatar, "\(actor) \(now.avatarHash == nil ? "removed" : "changed") the dialog's picture",
        [("avatarHash", now.avatarHash)])
    }
    if now.retentionDays != was.retentionDays {
      let text =
        now.retentionDays.map { "messages go after \($0) \($0 == 1 ? "day" : "days")" }
        ?? "messages stay as long as the server keeps them"
      return SystemContent(.settings, "\(actor) changed the dialog's settings: \(text)")
    }
    // The changes that can be told in a word; the event's `dialog` contains all of them.
    return SystemContent(
      .settings, "\(actor) changed the dialog's settings",
      [
        ("about", now.about == was.about ? nil : now.about),
        ("dialogType", now.isMembersOnly == was.isMembersOnly ? nil : now.wireType.rawValue),
        ("historyVisibility", now.history == was.history ? nil : now.history.wire.rawValue),
      ])
  }

  private static func topic(_ topic: Topic, by actor: String) -> SystemContent {
    topic.text.isEmpty
      ? SystemContent(.topic, "\(actor) removed the topic")
      : SystemContent(.topic, "\(actor) set the topic: \(topic.text)", [("topic", topic.text)])
  }

  private static func member(_ change: MemberChange, by author: Party, _ naming: ParticipantNaming) -> SystemContent {
    let actor = naming.text(author)
    let name = naming.text(change.party, nick: change.nick)
    let isOwn = change.party.id == author.id
    let kind: Kind
    let text: String
    switch (change.was, change.now) {
    case (let was, let now) where now.isMember && !was.isMember:
      kind = isOwn ? .joined : .added
      text = isOwn ? "\(name) joined" : "\(actor) added \(name)"
    case (let was, .none) where was.isMember:
      kind = isOwn ? .left : .removed
      text = isOwn ? "\(name) left" : "\(actor) removed \(name)"
    case (let was, .outcast) where was != .outcast:
      kind = .banned
      text = "\(actor) banned \(name)"
    case (.outcast, .none):
      kind = .role
      text = "\(actor) lifted the ban on \(name)"
    case (let was, let now) where was == now && change.wasKicked != change.isKicked:
      kind = change.isKicked ? .kicked : .joined
      text = change.isKicked ? "\(actor) kicked \(name)" : "\(name) joined again"
    case (let was, let now) where was == now:
      kind = .role
      text = "\(name) is called \(change.nick.flatMap { ShownText.name($0) } ?? name) here"
    case (_, let now):
      kind = .role
      text = isOwn ? "\(name) is \(now.article) now" : "\(actor) made \(name) \(now.article)"
    }
    return SystemContent(
      kind, text,
      [
        ("userId", naming.id(change.party)), ("role", change.now.wire), ("nick", change.nick),
        ("reason", change.reason),
      ])
  }
}

extension Affiliation {
  /// The role in the app protocol.
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

  /// Changes the room to a type of the app protocol: members-only, hidden and non-anonymous; or open, listed and
  /// semi-anonymous.
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
