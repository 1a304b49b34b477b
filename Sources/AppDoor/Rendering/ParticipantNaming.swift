import Addresses
import Dialogs
import Synchronization

/// The ids by which a viewer is told users. Usually the user id; but in a semi-anonymous room non-admins know each
/// other by ids of that dialog, and themselves by their user ids.
///
/// All rendering of users requires it, so that none can leak.
struct ParticipantNaming: Sendable {
  /// The prefix of an id of one dialog; the occupant id of XMPP clients (XEP-0421) follows. It cannot be a user id: no
  /// localpart contains a colon (RFC 7622 3.3.1).
  static let prefix = "occupant:"
  /// Names everyone by their user id.
  static let open = ParticipantNaming(anonymizer: nil, viewer: nil)

  private let anonymizer: Anonymizer?
  private let viewer: UserID?

  private init(anonymizer: Anonymizer?, viewer: UserID?) {
    self.anonymizer = anonymizer
    self.viewer = viewer
  }

  /// Creates a naming; `viewer` is `nil` if they are not among the named users.
  init(_ anonymizer: Anonymizer, viewer: UserID?) { self.init(anonymizer: anonymizer, viewer: viewer) }

  /// - Parameter member: the viewer's row; `nil` if they are no member.
  init(of room: Room, for member: Member?, _ parley: Parley) {
    let isOpen = room.showsPeople(to: member?.affiliation)
    self.init(anonymizer: isOpen ? nil : Anonymizer(room.name, parley), viewer: isOpen ? nil : member?.party.id)
  }

  func knows(_ party: Party) -> Bool { anonymizer == nil || party.id == viewer }

  func id(_ party: Party) -> String {
    guard let anonymizer, party.id != viewer else { return party.name }
    return anonymizer.id(of: party.id)
  }

  /// Returns the address; `nil` if this viewer may not see it.
  func jid(_ party: Party) -> String? { knows(party) ? party.address.description : nil }

  /// Returns the name of a user in a sentence; `nick` is theirs in the dialog, if known.
  func text(_ party: Party, nick: String? = nil) -> String {
    (knows(party) ? party.name : nick).flatMap { ShownText.name($0) } ?? "Somebody"
  }
}

/// The ids of a room's occupants for users who may not see addresses. It caches those it was asked for: as many as the
/// rendering names.
final class Anonymizer: Sendable {
  private let room: RoomName
  private let parley: Parley
  private let ids = Mutex<[UserID: String]>([:])

  init(_ room: RoomName, _ parley: Parley) {
    self.room = room
    self.parley = parley
  }

  func id(of user: UserID) -> String {
    ids.withLock { ids in
      if let known = ids[user] { return known }
      let id = ParticipantNaming.prefix + parley.occupantID(of: user, in: room)
      ids[user] = id
      return id
    }
  }

  /// Returns whether it was asked for this user.
  func hasNamed(_ user: UserID) -> Bool { ids.withLock { $0[user] != nil } }
}

extension RoomAccess {
  /// The naming for the user; `nil` if they may not know that the room exists.
  func naming(_ parley: Parley) -> ParticipantNaming? {
    switch self {
    case .none: nil
    case .known(let room):
      ParticipantNaming(of: room, for: nil, parley)
    case .reads(let readable): readable.naming(parley)
    }
  }
}

extension ReadableRoom {
  func naming(_ parley: Parley) -> ParticipantNaming {
    showsPeople ? .open : ParticipantNaming(Anonymizer(room.name, parley), viewer: messages.viewer)
  }
}
