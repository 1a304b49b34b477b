/// The configuration of a node as a form (XEP-0060 16.4.4).
enum NodeOptions {
  /// - Parameter fields: names without `pubsub#`, and values.
  static func form(_ fields: [(name: String, values: [String])]) -> String {
    let namespace = "jabber:x:data"
    func field(_ name: String, _ values: [String]) -> XMLNode.Child {
      .node(
        XMLNode(
          "field", namespace, [XMLNode.Attribute(name: "var", namespace: "", value: name)],
          children: values.map { .node(XMLNode("value", namespace, children: [.text($0)])) }))
    }
    let type = field("FORM_TYPE", ["http://jabber.org/protocol/pubsub#node_config"])
    return XMLNode(
      "x", namespace, [XMLNode.Attribute(name: "type", namespace: "", value: "submit")],
      children: [type] + fields.map { field("pubsub#\($0.name)", $0.values) }
    ).xml
  }
}
