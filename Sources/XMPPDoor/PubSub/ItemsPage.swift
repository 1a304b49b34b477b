import Dialogs
import XMLStream
import XMPP

/// The items of a node that one answer holds (XEP-0060 6.5): in the order of publication, and no more than
/// `DoorLimits.itemsBytesMax`.
struct ItemsPage: Equatable {
  var items: [NodeItem]
  /// The number of items in the whole requested set.
  var count: Int
  /// Whether the answer leaves out that there are other items.
  var isSilent: Bool

  init(items: [NodeItem], count: Int, isSilent: Bool) {
    self.items = items
    self.count = count
    self.isSilent = isSilent
  }

  /// Reads a page; `nil` if it begins at an item that does not exist.
  init?(_ request: ItemsRequest, of node: Node, _ reader: any StoreReader) throws {
    if node.name == Bookmark.listNode {
      items = try Bookmark.list(of: node.owner, reader).map { [$0] } ?? []
      (count, isSilent) = (items.count, true)
      return
    }
    if node.name == Displayed.node {
      let all = try DisplayedSync.items(of: node, request, reader)
      guard let page = Self.page(of: all, request) else { return nil }
      self = page
      return
    }
    if !request.ids.isEmpty {
      // 6.5.9.12: missing items are left out.
      var rest = request.ids[...]
      let found = try Self.fill(DoorLimits.itemsNamedMax) {
        while let id = rest.popFirst() {
          if let item = try reader.item(Bookmarks.id(id, in: node.name), in: node.name, of: node.owner) { return item }
        }
        return nil
      }
      (items, count, isSilent) = (found.items, request.ids.count, found.isWhole)
      return
    }
    func place(_ id: String?, _ none: Position) throws -> Position? {
      guard let id else { return none }
      return try reader.item(Bookmarks.id(id, in: node.name), in: node.name, of: node.owner)?.position
    }
    guard var after = try place(request.page?.after, .zero), var before = try place(request.page?.before, .end) else {
      return nil
    }
    // 6.5.7: the most recent ones if no page is requested.
    let isBackward = request.page?.isBackward ?? true
    let most = min(request.page?.max ?? request.max ?? .max, Limits.itemsPerNodeMax)
    var waiting: ArraySlice<NodeItem> = []
    var found = try Self.fill(most) {
      if waiting.isEmpty {
        let next = try reader.items(
          in: node.name, of: node.owner, after: after, before: before, newest: isBackward,
          limit: DoorLimits.itemsReadAtOnce)
        waiting = isBackward ? next.reversed()[...] : next[...]
        if isBackward { before = next.first?.position ?? .zero } else { after = next.last?.position ?? .end }
      }
      return waiting.popFirst()
    }
    if isBackward { found.items.reverse() }
    items = found.items
    count = request.page == nil ? min(node.itemCount, most) : node.itemCount
    isSilent = request.page == nil && found.isWhole
  }

  /// Returns a page of items that are not rows but made from other data.
  private static func page(of all: [NodeItem], _ request: ItemsRequest) -> ItemsPage? {
    var rest = all[...]
    if let after = request.page?.after {
      guard let place = all.firstIndex(where: { $0.id == after }) else { return nil }
      rest = rest[(place + 1)...]
    }
    if let before = request.page?.before {
      guard let place = all.firstIndex(where: { $0.id == before }) else { return nil }
      rest = rest.prefix(upTo: max(place, rest.startIndex))
    }
    let isBackward = request.ids.isEmpty && request.page?.isBackward ?? true
    let most = request.page?.max ?? request.max ?? all.count
    var found = fill(most) { isBackward ? rest.popLast() : rest.popFirst() }
    if isBackward { found.items.reverse() }
    return ItemsPage(items: found.items, count: all.count, isSilent: request.page == nil && found.isWhole)
  }

  /// Takes items until there are no more, or until they fill the answer; at least one.
  private static func fill(
    _ most: Int, _ next: () throws -> NodeItem?
  ) rethrows -> (items: [NodeItem], isWhole: Bool) {
    var items: [NodeItem] = []
    var bytes = 0
    while items.count < most, let item = try next() {
      bytes += item.byteCount
      if bytes > DoorLimits.itemsBytesMax, !items.isEmpty { return (items, false) }
      items.append(item)
    }
    return (items, true)
  }

  /// Returns the ids of all items (5.5), in the order of publication; the newest if not all fit an answer.
  static func ids(of node: Node, _ reader: any StoreReader) throws -> [String] {
    var left = DoorLimits.itemsBytesMax
    let newest = try reader.itemIDs(
      newestIn: node.name, of: node.owner, limit: DoorLimits.itemsBytesMax / DoorLimits.itemOverheadBytes)
    let fitting = newest.prefix {
      left -= $0.utf8.count + DoorLimits.itemOverheadBytes
      return left >= 0
    }
    return fitting.reversed()
  }

  func write(of node: Node, owner: String, into writer: inout ElementWriter) {
    writer.element(.pubsub) { writer in
      writer.element("items") { writer in
        writer.attribute("node", node.name)
        for item in items { NodeWriter.write(item, of: owner, node.configuration, into: &writer) }
      }
      if !isSilent { ResultSetPage(first: items.first?.id, last: items.last?.id, count: count).write(into: &writer) }
    }
  }
}

extension NodeItem {
  /// The estimated size in an answer or an event.
  var byteCount: Int { id.utf8.count + content.byteCount + DoorLimits.itemOverheadBytes }
}
