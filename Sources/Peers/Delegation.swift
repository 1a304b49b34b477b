import XMPP

/// A namespace whose IQs a component answers in place of the server (XEP-0355 4).
public struct Delegation: Sendable, Hashable {
  public let namespace: String
  /// The attributes that the payload must have, all of them.
  public let attributes: [String]
  /// The component's domain.
  public let component: String

  public init(_ namespace: String, attributes: [String] = [], to component: String) {
    self.namespace = namespace
    self.attributes = attributes
    self.component = component
  }

  /// 7.2.3, 7.2.4: disco#info and disco#items of users' bare addresses, at nodes that the server does not know.
  package static let anyInfo = "\(NS.delegation):bare:disco#info:*"
  package static let anyItems = "\(NS.delegation):bare:disco#items:*"
  package var isOfNodes: Bool { namespace == Self.anyInfo || namespace == Self.anyItems }

  /// Returns whether a namespace can be delegated (9).
  public static func isPossible(_ namespace: String) -> Bool {
    namespace != "\(NS.delegation)" && namespace != "\(NS.privilege)"
  }
}
