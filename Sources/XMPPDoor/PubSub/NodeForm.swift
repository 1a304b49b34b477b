import Addresses
import Basics
import Dialogs
import XMPP

/// The configuration of a node as a form (XEP-0060 8.2, 16.4.4), and the same fields as conditions of a publication
/// (7.1.5).
///
/// Options that cannot be changed here are shown with their one value, for clients that insist on them. A form to be
/// filled in has only those for which the field says that there is no other value, by its options or its range.
enum NodeForm {
  private enum Key {
    static let access = "pubsub#access_model"
    static let groups = "pubsub#roster_groups_allowed"
    static let persistsItems = "pubsub#persist_items"
    static let itemsMax = "pubsub#max_items"
    static let whenFull = "pubsub#publish_node_full"
    static let sendLast = "pubsub#send_last_published_item"
    static let notifies = "pubsub#deliver_notifications"
    static let deliversPayloads = "pubsub#deliver_payloads"
    static let notifiesRetract = "pubsub#notify_retract"
    static let notifiesDelete = "pubsub#notify_delete"
    static let notifiesConfiguration = "pubsub#notify_config"
    static let title = "pubsub#title"
    static let about = "pubsub#description"
    static let type = "pubsub#type"
    static let publishers = "pubsub#publish_model"
    static let itemReply = "pubsub#itemreply"
  }

  static let formType = "http://jabber.org/protocol/pubsub#node_config"
  private static let max = "max"
  private static let none = "none"
  private static let publisher = "publisher"

  /// The fields with one possible value, its other spellings behind it.
  private static let fixed: [(key: String, kind: DataForm.FieldKind, values: [String], label: String)] = [
    ("pubsub#node_type", .listSingle, ["leaf"], "Kind of node"),
    ("pubsub#notification_type", .listSingle, ["headline"], "Kind of message that events are"),
    ("pubsub#presence_based_delivery", .boolean, ["1", "true"], "Only who is there is told"),
    ("pubsub#purge_offline", .boolean, ["0", "false"], "Items go with their publisher's presence"),
    ("pubsub#notify_sub", .boolean, ["0", "false"], "The owner is told of subscriptions"),
    ("pubsub#subscribe", .boolean, ["1", "true"], "Others may subscribe"),
    ("pubsub#tempsub", .boolean, ["0", "false"], "Subscriptions end with the subscriber's presence"),
    ("pubsub#item_expire", .textSingle, [max], "Seconds after which items go"),
    ("pubsub#max_payload_size", .textSingle, ["\(Limits.itemBytesMax)"], "Most bytes of an item"),
  ]

  // MARK: Offering

  /// Returns the form with the present configuration, at a service without what refers to an account's presence and
  /// contacts.
  ///
  /// - Parameter groups: the groups of contacts to choose from, beside those that are chosen.
  static func form(
    of configuration: NodeConfiguration, groups: Set<String> = [], kind: DataForm.Kind = .form,
    isAtService: Bool = false
  ) -> DataForm {
    DataForm(
      kind, formType: formType,
      fields: [
        list(
          Key.access, text(configuration.access),
          (isAtService ? [.open, .whitelist, .authorize] : NodeConfiguration.Access.allCases).map(text), "Who may read"),
        DataForm.Field(
          Key.groups, .listMulti, label: "Groups of contacts, where only they may read", values: configuration.groups,
          options: groups.union(configuration.groups).sorted().map { DataForm.Option($0) }),
        DataForm.Field(Key.persistsItems, configuration.persistsItems, label: "Items are kept"),
        DataForm.Field(
          Key.itemsMax, .textSingle, configuration.itemsMax.map { "\($0)" } ?? max, label: "Most items that are kept"),
        list(
          Key.whenFull, text(configuration.whenFull), NodeConfiguration.WhenFull.allCases.map(text),
          "What happens to a full node"),
        list(
          Key.sendLast, text(configuration.sendLast),
          (isAtService ? [.never, .onSubscription] : NodeConfiguration.SendLast.allCases).map(text),
          "When the last item is told again"),
        DataForm.Field(Key.notifies, configuration.notifies, label: "Changes are told of"),
        DataForm.Field(Key.deliversPayloads, configuration.deliversPayloads, label: "With the items themselves"),
        DataForm.Field(Key.notifiesRetract, configuration.notifiesRetract, label: "Also that items go"),
        DataForm.Field(Key.notifiesDelete, configuration.notifiesDelete, label: "Also that the node goes"),
        DataForm.Field(
          Key.notifiesConfiguration, configuration.notifiesConfiguration, label: "Also that it is configured anew"),
        single(Key.title, configuration.title, "Name"),
        single(Key.about, configuration.about, "Description"),
        single(Key.type, configuration.type, "Namespace of the items"),
        list(
          Key.publishers, text(configuration.publishers), NodeConfiguration.Publishers.allCases.map(text),
          "Who publishes beside the owner"),
        list(
          Key.itemReply, configuration.namesPublisher ? publisher : none, [none, publisher],
          "Whom items name as their publisher"),
      ].filter { !isAtService || $0.name != Key.groups }
        + fixedFields(in: kind))
  }

