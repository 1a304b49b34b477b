import Addresses
import Dialogs
import XMPP

/// The access of a user to the nodes of an account or of a service.
struct NodeAccess {
  let owner: UserID
  let isOwn: Bool
  /// Whether the viewer is an operator, who owns all nodes of a service.
  let isAdmin: Bool
  /// The owner's contact for the viewer.
  let contact: Contact?
  /// The viewer's affiliations to the owner's nodes, by node.
  let affiliations: [String: NodeAffiliation]
  let subscriptions: [(node: String, subscription: NodeSubscription)]

  /// Reads the access; `nil` if there is no such user, or none that the viewer may notice (XEP-0191 3.3).
  init?(
    of address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader, _ services: PubsubServices
  ) throws {
    if let service = services.service(at: address, for: viewer) {
      (owner, isOwn, contact) = (service.id, false, nil)
    } else {
      guard let user = try reader.user(address), user.state == .active else { return nil }
      (owner, isOwn) = (user.id, user.id == viewer.id)
      if try !isOwn && reader.blocks(of: user.id).contains(where: { $0.matches(jid.jid) }) { return nil }
      contact = isOwn ? nil : try reader.contact(of: user.id, viewer.address)
    }
    isAdmin = services.isAdmin(viewer, of: owner)
    affiliations = try reader.affiliations(of: viewer.address, with: owner)
    subscriptions = try reader.subscriptions(of: viewer.address, with: owner).map { ($0.node, $0.1) }
  }

  /// Whether the viewer may know that there is such an account (XEP-0030 8), or service.
  var isShared: Bool { isOwn || owner.isService || contact?.subscription.from == true }

  /// Returns whether the viewer decides about a node.
  func owns(_ node: String) -> Bool { isOwn || isAdmin || affiliations[node] == .owner }

  func denial(of node: Node) -> NodeConfiguration.Denial? {
    if owns(node.name) { return nil }
    return node.configuration.denial(
      to: NodeRelation(
        contact: contact, affiliation: affiliations[node.name],
        isSubscribed: subscriptions.contains { $0.node == node.name && $0.subscription.state == .subscribed }))
  }

  func subscription(to node: String, _ address: JID) -> NodeSubscription? {
    subscriptions.first { $0.node == node && $0.subscription.address == address }?.subscription
  }

  /// Returns a node, stored or made from other data.
  func node(_ name: String, _ reader: any StoreReader) throws -> Node? {
    if owner.isService { return try reader.node(name, of: owner) }
    return switch name {
    case Bookmark.listNode: try BookmarkStorage.node(of: owner, reader)
    case Displayed.node: try Displayed.node(of: owner, reader)
    default: try reader.node(name, of: owner)
    }
  }
}

/// The result of looking up a node for a reader.
enum FoundNode {
  case absent
  case missing(isShared: Bool)
  case denied(NodeConfiguration.Denial, isShared: Bool)
  case node(Node)

  init(
    _ name: String, of address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader,
    _ services: PubsubServices
  ) throws {
    guard let sight = try NodeAccess(of: address, for: viewer, at: jid, reader, services) else {
      self = .absent
      return
    }
    guard let node = try sight.node(name, reader) else {
      self = .missing(isShared: sight.isShared)
      return
    }
    self = sight.denial(of: node).map { .denied($0, isShared: sight.isShared) } ?? .node(node)
  }

  /// Looks up a node for a reader who decides about it; `nil` for another one.
  static func owned(
    _ name: String, of address: BareJID, for viewer: Party, at jid: FullJID, _ reader: any StoreReader,
    _ services: PubsubServices
  ) throws -> FoundNode? {
    guard let sight = try NodeAccess(of: address, for: viewer, at: jid, reader, services) else { return .absent }
    guard let node = try sight.node(name, reader) else { return .missing(isShared: sight.isShared) }
    return sight.owns(name) ? .node(node) : nil
  }

  func get() throws(StanzaError) -> Node {
    switch self {
    // RFC 6121 8.5.1.
    case .absent: throw StanzaError(.serviceUnavailable)
    case .missing: throw .noNode
    case .denied(let denial, _): throw StanzaError(denial)
    case .node(let node): return node
    }
  }
}

extension StanzaError {
  static var noNode: StanzaError { StanzaError(.itemNotFound, "there is no such node") }
}
