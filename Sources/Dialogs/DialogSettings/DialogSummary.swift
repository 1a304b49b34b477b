import Addresses

/// The numbers of a user's dialog or room, by which a list is filtered and ordered before anything else is read.
public struct DialogSummary: Hashable, Sendable {
  public let dialog: DialogID
  public let isRoom: Bool
  /// The position of the last entry that is shown as a message, or of the first entry.
  public let shown: Position
  public let unread: Int64
  /// The number of unread messages that mention the user; at most the dialog's share of `Limits.mentionLooksMax`.
  public let mentions: Int64
  /// The position up to which the user has read.
  public let displayed: Position
  public let settings: DialogSettings

  public init(
    dialog: DialogID, isRoom: Bool, shown: Position, unread: Int64, mentions: Int64, displayed: Position,
    settings: DialogSettings
  ) {
    self.dialog = dialog
    self.isRoom = isRoom
    self.shown = shown
    self.unread = unread
    self.mentions = mentions
    self.displayed = displayed
    self.settings = settings
  }

  public var isUnread: Bool { unread > 0 || settings.isMarkedUnread(displayed: displayed) }
}

/// A filter of a user's dialogs; `nil` admits any value.
public struct DialogFilter: Hashable, Sendable {
  public enum Kind: Hashable, Sendable { case privately, group, open }
  public var kind: Kind?
  public var isArchived: Bool?
  public var isPinned: Bool?
  public var isUnread: Bool?
  /// A part of the name of the room or of the other user, or the beginning of the address.
  public var name: String?

  public init(
    kind: Kind? = nil, isArchived: Bool? = nil, isPinned: Bool? = nil, isUnread: Bool? = nil, name: String? = nil
  ) {
    self.kind = kind
    self.isArchived = isArchived
    self.isPinned = isPinned
    self.isUnread = isUnread
    self.name = name
  }

  /// Returns whether the numbers match; whether a room is a group is read from the room, and names from their owners.
  func admits(_ summary: DialogSummary) -> Bool {
    if let kind, (kind != .privately) != summary.isRoom { return false }
    if let isArchived, isArchived != summary.settings.isArchived { return false }
    if let isPinned, isPinned != summary.settings.isPinned { return false }
    if let isUnread, isUnread != summary.isUnread { return false }
    return true
  }

  /// Returns whether the name of a room or user matches. `localpart` is that of the address.
  func admits(name: String?, localpart: String) -> Bool {
    guard let wanted = self.name else { return true }
    return localpart.hasPrefix(wanted.lowercased())
      || name.map { DirectoryQuery.folded($0).contains(DirectoryQuery.folded(wanted)) } == true
  }
}

/// A page of a user's dialogs, and the sums over all of them.
public struct DialogListPage: Sendable {
  public enum View: Sendable {
    case privately(DialogView, mentions: Int64)
    case room(RoomView)

    var lastMessage: Entry? {
      switch self {
      case .privately(let view, _): view.lastMessage
      case .room(let view): view.lastMessage
      }
    }
  }
  /// The dialogs, the most recently active first.
  public var views: [View] = []
  /// The position of each of them, before which a page behind it begins.
  public var positions: [Position] = []
  /// The position before which the next page begins; `nil` if there is none.
  public var next: Position?
  public var unread: Int64 = 0
  public var mentions: Int64 = 0
}

public protocol DialogListReader {
  /// Returns all of a user's private dialogs (the self dialog once it contains a message) and the rooms they are a
  /// member of, in any order; in one pass, with one row for each.
  func dialogSummaries(of user: UserID) throws -> [DialogSummary]
}

extension StoreReader {
  /// Returns a page of the user's dialogs before a position. The numbers of all dialogs are read, since the sums are of
  /// all; more is read only of those on the page. Rooms and users are read to tell groups and names until the page is
  /// full, also by the bytes of the last messages, or `Limits.searchLooksMax` have been read.
  public func dialogList(
    of user: Party, _ filter: DialogFilter = DialogFilter(), before: Position, limit: Int
  ) throws -> DialogListPage {
    var page = DialogListPage()
    var wanted: [DialogSummary] = []
    for summary in try dialogSummaries(of: user.id) {
      page.unread += summary.unread
      page.mentions += summary.mentions
      if summary.shown < before, filter.admits(summary) { wanted.append(summary) }
    }
    wanted.sort { $0.shown > $1.shown }
    var last: Position?
    var bytes = 0
    for (looks, summary) in wanted.enumerated() {
      if page.views.count == limit || bytes >= Limits.pageBytesMax || looks == Limits.searchLooksMax {
        page.next = last
        break
      }
      last = summary.shown
      guard let view = try view(of: summary, for: user, filter) else { continue }
      page.views.append(view)
      page.positions.append(summary.shown)
      bytes += view.lastMessage?.byteCount ?? 0
    }
    return page
  }

  private func view(
    of summary: DialogSummary, for user: Party, _ filter: DialogFilter
  ) throws -> DialogListPage.View? {
    let id = summary.dialog
    let mark = { try self.mark(user.id, in: id) ?? Mark(dialog: id, user: user.id) }
    if summary.isRoom {
      guard let readable = try access(to: id, for: user).readable, let member = readable.member else { return nil }
      if let kind = filter.kind, (kind == .group) != readable.room.settings.isMembersOnly { return nil }
      let room = readable.room
      guard filter.admits(name: room.settings.name, localpart: room.address.local ?? "") else { return nil }
      return .room(
        RoomView(
          room: readable.room, member: member, mark: try mark(), settings: summary.settings,
          lastMessage: try last(of: readable.messages, shown: summary.shown)))
    }
    guard let dialog = try dialog(id), let messages = dialog.messages(for: user.id) else { return nil }
    if filter.name != nil {
      let peer = try self.user(dialog.peer(of: user.id).id)
      guard let peer, filter.admits(name: peer.profile.displayName, localpart: peer.name) else { return nil }
    }
    return .privately(
      DialogView(
        dialog: dialog, mark: try mark(), settings: summary.settings,
        lastMessage: try last(of: messages, shown: summary.shown)),
      mentions: summary.mentions)
  }
}
