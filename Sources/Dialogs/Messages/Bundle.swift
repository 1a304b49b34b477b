import Addresses

// Messages with several files. Theory:
//
// All XMPP clients show only one file per stanza, so a message of k files is k entries, and one more for its text,
// which comes last. They are committed together, at consecutive positions. The first is the message: it has the place
// in the dialog, counts as unread, and contains all files and the text, which apps show. The others (`Traits.part`)
// contain what their stanza does and refer to the first; apps never see them. So a message of an app costs no more, and
// the number of parts is known from the first entry.
//
// A reference to a part (a reply, a reaction, a marker, a correction) is a reference to the message; when the message
// is retracted, each part is retracted by a stanza of its own, since a retraction names one stanza (XEP-0424 3).

enum Bundle {
  /// The traits of a part: it may be answered by a marker, as the first may.
  static let traits: Message.Traits = [.archived, .markable, .fromApp, .part]

  struct Part {
    let content: Content
    let mentions: [Mention]
    let reference: Reference
  }
}

extension Message {
  /// The number of further entries that belong to the message.
  public var parts: Int {
    guard content.attachments.count > 1, traits.contains(.fromApp), content.kind.isFile else { return 0 }
    return content.attachments.count - 1 + (content.text.isEmpty ? 0 : 1)
  }

  /// The number of the part with the text; 0 if there is none, as the text is sent with the file.
  var captionPart: Int { content.text.isEmpty ? 0 : parts }
}

extension Envelope {
  /// The envelope of a part, which has no stanza id.
  var ofPart: Envelope { Envelope(type: type, fromResource: fromResource, language: language) }
}

extension Position {
  static func + (position: Position, count: Int) -> Position { Position(position.number + Int64(count)) }
}

extension Judge {
  /// Returns the parts of a message that has just been inserted; none if it changes an earlier one.
  func parts(of head: Entry, _ found: ResolvedReference?, in realm: RealmID) -> [Bundle.Part] {
    guard case .message(let message) = head.fact, message.parts > 0, found?.reference.changes != true else { return [] }
    let reference = Reference(kind: .part, target: head.position, targetID: head.id, targetStanzaID: nil)
    var parts = message.content.attachments.dropFirst().map {
      Bundle.Part(content: Content(kind: message.content.kind, attachments: [$0]), mentions: [], reference: reference)
    }
    if !message.content.text.isEmpty {
      parts.append(
        Bundle.Part(
          content: Content(kind: .text, text: message.content.text), mentions: message.mentions, reference: reference))
    }
    return parts
  }

  /// Returns the message that an entry is a part of; otherwise the entry.
  func whole(_ entry: Entry?) throws -> Entry? {
    guard let entry, case .message(let message) = entry.fact, let reference = message.reference, reference.kind == .part
    else { return entry }
    return try writer.entry(reference.target, in: .server(entry.dialog, .rules))
  }

  /// Retracts all parts of a message, each by a stanza of its own, after a stanza has retracted one of them.
  mutating func takeBackParts(
    _ found: ResolvedReference, by actor: Party,
    say: (inout Judge, Reference) throws -> Entry
  ) throws {
    guard found.parts > 0, let state = found.state, let retraction = state.retraction,
      let head = found.reference.outcome
    else { return }
    for number in 0...found.parts {
      let position = head.position + number
      var id = retraction.id
      if position != found.named {
        let entry = try say(
          &self,
          Reference(
            kind: found.reference.kind, target: position, targetID: realms.entryID(position, in: actor.realm),
            targetStanzaID: nil))
        tell(.entry(entry, author: nil))
        id = entry.id.description
      }
      if number == 0 { continue }
      let own = MessageState.Retraction(
        by: retraction.by, at: retraction.at, id: id, reason: retraction.reason, isModeration: retraction.isModeration)
      try writer.put(
        MessageState(version: state.version, revision: state.revision, retraction: own), of: position, in: head.dialog)
    }
  }
}
