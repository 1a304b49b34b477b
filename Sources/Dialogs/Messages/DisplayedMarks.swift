import Addresses
import Basics

/// Displayed messages as a node (XEP-0490). `Displayed` explains why it stores almost nothing.
extension Judge {
  /// Publishes how far a client has displayed a chat. If the message is known, this moves the mark, without telling the
  /// other user; an older message changes nothing.
  mutating func publishDisplayed(
    _ post: Post, _ draft: NodePublication, _ item: NodePublication.Item
  ) throws {
    let owner = post.author
    let known = try writer.node(Displayed.node, of: owner.id)
    if let known, !draft.conditions.allSatisfy({ $0.isMet(by: known.configuration) }) {
      throw Problem.preconditionNotMet
    }
    var node = try known ?? newNode(Displayed.node, of: owner, draft.conditions)
    if case .displayed(let displayed) = item.content,
      let intent = try mark(item.id, displayed, for: owner)
    {
      do {
        switch intent {
        case .privately(let draft): try marker(post, draft)
        case .room(let room, let draft): try marker(post, room, draft)
        }
        if known == nil, node.configuration != Displayed.configuration { try store(node) }
        return
      } catch is Problem {
        // The other party is no longer a user, or the reader no longer a member: it is stored like an unknown id.
      }
    }
    if let kept = try writer.item(item.id, in: Displayed.node, of: owner.id), kept.content == item.content {
      var receipt = Receipt(position: head)
      receipt.isRepeat = true
      return settle(post, receipt)
    }
    try put(item, in: &node, of: owner)
    settle(post)
  }

  private enum MarkIntent {
    case privately(MarkerDraft)
    case room(RoomReference, RoomMarkerDraft)
  }

  /// Returns the change of a mark; `nil` if the message is not one of a dialog with `chat`.
  private mutating func mark(
    _ chat: String, _ displayed: Displayed, for reader: Party
  ) throws -> MarkIntent? {
    func isOf(_ archive: BareJID) -> Bool { displayed.by.isEmpty || BareJID(parsing: displayed.by) == archive }
    guard let address = JID(parsing: chat), address.isBare, let id = PublicID(displayed.id),
      let position = realms.position(of: id, in: reader.realm)
    else { return nil }
    if let peer = try user(address.bare, seenFrom: reader.realm)?.party {
      guard isOf(reader.address), let dialog = try writer.dialog(between: reader.id, and: peer.id),
        case .message? = try writer.entry(position, in: .server(dialog.id, .rules))?.fact
      else { return nil }
      return .privately(MarkerDraft(with: peer.address, kind: .displayed, target: .entry(id), isPrivate: true))
    }
    guard isOf(address.bare), let state = try lookUp(.address(address.bare), for: reader),
      try mark(of: reader.id, in: state) != nil,
      try writer.entry(position, in: .server(state.room.id, .rules)) != nil
    else { return nil }
    return .room(.dialog(state.room.id), RoomMarkerDraft(kind: .displayed, target: id, isPrivate: true))
  }

  /// Tells the reader's interested clients of a moved mark.
  ///
  /// - Parameter archive: the address that assigned the stanza-ids; `nil` for the reader's own.
  mutating func tellDisplayed(
    _ id: PublicID, of chat: BareJID, archive: BareJID? = nil, by reader: Party
  ) throws {
    let item = chat.description
    let stored = try writer.node(Displayed.node, of: reader.id)
    if var node = stored, let kept = try writer.item(item, in: Displayed.node, of: reader.id) {
      try writer.removeItem(item, in: Displayed.node, of: reader.id)
      try erase(kept, of: reader)
      node.itemCount -= 1
      node.byteCount -= kept.content.byteCount
      try store(node)
    }
    let configuration = stored?.configuration ?? Displayed.configuration
    guard configuration.notifies, hub.isAnyInterested(in: Displayed.node, of: reader.id) else { return }
    let displayed = Displayed(by: (archive ?? reader.address).description, id: id.description)
    tell(
      .node(
        NodeEvent(
          owner: reader, node: Displayed.node,
          kind: .published(NodeItem(id: item, content: .displayed(displayed), position: head, time: time)),
          configuration: configuration), nil))
  }

  /// Returns whether a private reading set the mark to `target`: clients publish what they have displayed, and then
  /// send a marker to the other user, who has not received it yet.
  func isUntold(_ mark: Mark, at target: Position) throws -> Bool { try target == mark.displayed && hidesRead(mark) }

  /// Returns whether the others do not know how far the reader has read: a marker of delivery that follows must not show it.
  func hidesRead(_ mark: Mark) throws -> Bool {
    guard mark.position > .zero,
      case .marker(let last)? = try writer.entry(mark.position, in: .server(mark.dialog, .rules))?.fact
    else { return false }
    return !last.told || last.hidesRead
  }
}

extension Displayed {
  /// Returns the node as its owner sees it; `nil` if nothing has been displayed yet.
  public static func node(of owner: UserID, _ reader: any StoreReader) throws -> Node? {
    if let stored = try reader.node(node, of: owner) { return stored }
    guard try !reader.displayed(by: owner, limit: 1).isEmpty else { return nil }
    return Node(owner: owner, name: node, configuration: configuration, createdAt: Timestamp(milliseconds: 0))
  }

  /// Returns all items, in the order of their creation.
  public static func items(of owner: Party, _ reader: any StoreReader) throws -> [NodeItem] {
    let kept = try reader.items(in: node, of: owner.id, newest: true, limit: Limits.itemsPerNodeMax)
    let ids = Set(kept.map(\.id))
    let marks = try reader.displayed(by: owner.id, limit: Limits.itemsPerNodeMax).compactMap { mark -> NodeItem? in
      let id = mark.chat.description
      if ids.contains(id) { return nil }
      let by = mark.isRoom ? mark.chat : owner.address
      return NodeItem(
        id: id, content: .displayed(Displayed(by: by.description, id: mark.id.description)), position: mark.position,
        time: Timestamp(milliseconds: 0))
    }
    return (kept + marks).sorted { $0.position < $1.position }
  }
}
