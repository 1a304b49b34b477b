import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0372 3.2: mentions of a dialog's members in a message, by their address or, in a room, by their occupant. Places
/// are in code points of the body (2.1; XEP-0426); apps count them in the text without the fallbacks.
struct Mentions: Feature {
  static let xep = XEP(372, "0.5.0", "References", note: "Mentions. Other references are forwarded unchanged.")

  private static let reference = Name("reference", NS.references)

  func register(in table: inout FeatureTable) {
    // 2: only clients implement it.
    table.advertise("\(NS.references)", on: [.session])
    table.read(Self.reference) { element, draft in
      // With an anchor it refers to another message (3.1).
      guard draft.mentions.count < Limits.mentionsMax, element.has("type", equalTo: "mention"),
        element["anchor"] == nil, let address = element["uri"].flatMap({ JID(uri: $0) })
      else { return }
      draft.mentions.append(
        MentionDraft(
          address: address, begin: element["begin"].flatMap { Int($0) }, end: element["end"].flatMap { Int($0) }))
    }
  }

  /// Writes an app's mentions.
  static func write(_ mentions: [Mention], in room: RoomName?, into writer: inout ElementWriter) {
    for mention in mentions {
      guard let address = address(of: mention, in: room) else { continue }
      writer.element(reference) { writer in
        writer.attribute("type", "mention" as StaticString)
        if let place = mention.place {
          writer.attribute("begin", place.lowerBound)
          writer.attribute("end", place.upperBound)
        }
        writer.attribute("uri", address.uri)
      }
    }
  }

  private static func address(of mention: Mention, in room: RoomName?) -> JID? {
    switch mention.name {
    case .address: return JID(mention.party.address)
    case .nick(let nick):
      guard let room = room?.address else { return nil }
      return try? JID(local: room.local, domain: room.domain, resource: nick)
    case .unnamed: return nil
    }
  }
}

extension Draft {
  /// The `mentions` with their places in `text`. A mention inside a quote is left out.
  var textMentions: [MentionDraft] {
    guard let body, !mentions.isEmpty, !fallbacks.isEmpty, text != body else { return mentions }
    let (places, hidden) = (0...body.unicodeScalars.count, mergedFallbacks)
    /// Returns the number of the text's code points before a place of the body.
    func kept(before place: Int) -> Int {
      place - hidden.reduce(0) { $0 + $1.clamped(to: 0..<place).count }
    }
    return mentions.compactMap { mention in
      guard let begin = mention.begin, let end = mention.end, places.contains(begin), places.contains(end) else {
        return mention
      }
      let (first, last) = (kept(before: begin), kept(before: end))
      if first == last && begin != end { return nil }
      return MentionDraft(address: mention.address, begin: first, end: last)
    }
  }
}
