import Addresses
import Basics
import XMLStream
import XMPP

/// The notifications and pages of a block list's node (XEP-0060), as values. An item's id is the hash, in hexadecimal digits; its
/// payload is not read.
///
/// No XEP defines the format. It is that of Prosody's `mod_muc_rtbl`, which ejabberd reads as well.
enum BlocklistItems {
  /// A change of which the node notifies (XEP-0060 7.1.2, 7.2.2, 8.5.3), in its order.
  enum Change: Hashable, Sendable {
    case added([UInt8])
    case removed([UInt8])
    case emptied
  }

  /// A part of the whole list (XEP-0060 6.5.4).
  struct Page: Hashable, Sendable {
    var hashes: [[UInt8]]
    /// The id behind which the next page begins (XEP-0059 2.1); `nil` if this is all.
    var next: String?
  }

  private static let pubsub = Name("pubsub", NS.pubsub)
  private static let event = Name("event", NS.pubsubEvent)
  private static let set = Name("set", NS.resultSet)

  /// Returns the changes in a notification of a node; `nil` if it is none.
  static func changes(in message: Element, of node: String) -> [Change]? {
    guard let event = message.first(event) else { return nil }
    var changes: [Change] = []
    for child in event.children where child["node"] == node {
      switch child.local {
      case "purge", "delete": changes.append(.emptied)
      case "items":
        for item in child.children {
          guard let hash = item["id"].flatMap(hash) else { continue }
          if item.local == "item" { changes.append(.added(hash)) }
          if item.local == "retract" { changes.append(.removed(hash)) }
        }
      default: continue
      }
    }
    return changes
  }

  /// Returns the part of a list in the answer to `request`; `nil` for any other answer.
  static func page(in answer: Element, of node: String) -> Page? {
    guard let pubsub = answer.first(pubsub),
      let items = pubsub.children.first(where: { $0.local == "items" && $0["node"] == node })
    else { return nil }
    let hashes = items.children.compactMap { $0.local == "item" ? $0["id"].flatMap(hash) : nil }
    // A service that knows no pages answers without this element, with all items.
    let last = pubsub.first(set)?.children.first { $0.local == "last" }?.text
    return Page(hashes: hashes, next: items.children.isEmpty ? nil : last)
  }

  /// Returns the request for a part of the list.
  static func request(_ node: String, after: String?) -> [UInt8] {
    StanzaBytes.bytes { writer in
      writer.element(pubsub) { writer in
        writer.element(Name("items", NS.pubsub)) { $0.attribute("node", node) }
        writer.element(set) { writer in
          writer.element(Name("max", NS.resultSet)) { $0.text("\(FederationLimits.blocklistPage)") }
          if let after { writer.element(Name("after", NS.resultSet)) { $0.text(after) } }
        }
      }
    }
  }

  /// Returns the request to be notified of changes (XEP-0060 6.1.1).
  static func subscription(_ node: String, of subscriber: String) -> [UInt8] {
    StanzaBytes.bytes { writer in
      writer.element(pubsub) { writer in
        writer.element(Name("subscribe", NS.pubsub)) { writer in
          writer.attribute("node", node)
          writer.attribute("jid", subscriber)
        }
      }
    }
  }

  /// Returns the hash that an item's id represents; `nil` for other ids.
  static func hash(_ id: String) -> [UInt8]? {
    let digits = Array(id.utf8)
    guard digits.count == 64 else { return nil }
    var hash: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let high = Hex.value(ofDigit: digits[index]), let low = Hex.value(ofDigit: digits[index + 1]) else {
        return nil
      }
      hash.append(high << 4 | low)
    }
    return hash
  }
}
