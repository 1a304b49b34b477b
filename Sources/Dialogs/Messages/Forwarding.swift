import Addresses
public import Basics

/// A message to forward.
public struct ForwardDraft: Hashable, Sendable {
  public var dialog: DialogID
  public var message: PublicID
  /// The source of the text that is sent: the message as it is when the post is judged, unless a backend is asked before.
  var source = Source.message

  /// Indirect, so that messages which are no forwards do not take more memory.
  indirect enum Source: Hashable, Sendable {
    case message
    /// The content that the message had when a backend was asked about it, and the text that the backend has put in place of its text.
    case asked(Content, saying: String?)
    /// Nothing, for this reason: the author could not forward the message when a backend would have been asked about it.
    case refused(Problem)
  }

  public init(dialog: DialogID, message: PublicID) {
    self.dialog = dialog
    self.message = message
  }

  /// Returns the content that the forward of a message has for this author, by what is stored. Throws if the author may not read
  /// the message, as `Judge.forwarding`, or if it cannot be forwarded.
  func content(at position: Position?, for author: Party, _ reader: any StoreReader) throws -> Content {
    guard let messages = try reader.messages(in: dialog, for: author)?.messages, let position,
      let entry = try reader.entry(position, in: messages), entry.fact.isShown
    else { throw Problem.messageUnknown(field: "forwardFrom") }
    return try entry.forwardedContent()
  }
}

extension Entry {
  /// Returns the content that a forward of this message has. Throws if it cannot be forwarded.
  fileprivate func forwardedContent() throws(Problem) -> Content {
    guard case .message(let message) = fact else { throw Judge.unsuitable }
    if state?.retraction != nil { throw Problem.messageDeleted }
    switch message.content.kind {
    case .text, .custom, .location, .contact, .sticker, .image, .video, .audio, .file: break
    case .none, .encrypted, .system, .call, .invitation: throw Judge.unsuitable
    }
    var content = message.content
    content.extras = []
    content.text = state?.text ?? content.text
    return content
  }
}

/// The origin of a forwarded message, as the server has found it, so that it cannot be forged.
public struct Forwarded: Hashable, Sendable {
  /// The original author; `nil` if the readers of this message may not know. An author is named if everyone could see
  /// the address: the message is from a non-anonymous room, or the author's own; and if the destination is not
  /// semi-anonymous.
  public let author: Party?
  public let at: Timestamp
  public init(author: Party?, at: Timestamp) {
    self.author = author
    self.at = at
  }
}

extension Judge {
  /// Returns the content to send: the given one, or that of the forwarded message. Files are not copied: the new
  /// message refers to them too.
  ///
  /// - Parameter room: the destination; `nil` for a private dialog.
  mutating func forwarding(
    _ draft: ForwardDraft?, _ content: Content, by author: Party, into room: Room?
  ) throws -> (content: Content, forwarded: Forwarded?) {
    guard let draft else { return (content, nil) }
    let (entry, source): (Entry, Room?)
    do {
      (entry, source) = try readable(draft.message, in: draft.dialog, by: author, field: "forwardFrom")
    } catch let problem as Problem where [Problem.dialogUnknown.code, Problem.roomUnknown.code].contains(problem.code) {
      // The messages of a dialog that is not the author's appear not to exist.
      throw Problem.messageUnknown(field: "forwardFrom")
    }
    var said = try entry.forwardedContent()
    switch draft.source {
    case .message: break
    case .asked(let content, let text):
      // Neither an old text is sent nor one about which the backend was not asked.
      if content != said { throw Problem.messageChanged }
      said.text = text ?? said.text
    case .refused(let problem): throw problem
    }
    guard case .message(let message) = entry.fact else { throw Self.unsuitable }
    var named: Party? = entry.author == author || source?.settings.showsAddresses == true ? entry.author : nil
    if let first = message.forwarded { named = first.author }
    if let room, !room.settings.showsAddresses { named = nil }
    return (said, Forwarded(author: named, at: message.forwarded?.at ?? entry.time))
  }

  /// Returns a message that a user may read: they belong to its dialog, it is not before they joined, and they have not
  /// deleted it for themselves. Throws as for an unknown one otherwise.
  mutating func readable(
    _ id: PublicID, in dialog: DialogID, by reader: Party, field: String = "messageId"
  ) throws -> (entry: Entry, room: Room?) {
    let unknown = Problem.messageUnknown(field: field)
    let messages: MessageAccess
    var room: Room?
    if let known = try writer.dialog(dialog) {
      guard let access = known.messages(for: reader.id) else { throw Problem.dialogUnknown }
      messages = access
    } else {
      guard let state = try lookUp(.dialog(dialog), for: reader),
        let readable = RoomAccess(of: state.room, for: reader, as: try member(reader.id, in: state)).readable
      else { throw Problem.roomUnknown }
      messages = readable.messages
      room = readable.room
    }
    guard let position = realms.position(of: id, in: reader.realm),
      let entry = try writer.entry(position, in: messages), entry.fact.isShown
    else { throw unknown }
    return (entry, room)
  }
}

extension Problem {
  /// Returns the problem also for a message in another dialog, or one that the asker may not read: they look the same.
  public static func messageUnknown(field: String) -> Problem {
    Problem(.missing, "message-unknown", "There is no such message in this dialog.", field: field)
  }

  static let messageDeleted = Problem(.missing, "message-deleted", "This message was deleted.")
  static let messageChanged = Problem(
    .overloaded, "message-changed", "This message was edited just now. Try again.", field: "forwardFrom", retryAfter: 1)
}