  private static func fixedFields(in kind: DataForm.Kind) -> [DataForm.Field] {
    var fields: [DataForm.Field] = []
    for field in fixed {
      let value = field.values[0]
      var shown = DataForm.Field(field.key, field.kind, value, label: field.label)
      if field.kind == .listSingle { shown.options = [DataForm.Option(value)] }
      if field.kind == .textSingle, let number = Int(value) { shown.range = DataForm.WholeNumbers(number...number) }
      if kind != .form || !shown.options.isEmpty || shown.range != nil { fields.append(shown) }
    }
    return fields
  }

  /// Returns the metadata of a node for those who may read it (XEP-0060 5.4).
  static func metadata(of node: Node, at address: BareJID, _ people: NodePeople) -> DataForm {
    let owners = people.affiliations.filter { $0.value == .owner }.keys.map(\.description).sorted()
    let subscribers = people.subscriptions.count { $0.state == .subscribed }
    return DataForm(
      .result, formType: "http://jabber.org/protocol/pubsub#meta-data",
      fields: [
        DataForm.Field("pubsub#creator", .jidSingle, (node.creator ?? address).description),
        DataForm.Field("pubsub#owner", .jidMulti, values: node.owner.isService ? owners : [address.description]),
        DataForm.Field(
          "pubsub#creation_date", .textSingle, node.createdAt.description),
        DataForm.Field(Key.access, .listSingle, text(node.configuration.access)),
        DataForm.Field(Key.publishers, .listSingle, text(node.configuration.publishers)),
        DataForm.Field("pubsub#num_subscribers", .textSingle, "\(subscribers)"),
        DataForm.Field(Key.itemsMax, .textSingle, node.configuration.itemsMax.map { "\($0)" } ?? max),
        single(Key.title, node.configuration.title, "Name"),
        single(Key.about, node.configuration.about, "Description"),
        single(Key.type, node.configuration.type, "Namespace of the items"),
      ].filter { !$0.values.isEmpty })
  }

  private static func list(_ key: String, _ value: String, _ values: [String], _ label: String) -> DataForm.Field {
    DataForm.Field(
      key, .listSingle, label: label, values: [value], options: values.map { DataForm.Option($0) })
  }

  private static func single(_ key: String, _ value: String?, _ label: String) -> DataForm.Field {
    DataForm.Field(key, .textSingle, label: label, values: value.map { [$0] } ?? [])
  }

  // MARK: Reading

  /// Returns the options in a filled-in form; those left out stay unchanged (8.2.4). A field that was emptied, with an
  /// empty value or none, empties a text, a list or a bound, and changes nothing where one value must be chosen. Fields
  /// of other names are ignored.
  ///
  /// - Throws: `not-acceptable` (8.2.5.2) for an unsupported value, or several in a field that has one.
  static func options(_ form: DataForm) throws(StanzaError) -> [NodeOption] {
    if let type = form.formType, type != formType {
      throw StanzaError(.badRequest, "the form is no configuration of a node")
    }
    for field in fixed {
      if let value = try form.single(field.key), !value.isEmpty, !field.values.contains(value) {
        throw StanzaError(.notAcceptable, "\(field.key) is \(field.values[0])")
      }
    }
    return try known(form)
  }

  /// Returns the preconditions of a publication.
  ///
  /// - Throws: `conflict` with `<precondition-not-met/>` for an unsupported value, and for an unknown field, since a
  ///   condition that is not understood cannot be promised (7.1.5).
  static func conditions(_ form: DataForm) throws(StanzaError) -> [NodeOption] {
    guard form.formType == String(describing: NS.pubsubPublishOptions) else {
      throw StanzaError(.badRequest, "the form holds no options of a publication")
    }
    for field in form.fields {
      guard let name = field.name, name != "FORM_TYPE" else { continue }
      if let fixed = fixed.first(where: { $0.key == name }) {
        if field.values.count == 1, fixed.values.contains(field.values[0]) { continue }
        throw StanzaError(.conflict, pubsub: "precondition-not-met", "\(name) is \(fixed.values[0])")
      }
      if !names.contains(name) {
        throw StanzaError(.conflict, pubsub: "precondition-not-met", "\(name) is not known here")
      }
    }
    return try known(form)
  }

