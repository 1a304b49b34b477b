import Basics

/// Makes copies of messages as sources keep them.
enum MessageCopies {
  static let delay = "urn:xmpp:delay"

  /// Whether servers add this child to a copy: the two copies of one message differ in it.
  private static func isAdded(_ child: XMLNode) -> Bool {
    child.is("stanza-id", "urn:xmpp:sid:0") || child.is("archived", "urn:xmpp:mam:tmp") || child.is("delay", delay)
      || child.is("x", "jabber:x:delay")
  }

  /// Returns the copy of a user, or the reason why it is none.
  ///
  /// - Parameter isOffline: whether it waits for the owner.
  static func make(
    _ stanza: XMLNode, of owner: String, at time: Timestamp, isOffline: Bool
  ) -> Result<MessageCopy, FlawText> {
    guard stanza.name == "message" else { return .failure(FlawText("it is no message")) }
    if stanza["type"] == "groupchat" {
      return .failure(FlawText("a message of a room in a person's archive is not taken; the room's own archive is"))
    }
    if stanza["type"] == "error" { return .failure(FlawText("an error is not taken")) }
    let from = bare(stanza["from"] ?? owner)
    let to = bare(stanza["to"] ?? owner)
    let isInbound = from.lowercased() != owner.lowercased()
    if isInbound, to.lowercased() != owner.lowercased(), !to.isEmpty {
      return .failure(FlawText("it is neither from nor to \(owner)"))
    }
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for case .node(let child) in stanza.children where !isAdded(child) { child.combine(into: &digest) }
    var stanza = stanza
    stanza.children.removeAll { child in
      guard case .node(let node) = child else { return true }
      return node.is("stanza-id", "urn:xmpp:sid:0") || node.is("archived", "urn:xmpp:mam:tmp")
    }
    return .success(
      MessageCopy(
        owner: owner, time: time.milliseconds, peer: isInbound ? from : to, isInbound: isInbound, isOffline: isOffline,
        id: stanza["id"] ?? "", digest: digest, xml: stanza.xml))
  }

  /// Returns a message of a room's archive, or the reason why it is none.
  ///
  /// - Parameters:
  ///   - nick: `nil` if it is the resource of the stanza's `from`.
  ///   - author: `nil` if it is told by the stanza, or nowhere.
  static func ofRoom(
    _ stanza: XMLNode, _ room: String, at time: Timestamp, nick: String? = nil, author: String? = nil
  ) -> Result<RoomMessageRecord, FlawText> {
    guard stanza.name == "message", stanza["type"] == "groupchat" else {
      return .failure(FlawText("it is no message to a room"))
    }
    let from = stanza["from"] ?? ""
    let resource = from.firstIndex(of: "/").map { String(from[from.index(after: $0)...]) }
    guard let nick = nick ?? resource, !nick.isEmpty else {
      return .failure(FlawText("it has no nick, so the room itself has said it"))
    }
    let item = stanza.first("x", user)?.first("item", user)
    var stanza = stanza
    stanza.attributes.removeAll { $0.namespace.isEmpty && ["from", "to"].contains($0.name) }
    stanza.children.removeAll { child in
      guard case .node(let node) = child else { return true }
      return node.is("stanza-id", "urn:xmpp:sid:0") || node.is("archived", "urn:xmpp:mam:tmp") || node.is("x", user)
        || node.is("occupant-id", occupantID)
    }
    return .success(
      RoomMessageRecord(
        room: room, time: time.milliseconds, nick: nick, author: author ?? item?["jid"].map(bare), xml: stanza.xml))
  }

  static let occupantID = "urn:xmpp:occupant-id:0"
  private static let user = "http://jabber.org/protocol/muc#user"

  /// Returns the time at which the server of `owner` stored a message for later: the last `<delay/>` (XEP-0203) from its
  /// domain, or else the first one. The server of the author may have added one before.
  static func delay(of stanza: XMLNode, for owner: String) -> Timestamp? {
    let delays = stanza.nodes.filter { $0.is("delay", delay) }
    let domain = owner.split(separator: "@").last.map(String.init)
    return (delays.last { $0["from"] == domain } ?? delays.first)?["stamp"].flatMap { Timestamp($0) }
  }

  static func bare(_ jid: String) -> String {
    jid.firstIndex(of: "/").map { String(jid[..<$0]) } ?? jid
  }
}

struct FlawText: Error {
  let text: String
  init(_ text: String) { self.text = text }
}

/// The list of all bookmarks in one item (XEP-0048), which some servers keep as a node and others show for old clients. It
/// is taken as the private data that it was first.
enum BookmarkList {
  static let node = "storage:bookmarks"
}
