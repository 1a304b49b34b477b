/// A node of an account (XEP-0163).
public struct NodeRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var name: String
  /// The configuration, a data form (XEP-0060 16.4.4); `nil` for the defaults.
  public var form: String?
  /// The affiliations of others, by address.
  public var affiliations: [String: String]

  public init(owner: String, name: String, form: String? = nil, affiliations: [String: String] = [:]) {
    self.owner = owner
    self.name = name
    self.form = form
    self.affiliations = affiliations
  }
}

/// An item of a node. Those of one node come in the order of their publication.
public struct ItemRecord: Sendable, Equatable, Codable {
  public var owner: String
  public var node: String
  /// The configuration of the node, which decides who may read the item.
  public var form: String?
  public var id: String?
  public var payload: String?

  public init(owner: String, node: String, form: String? = nil, id: String?, payload: String?) {
    self.owner = owner
    self.node = node
    self.form = form
    self.id = id
    self.payload = payload
  }
}
