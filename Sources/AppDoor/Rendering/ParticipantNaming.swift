import Addresses
import Dialogs
import Synchronization

/// By which ids somebody is told of people. It is the user id; but in a dialog that
/// shows to its admins only who its people are, all others know each other by ids of
/// that dialog, and themselves by their user ids.
///
/// Whatever an app is told of a person goes through here, so nothing can be rendered
/// without one.
struct ParticipantNaming: Sendable {
  /// Of an id of one dialog; the occupant id that XMPP clients see (XEP-0421) follows.
  /// It is no user id: no localpart has a colon (RFC 7622 3.3.1).
  static let prefix = "occupant:"
  /// Everybody by their user id.
  static let open = ParticipantNaming(anonymizer: nil, viewer: nil)

  private let anonymizer: Anonymizer?
  private let viewer: UserID?

  private init(anonymizer: Anonymizer?, viewer: UserID?) {
    self.anonymizer = anonymizer
    self.viewer = viewer
  }

  /// nil as `viewer`: somebody who is not among those named.
  init(_ anonymizer: Anonymizer, viewer: UserID?) { self.init(anonymizer: anonymizer, viewer: viewer) }

  func knows(_ party: Party) -> Bool { anonymizer == nil || party.id == viewer }

  func id(_ party: Party) -> String {
    guard let anonymizer, party.id != viewer else { return party.name }
    return anonymizer.id(of: party.id)
  }

  /// nil: not for this viewer.
  func jid(_ party: Party) -> String? { knows(party) ? party.address.description : nil }

  /// Somebody in a sentence; `nick` is what the dialog calls them, where that is known.
  func text(_ party: Party, nick: String? = nil) -> String { knows(party) ? party.name : nick ?? "Somebody" }
}

/// The people of one room as those see them who may not know who they are. Keeps whom
/// it was asked for: as many as what is rendered with it names.
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

  /// Whether it was asked for this user.
  func hasNamed(_ user: UserID) -> Bool { ids.withLock { $0[user] != nil } }
}

extension RoomAccess {
  func naming(_ parley: Parley) -> ParticipantNaming {
    room.showsPeople(to: member?.affiliation)
      ? .open : ParticipantNaming(Anonymizer(room.name, parley), viewer: member?.party.id)
  }
}

extension Entry {
  /// nil: what it tells of people they may all know.
  var veilable: RoomName? {
    if case .invitation(let invitation) = fact { return invitation.room }
    return room
  }
}
