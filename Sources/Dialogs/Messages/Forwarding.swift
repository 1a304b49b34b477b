import Addresses

/// What was said elsewhere, and is to be said again.
public struct ForwardDraft: Hashable, Sendable {
  public var dialog: DialogID
  public var message: PublicID
  public init(dialog: DialogID, message: PublicID) {
    self.dialog = dialog
    self.message = message
  }
}

/// Where a message was said first, as the server has found it: nobody can claim it.
public struct Forwarded: Hashable, Sendable {
  /// nil: those who read it here need not know. A name is told where everybody could see it: it was said in a room that shows
  /// its people, or by whoever forwards it; and it is said again where people know each other.
  public let author: Party?
  public let at: Timestamp
  public init(author: Party?, at: Timestamp) {
    self.author = author
    self.at = at
  }
}

extension Judge {
  /// What is to be said: as it is, or what it forwards. Files are not copied: the new message refers to them too.
  ///
  /// - Parameter room: where it is to be said; nil: between two.
  mutating func forwarding(
    _ draft: ForwardDraft?, _ content: Content, by author: Party, into room: Room?, _ writer: any StoreWriter
  ) throws -> (content: Content, forwarded: Forwarded?) {
    guard let draft else { return (content, nil) }
    let (entry, source): (Entry, Room?)
    do {
      (entry, source) = try readable(draft.message, in: draft.dialog, by: author, field: "forwardFrom", writer)
    } catch let problem as Problem where [Problem.dialogUnknown.code, Problem.roomUnknown.code].contains(problem.code) {
      // A dialog that is not the author's has no messages for them.
      throw Problem.messageUnknown(field: "forwardFrom")
    }
    guard case .message(let message) = entry.fact else { throw Self.unsuitable }
    if entry.state?.retraction != nil { throw Problem.messageDeleted }
    switch message.content.kind {
    case .text, .custom, .location, .contact, .sticker, .image, .video, .audio, .file: break
    case .none, .encrypted, .system, .call: throw Self.unsuitable
    }
    var said = message.content
    said.extras = []
    said.text = entry.state?.text ?? said.text
    var named: Party? = entry.author == author || source?.settings.showsAddresses == true ? entry.author : nil
    if let first = message.forwarded { named = first.author }
    if let room, !room.settings.showsAddresses { named = nil }
    return (said, Forwarded(author: named, at: message.forwarded?.at ?? entry.time))
  }

  /// A message that somebody may read: they are in its dialog, it was not before their time, and they have not deleted it for
  /// themselves. Else it is not there for them.
  mutating func readable(
    _ id: PublicID, in dialog: DialogID, by reader: Party, field: String = "messageId", _ writer: any StoreWriter
  ) throws -> (entry: Entry, room: Room?) {
    let unknown = Problem.messageUnknown(field: field)
    var horizon = Position.zero
    var room: Room?
    if let known = try writer.dialog(dialog) {
      guard known.has(reader.id) else { throw Problem.dialogUnknown }
    } else {
      guard let state = try lookUp(.dialog(dialog), for: reader, writer), !state.room.isDestroyed,
        let member = try member(reader.id, in: state, writer), member.affiliation.isMember
      else { throw Problem.roomUnknown }
      if state.room.settings.history == .sinceJoin { horizon = member.since }
      room = state.room
    }
    guard let position = realms.position(of: id, in: reader.realm), position > horizon,
      let entry = try writer.entry(position, in: dialog), entry.isShown,
      try !writer.isHidden(position, in: dialog, for: reader.id)
    else { throw unknown }
    return (entry, room)
  }
}

extension Entry {
  /// It stands among the messages of its dialog.
  public var isShown: Bool {
    switch fact {
    case .message(let message): message.sequence > 0
    case .room(let change): change.sequence > 0
    default: false
    }
  }
}

extension Problem {
  /// Also where it is in another dialog, or not for who asks: both look the same.
  public static func messageUnknown(field: String) -> Problem {
    Problem(.missing, "message-unknown", "There is no such message in this dialog.", field: field)
  }

  static let messageDeleted = Problem(.missing, "message-deleted", "This message was deleted.")
}