  private static let names: Set<String> = [
    Key.access, Key.groups, Key.persistsItems, Key.itemsMax, Key.whenFull, Key.sendLast, Key.notifies,
    Key.deliversPayloads, Key.notifiesRetract, Key.notifiesDelete, Key.notifiesConfiguration, Key.title, Key.about,
    Key.type, Key.publishers, Key.itemReply,
  ]

  /// Returns the options in the fields that are known here, whatever else the form contains.
  static func known(_ form: DataForm) throws(StanzaError) -> [NodeOption] {
    var options: [NodeOption] = []
    if let text = try words(form, Key.access) {
      guard let access = NodeConfiguration.Access.allCases.first(where: { self.text($0) == text }) else {
        // 8.1.2.
        throw StanzaError(.notAcceptable, pubsub: "unsupported-access-model")
      }
      options.append(.access(access))
    }
    if form[Key.groups] != nil { options.append(.groups(form.values(Key.groups).filter { !$0.isEmpty })) }
    if let value = try flag(form, Key.persistsItems) { options.append(.persistsItems(value)) }
    if form[Key.itemsMax] != nil {
      options.append(.itemsMax(try form.single(Key.itemsMax) == max ? nil : form.integer(Key.itemsMax)))
    }
    if let value = try choice(form, Key.whenFull, NodeConfiguration.WhenFull.allCases, text) {
      options.append(.whenFull(value))
    }
    if let value = try choice(form, Key.sendLast, NodeConfiguration.SendLast.allCases, text) {
      options.append(.sendLast(value))
    }
    if let value = try flag(form, Key.notifies) { options.append(.notifies(value)) }
    if let value = try flag(form, Key.deliversPayloads) { options.append(.deliversPayloads(value)) }
    if let value = try flag(form, Key.notifiesRetract) { options.append(.notifiesRetract(value)) }
    if let value = try flag(form, Key.notifiesDelete) { options.append(.notifiesDelete(value)) }
    if let value = try flag(form, Key.notifiesConfiguration) { options.append(.notifiesConfiguration(value)) }
    if form[Key.title] != nil { options.append(.title(try words(form, Key.title))) }
    if form[Key.about] != nil { options.append(.about(try words(form, Key.about))) }
    if form[Key.type] != nil { options.append(.type(try words(form, Key.type))) }
    if let value = try choice(form, Key.publishers, NodeConfiguration.Publishers.allCases, text) {
      options.append(.publishers(value))
    }
    if let value = try choice(form, Key.itemReply, [true, false], { $0 ? publisher : none }) {
      options.append(.namesPublisher(value))
    }
    return options
  }

  private static func words(_ form: DataForm, _ key: String) throws(StanzaError) -> String? {
    try form.single(key).flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func flag(_ form: DataForm, _ key: String) throws(StanzaError) -> Bool? {
    try words(form, key) == nil ? nil : form.boolean(key)
  }

  private static func choice<Value>(
    _ form: DataForm, _ key: String, _ all: [Value], _ text: (Value) -> String
  ) throws(StanzaError) -> Value? {
    guard let said = try words(form, key) else { return nil }
    guard let value = all.first(where: { text($0) == said }) else {
      throw StanzaError(.notAcceptable, "the field '\(key)' cannot be \(said)")
    }
    return value
  }

  // MARK: Words

  static func text(_ access: NodeConfiguration.Access) -> String {
    switch access {
    case .presence: "presence"
    case .open: "open"
    case .whitelist: "whitelist"
    case .roster: "roster"
    case .authorize: "authorize"
    }
  }

  private static func text(_ value: NodeConfiguration.Publishers) -> String {
    switch value {
    case .publishers: "publishers"
    case .subscribers: "subscribers"
    case .open: "open"
    }
  }

  private static func text(_ value: NodeConfiguration.WhenFull) -> String {
    switch value {
    case .retractOldest: "retract-oldest"
    case .discardOldest: "discard-oldest"
    case .reject: "reject"
    }
  }

  private static func text(_ value: NodeConfiguration.SendLast) -> String {
    switch value {
    case .never: "never"
    case .onSubscription: "on_sub"
    case .onPresence: "on_sub_and_presence"
    }
  }
}
