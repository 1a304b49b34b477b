import Dialogs
import XMLStream
import XMPP

extension Name {
  static let pubsub = Name("pubsub", NS.pubsub)
  static let pubsubOwner = Name("pubsub", NS.pubsubOwner)
  static let pubsubItem = Name("item", NS.pubsub)
}

/// What a client asks of a node in `<pubsub/>` (XEP-0060 6.5, 7, 8.1).
enum PubsubRequest {
  case items(ItemsRequest)
  case publish(PublishRequest)
  case retract(node: String, item: String, notifies: Bool)
  /// nil: a name of the server's choice (8.1.1, "instant node").
  case create(node: String?, DataForm?)

  private static let asked = Name("items", NS.pubsub)
  private static let publication = Name("publish", NS.pubsub)
  private static let publishOptions = Name("publish-options", NS.pubsub)
  private static let retraction = Name("retract", NS.pubsub)
  private static let creation = Name("create", NS.pubsub)
  private static let configuration = Name("configure", NS.pubsub)

  /// - Throws: what XEP-0060 names; `feature-not-implemented` for what this
  ///   server does not do, explicit subscriptions above all.
  init(_ pubsub: Element, isSet: Bool) throws(StanzaError) {
    guard let act = pubsub.children.first(where: { _ in true }) else {
      throw StanzaError(.badRequest, "<pubsub/> asks for nothing")
    }
    if !isSet, act.is(Self.asked) {
      self = .items(try ItemsRequest(act))
    } else if isSet, act.is(Self.publication) {
      self = .publish(try PublishRequest(act, options: pubsub.first(Self.publishOptions)))
    } else if isSet, act.is(Self.retraction) {
      // 7.2.3.4: exactly one; more than one cannot be told apart from a mistake.
      var children = act.children.makeIterator()
      guard let item = children.next(), item.is(.pubsubItem), children.next() == nil, let id = item["id"], !id.isEmpty
      else { throw StanzaError(.badRequest, pubsub: "item-required") }
      self = .retract(node: try Self.node(of: act), item: id, notifies: try act.boolean("notify") ?? false)
    } else if isSet, act.is(Self.creation) {
      let node = act["node"].flatMap { $0.isEmpty ? nil : $0 }
      guard let configure = pubsub.first(Self.configuration) else {
        self = .create(node: node, nil)
        return
      }
      // 8.1.3.
      if configure["node"] != nil { throw StanzaError(.badRequest, "<configure/> names no node here") }
      self = .create(node: node, try configure.first(.dataForm).map { form throws(StanzaError) in try DataForm(form) })
    } else {
      throw .unsupported(Self.feature(of: act))
    }
  }

  /// 7.2.3.3, and everywhere else where a node must be named.
  static func node(of element: Element) throws(StanzaError) -> String {
    guard let node = element["node"], !node.isEmpty else { throw StanzaError(.badRequest, pubsub: "nodeid-required") }
    return node
  }

  /// The name of the feature (XEP-0060 10) that a request would take.
  private static func feature(of act: Element) -> String {
    switch act.local {
    case "subscribe", "unsubscribe": "subscribe"
    case "options": "subscription-options"
    case "subscriptions": "retrieve-subscriptions"
    case "affiliations": "retrieve-affiliations"
    case "default": "retrieve-default-sub"
    default: "publish"
    }
  }
}

/// `<items/>` as somebody asks for them (XEP-0060 6.5).
struct ItemsRequest: Equatable {
  let node: String
  /// The most recent so many (6.5.7); nil: all.
  let max: Int?
  /// These (6.5.8); empty: all.
  let ids: [String]

  init(_ items: Element) throws(StanzaError) {
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
  /// nil: nothing but an event (7.1.1).
  let item: Item?
  let conditions: [NodeOption]

  struct Item {
    /// nil: the server gives it one.
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
        try NodeForm.conditions(try DataForm(try options.required(.dataForm)))
      } ?? []
  }
}

/// What an owner asks in `<pubsub xmlns='…#owner'/>` (XEP-0060 8.2 to 8.5).
enum OwnerRequest: Equatable {
  case configuration(node: String)
  case defaults
  case configure(node: String, DataForm)
  case cancel(node: String)
  case purge(node: String)
  case delete(node: String)

  private static let configuring = Name("configure", NS.pubsubOwner)
  private static let standard = Name("default", NS.pubsubOwner)
  private static let purging = Name("purge", NS.pubsubOwner)
  private static let deletion = Name("delete", NS.pubsubOwner)

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
      let form = try DataForm(try act.required(.dataForm))
      self = form.kind == .cancel ? .cancel(node: node) : .configure(node: node, form)
    } else if !isSet, act.is(Self.standard) {
      self = .defaults
    } else if isSet, act.is(Self.purging) {
      self = .purge(node: try PubsubRequest.node(of: act))
    } else if isSet, act.is(Self.deletion) {
      self = .delete(node: try PubsubRequest.node(of: act))
    } else {
      throw .unsupported(act.local == "affiliations" ? "modify-affiliations" : "manage-subscriptions")
    }
  }
}
