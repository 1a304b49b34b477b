import Addresses
import Dialogs
import XMLStream
import XMPP

extension Name {
  static let pubsub = Name("pubsub", NS.pubsub)
  static let pubsubOwner = Name("pubsub", NS.pubsubOwner)
  static let pubsubItem = Name("item", NS.pubsub)
}

/// A client's request in `<pubsub/>` (XEP-0060 6.5, 7, 8.1).
enum PubsubRequest {
  case items(ItemsRequest)
  case publish(PublishRequest)
  case retract(node: String, item: String, notifies: Bool)
  /// Creates a node; without a name the server chooses one (8.1.1, "instant node").
  case create(node: String?, DataForm?)
  case subscribe(SubscribeRequest)
  case unsubscribe(node: String, JID)
  /// Sets the options of a subscription; without a form it requests them.
  case options(node: String, JID, DataForm?)
  /// Requests subscriptions; without a node those of all nodes.
  case subscriptions(node: String?)
  case affiliations(node: String?)
  case defaultOptions(node: String?)

  private static let asked = Name("items", NS.pubsub)
  private static let publication = Name("publish", NS.pubsub)
  private static let publishOptions = Name("publish-options", NS.pubsub)
  private static let retraction = Name("retract", NS.pubsub)
  private static let creation = Name("create", NS.pubsub)
  private static let configuration = Name("configure", NS.pubsub)
  private static let subscription = Name("subscribe", NS.pubsub)
  private static let ending = Name("unsubscribe", NS.pubsub)
  private static let subscribeOptions = Name("options", NS.pubsub)
  private static let subscribed = Name("subscriptions", NS.pubsub)
  private static let affiliated = Name("affiliations", NS.pubsub)
  private static let standard = Name("default", NS.pubsub)

  /// Reads a request.
  ///
  /// - Throws: the errors that XEP-0060 names.
  init(_ pubsub: Element, isSet: Bool) throws(StanzaError) {
    guard let act = pubsub.children.first(where: { _ in true }) else {
      throw StanzaError(.badRequest, "<pubsub/> asks for nothing")
    }
    if !isSet, act.is(Self.asked) {
      self = .items(try ItemsRequest(act, page: pubsub.payload(ResultSetRequest.self)))
    } else if isSet, act.is(Self.publication) {
      self = .publish(try PublishRequest(act, options: pubsub.only(Self.publishOptions)))
    } else if isSet, act.is(Self.retraction) {
      // 7.2.3.4: exactly one; more than one cannot be told apart from a mistake.
      var children = act.children.makeIterator()
      guard let item = children.next(), item.is(.pubsubItem), children.next() == nil, let id = item["id"], !id.isEmpty
      else { throw StanzaError(.badRequest, pubsub: "item-required") }
      self = .retract(node: try Self.node(of: act), item: id, notifies: try act.boolean("notify") ?? false)
    } else if isSet, act.is(Self.creation) {
      let node = act["node"].flatMap { $0.isEmpty ? nil : $0 }
      guard let configure = try pubsub.only(Self.configuration) else {
        self = .create(node: node, nil)
        return
      }
      // 8.1.3.
      if configure["node"] != nil { throw StanzaError(.badRequest, "<configure/> names no node here") }
      self = .create(node: node, try configure.payload(DataForm.self))
    } else if isSet, act.is(Self.subscription) {
      self = .subscribe(try SubscribeRequest(act, options: pubsub.only(Self.subscribeOptions)))
    } else if isSet, act.is(Self.ending) {
      self = .unsubscribe(node: try Self.node(of: act), try Self.address(of: act))
    } else if act.is(Self.subscribeOptions) {
      let (node, address) = (try Self.node(of: act), try Self.address(of: act))
      self = .options(node: node, address, isSet ? try act.requiredPayload(DataForm.self) : nil)
    } else if !isSet, act.is(Self.subscribed) {
      self = .subscriptions(node: Self.named(act))
    } else if !isSet, act.is(Self.affiliated) {
      self = .affiliations(node: Self.named(act))
    } else if !isSet, act.is(Self.standard) {
      self = .defaultOptions(node: Self.named(act))
    } else {
      throw StanzaError(.badRequest, "<pubsub/> asks for nothing that is known")
    }
  }

  private static func named(_ element: Element) -> String? { element["node"].flatMap { $0.isEmpty ? nil : $0 } }

