import Dialogs
import Synchronization

/// A dialog as one user sees it.
enum DialogPlace: Hashable, Sendable {
  /// A private dialog of the user, with its other party.
  case peer(MessageAccess, Party)
  /// A group or public dialog. As membership changes, it is not part of this: the core decides about the user's
  /// actions, `RoomAccess` about reading.
  case room(RoomName)

  var id: DialogID {
    switch self {
    case .peer(let messages, _): messages.dialog
    case .room(let room): room.dialog
    }
  }

  /// A user's access to a dialog; `room` is `nil` for a private one.
  typealias Reading = (messages: MessageAccess, room: ReadableRoom?, naming: ParticipantNaming)

  /// Returns the user's access to its messages, and the ids by which they know people there; throws unless they read it.
  /// Blocks: for `Parley.read`.
  func reading(for user: Party, _ parley: Parley, _ reader: any StoreReader) throws -> Reading {
    switch self {
    case .peer(let messages, _): return (messages, nil, .open)
    case .room(let room):
      let readable = try reader.access(to: room.dialog, for: user).get()
      return (readable.messages, readable, readable.naming(parley))
    }
  }
}

/// Resolves public ids of dialogs. It caches their immutable data: sending a message costs no read. At most
/// `cachedDialogsBytesMax`.
final class DialogResolver: Sendable {
  let parley: Parley
  private let known = Mutex(ByteCache<DialogID, Page> { _, page in page.heldBytes })

  /// The immutable data of a dialog.
  enum Page: Sendable {
    case privately(PrivateDialog)
    case room(RoomName)

    /// Reads a dialog; `nil` if there is none. Blocks: for `Parley.read`.
    static func read(_ id: DialogID, _ reader: any StoreReader) throws -> Page? {
      if let dialog = try reader.dialog(id) { return .privately(PrivateDialog(dialog)) }
      return try reader.roomName(id).map { .room($0) }
    }

    var id: DialogID {
      switch self {
      case .privately(let dialog): dialog.id
      case .room(let room): room.dialog
      }
    }

    /// The bytes of its addresses in memory.
    var heldBytes: Int {
      switch self {
      case .privately(let dialog): dialog.heldBytes
      case .room(let room): room.heldBytes
      }
    }

    /// Returns the dialog for a user. Throws if they do not belong to it, as far as this is known here.
    func place(for user: Party) throws(Problem) -> DialogPlace {
      switch self {
      case .privately(let dialog):
        guard let (messages, peer) = dialog.access(for: user.id) else { throw DialogResolver.unknown }
        return .peer(messages, peer)
      case .room(let room):
        guard room.realm == user.realm else { throw DialogResolver.unknown }
        return .room(room)
      }
    }
  }

  enum Found: Sendable {
    case page(Page)
    /// Not cached: read it, then `remember` it.
    case unread(DialogID)
  }

  static let unknown = Problem.dialogUnknown

  init(parley: Parley) { self.parley = parley }

  /// Resolves an id without reading. Throws for an invalid id.
  func find(_ text: String, in realm: RealmID) throws(Problem) -> Found {
    guard let id = PublicID(text).flatMap({ parley.dialog(of: $0, in: realm) }) else { throw Self.unknown }
    if let page = known.withLock({ $0[id] }) { return .page(page) }
    return .unread(id)
  }

  func remember(_ page: Page) {
    known.withLock {
      if $0.bytes >= AppLimits.cachedDialogsBytesMax { $0.removeAll() }
      $0[page.id] = page
    }
  }

  func place(_ text: String, for user: Party) async throws(Problem) -> DialogPlace {
    let page: Page
    switch try find(text, in: user.realm) {
    case .page(let found): page = found
    case .unread(let id):
      guard let found = try await parley.read({ try Page.read(id, $0) }) else { throw Self.unknown }
      page = found
      remember(page)
    }
    return try page.place(for: user)
  }

  /// Returns a group or public dialog. Throws for a private one.
  func room(_ text: String, for user: Party) async throws(Problem) -> RoomName {
    switch try await place(text, for: user) {
    case .room(let room): return room
    case .peer:
      throw Problem(
        .forbidden, "dialog-private", "This is a private dialog: it has two members and nothing to change.",
        field: "dialogId")
    }
  }
}
