public import Addresses

/// Somebody of the dialog who is named in a message (XEP-0372 3.2).
public struct Mention: Hashable, Sendable {
  /// How XMPP clients are told who it is, decided when it is said. Stored: never renumber the codes (`FactCoding`).
  public enum Name: Hashable, Sendable {
    /// By their address.
    case address
    /// As an occupant, in a room that shows no addresses.
    case nick(String)
    /// Not at all: they have no nick in such a room.
    case unnamed
  }

  public let party: Party
  public let name: Name
  /// Where in the text, in code points (XEP-0426); nil: the message says only that it is about them.
  public let place: Range<Int>?

  public init(party: Party, name: Name, place: Range<Int>?) {
    self.party = party
    self.name = name
    self.place = place
  }
}

/// A mention as its author put it.
public struct MentionDraft: Hashable, Sendable {
  /// A member's bare address, or `room/nick`.
  public var address: JID
  /// In code points of the text: the first one, and one behind the last.
  public var begin: Int?
  public var end: Int?

  public init(address: JID, begin: Int?, end: Int?) {
    self.address = address
    self.begin = begin
    self.end = end
  }
}

/// Repeats are recognised by it.
extension MentionDraft: CustomStringConvertible {
  public var description: String { "\(address) \(begin ?? -1) \(end ?? -1)" }
}

extension MentionDraft {
  /// What would make the same mention again.
  public init(_ mention: Mention) {
    self.init(address: JID(mention.party.address), begin: mention.place?.lowerBound, end: mention.place?.upperBound)
  }
}

extension Entry {
  /// Whom the message mentions as it is now.
  public var mentions: [Mention] {
    guard case .message(let message) = fact, state?.retraction == nil else { return [] }
    if let state, state.text != nil { return state.mentions }
    return message.mentions
  }
}