  /// Returns the address that a request names (6.3.4.3).
  private static func address(of element: Element) throws(StanzaError) -> JID {
    guard let text = element["jid"], !text.isEmpty else { throw StanzaError(.badRequest, pubsub: "jid-required") }
    guard let address = JID(parsing: text) else { throw StanzaError(.badRequest, pubsub: "invalid-jid") }
    return address
  }

  /// Returns the node that a request must name (7.2.3.3).
  static func node(of element: Element) throws(StanzaError) -> String {
    guard let node = element["node"], !node.isEmpty else { throw StanzaError(.badRequest, pubsub: "nodeid-required") }
    return node
  }
}

/// `<subscribe/>` with its options (XEP-0060 6.1, 6.3.7).
struct SubscribeRequest: Equatable {
  let node: String
  let address: JID
  let options: DataForm?

  init(_ subscribe: Element, options: Element?) throws(StanzaError) {
    node = try PubsubRequest.node(of: subscribe)
    guard let address = subscribe["jid"].flatMap({ JID(parsing: $0) }) else {
      throw StanzaError(.badRequest, pubsub: "invalid-jid")
    }
    self.address = address
    guard let options else {
      self.options = nil
      return
    }
    if options["node"] != nil || options["jid"] != nil {
      throw StanzaError(.badRequest, "<options/> names no node and no address here")
    }
    self.options = try options.requiredPayload(DataForm.self)
  }
}

/// A request for `<items/>` (XEP-0060 6.5).
struct ItemsRequest: Equatable {
  let node: String
  /// The number of most recent items to return (6.5.7); `nil` for all.
  let max: Int?
  /// The ids of the items to return (6.5.8); empty for all.
  let ids: [String]
  /// The page to return (6.5.4); `max` is then ignored.
  let page: ResultSetRequest?

  init(_ items: Element, page: ResultSetRequest? = nil) throws(StanzaError) {
    if page?.index != nil { throw StanzaError(.featureNotImplemented, "pages are asked for by id (XEP-0059 2.5)") }
    self.page = page
    node = try PubsubRequest.node(of: items)
    if let wanted = try items.integer("max_items") {
      guard wanted > 0 else { throw StanzaError(.badRequest, "max_items is at least 1") }
      max = wanted
    } else {
      max = nil
    }
    var ids: [String] = []
    for item in items.children where item.is(.pubsubItem) {
      guard let id = item["id"], !id.isEmpty else { throw StanzaError(.badRequest, pubsub: "item-required") }
      if !ids.contains(id) { ids.append(id) }
      if ids.count > DoorLimits.itemsNamedMax {
        throw StanzaError(.policyViolation, "at most \(DoorLimits.itemsNamedMax) items are named at a time")
      }
    }
    self.ids = ids
  }
}

/// `<publish/>` with its options (XEP-0060 7.1).
struct PublishRequest {
  let node: String
  /// The item; `nil` to send an event only (7.1.1).
  let item: Item?
  let conditions: [NodeOption]

  /// The publication with a payload that the server does not read.
  var opaque: NodePublication {
    let item = item.map { published in
      NodePublication.Item(
        id: published.id ?? DoorContext.randomID(),
        content: .opaque(published.payload?.serialised(defaultNamespace: "") ?? []))
    }
    return NodePublication(node: node, item: item, conditions: conditions)
  }

  struct Item {
    /// The item's id; if `nil`, the server generates one.
    let id: String?
    let payload: Element?
  }

  init(_ publish: Element, options: Element?) throws(StanzaError) {
    node = try PubsubRequest.node(of: publish)
    var children = publish.children.makeIterator()
    if let item = children.next() {
      // One item per request (7.1.1), with one payload (7.1.3.6).
      guard item.is(.pubsubItem), children.next() == nil else { throw StanzaError(.badRequest, "publish one item") }
      var payloads = item.children.makeIterator()
      let payload = payloads.next()
      if payloads.next() != nil || payload?.namespace.isEmpty == true {
        throw StanzaError(.badRequest, pubsub: "invalid-payload", "an item has one payload in a namespace of its own")
      }
      self.item = Item(id: item["id"].flatMap { $0.isEmpty ? nil : $0 }, payload: payload)
    } else {
      item = nil
    }
    // 7.1.5: the element contains a form.
    conditions =
      try options.map { options throws(StanzaError) in
        try NodeForm.conditions(try options.requiredPayload(DataForm.self))
      } ?? []
  }
}

