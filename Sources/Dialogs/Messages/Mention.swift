public import Addresses

/// A mention of a member of the dialog in a message (XEP-0372 3.2).
public struct Mention: Hashable, Sendable {
  /// The name by which XMPP clients are told the mentioned user, decided when the message is sent. Stored: never
  /// renumber the codes (`FactCoding`).
  public enum Name: Hashable, Sendable {
    /// The address.
    case address
    /// The nick, in a semi-anonymous room.
    case nick(String)
    /// None: they have no nick in such a room.
    case unnamed
  }

  public let party: Party
  public let name: Name
  /// The place in the text, in code points (XEP-0426); `nil` if the mention has none.
  public let place: Range<Int>?

  public init(party: Party, name: Name, place: Range<Int>?) {
    self.party = party
    self.name = name
    self.place = place
  }
}

/// A mention as its author wrote it.
public struct MentionDraft: Hashable, Sendable {
  /// A member's bare address, or `room/nick`.
  public var address: JID
  /// The first code point of the text, and the one behind the last.
  public var begin: Int?
  public var end: Int?

  public init(address: JID, begin: Int?, end: Int?) {
    self.address = address
    self.begin = begin
    self.end = end
  }
}

/// The text by which repeats are recognised.
extension MentionDraft: CustomStringConvertible {
  public var description: String { "\(address) \(begin ?? -1) \(end ?? -1)" }
}

extension MentionDraft {
  /// Creates a draft that makes the same mention again.
  public init(_ mention: Mention) {
    self.init(address: JID(mention.party.address), begin: mention.place?.lowerBound, end: mention.place?.upperBound)
  }
}

extension Entry {
  /// The users that the current version of the message mentions.
  public var mentions: [Mention] {
    guard case .message(let message) = fact, state?.retraction == nil else { return [] }
    if let state, state.text != nil { return state.mentions }
    return message.mentions
  }
}