/// An owner's request in `<pubsub xmlns='…#owner'/>` (XEP-0060 8.2 to 8.5, 8.8, 8.9).
enum OwnerRequest: Equatable {
  case configuration(node: String)
  case defaults
  case configure(node: String, DataForm)
  case cancel(node: String)
  case purge(node: String)
  case delete(node: String)
  case subscribers(node: String)
  case affiliates(node: String)
  case setSubscribers(node: String, [JID: NodeSubscription.State?])
  case affiliate(node: String, [BareJID: NodeAffiliation?])

  private static let configuring = Name("configure", NS.pubsubOwner)
  private static let standard = Name("default", NS.pubsubOwner)
  private static let purging = Name("purge", NS.pubsubOwner)
  private static let deletion = Name("delete", NS.pubsubOwner)
  private static let subscriptions = Name("subscriptions", NS.pubsubOwner)
  private static let subscription = Name("subscription", NS.pubsubOwner)
  private static let affiliations = Name("affiliations", NS.pubsubOwner)
  private static let affiliation = Name("affiliation", NS.pubsubOwner)

  init(_ pubsub: Element, isSet: Bool) throws(StanzaError) {
    guard let act = pubsub.children.first(where: { _ in true }) else {
      throw StanzaError(.badRequest, "<pubsub/> asks for nothing")
    }
    if act.is(Self.configuring) {
      let node = try PubsubRequest.node(of: act)
      guard isSet else {
        self = .configuration(node: node)
        return
      }
      let form = try act.requiredPayload(DataForm.self)
      self = form.kind == .cancel ? .cancel(node: node) : .configure(node: node, form)
    } else if !isSet, act.is(Self.standard) {
      self = .defaults
    } else if isSet, act.is(Self.purging) {
      self = .purge(node: try PubsubRequest.node(of: act))
    } else if isSet, act.is(Self.deletion) {
      self = .delete(node: try PubsubRequest.node(of: act))
    } else if act.is(Self.subscriptions) {
      let node = try PubsubRequest.node(of: act)
      self = isSet ? .setSubscribers(node: node, try Self.changes(act)) : .subscribers(node: node)
    } else if act.is(Self.affiliations) {
      let node = try PubsubRequest.node(of: act)
      self = isSet ? .affiliate(node: node, try Self.affiliations(act)) : .affiliates(node: node)
    } else {
      throw StanzaError(.badRequest, "<pubsub/> asks for nothing that is known")
    }
  }

  private static func changes(_ act: Element) throws(StanzaError) -> [JID: NodeSubscription.State?] {
    var changes: [JID: NodeSubscription.State?] = [:]
    for child in act.children where child.is(subscription) {
      // 8.8.2.1: unnamed subscriptions stay.
      guard let wanted = child["subscription"] else { continue }
      let address = try child.requiredJID("jid")
      guard changes[address] == nil else { throw StanzaError(.badRequest, "\(address) is named twice") }
      switch wanted {
      case "none": changes[address] = .some(nil)
      case "subscribed": changes[address] = .subscribed
      case "pending": changes[address] = .pending
      default: throw StanzaError(.notAcceptable, "there is no such state as \(wanted)")
      }
      try checkCount(changes.count)
    }
    return changes
  }

  private static func affiliations(_ act: Element) throws(StanzaError) -> [BareJID: NodeAffiliation?] {
    var changes: [BareJID: NodeAffiliation?] = [:]
    for child in act.children where child.is(affiliation) {
      guard let wanted = child["affiliation"] else { continue }
      let address = try child.requiredJID("jid").bare
      // 8.9.2.4.
      guard changes[address] == nil else { throw StanzaError(.badRequest, "\(address) is named twice") }
      switch wanted {
      case "none": changes[address] = .some(nil)
      default:
        guard let affiliation = NodeAffiliation.allCases.first(where: { "\(PEP.text($0))" == wanted }) else {
          throw StanzaError(.badRequest, "there is no such affiliation as \(wanted)")
        }
        changes[address] = affiliation
      }
      try checkCount(changes.count)
    }
    return changes
  }

  private static func checkCount(_ count: Int) throws(StanzaError) {
    if count > DoorLimits.nodePeopleNamedMax {
      throw StanzaError(.policyViolation, "at most \(DoorLimits.nodePeopleNamedMax) people are named at a time")
    }
  }
}
