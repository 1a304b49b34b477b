import Dialogs
import XMLStream
import XMPP

/// The errors of publish-subscribe: a condition of RFC 6120 and beside it one of
/// XEP-0060 16.3.
extension StanzaError {
  /// - Parameter name: of the element, one of XEP-0060's own.
  init(_ condition: Condition, pubsub name: StaticString, _ text: String? = nil) {
    self.init(condition, text, application: Element(Name(name, NS.pubsubErrors)))
  }

  /// What XEP-0060 has and this server does not.
  static func unsupported(_ feature: String) -> StanzaError {
    StanzaError(
      .featureNotImplemented, application: Element(Name("unsupported", NS.pubsubErrors), ["feature": feature]))
  }

  /// Why something was not published, as XEP-0060 says it.
  init(publishing problem: Problem) {
    switch problem.code {
    case "precondition-not-met": self.init(.conflict, pubsub: "precondition-not-met", problem.text)  // 7.1.5
    case "node-full": self.init(.conflict, pubsub: "node-full", problem.text)  // 7.1.3.4
    case "payload-too-big": self.init(.notAcceptable, pubsub: "payload-too-big", problem.text)  // 7.1.3.5
    case "payload-invalid": self.init(.badRequest, pubsub: "invalid-payload", problem.text)  // 7.1.3.6
    case "item-required": self.init(.badRequest, pubsub: "item-required", problem.text)  // 7.1.3.7
    case "node-transient": self = .unsupported("persistent-items")  // 7.2.3.5, 8.5.3.3
    case "too-many-nodes": self.init(.policyViolation, pubsub: "max-nodes-exceeded", problem.text)
    case "option-invalid", "node-name-invalid", "item-id-invalid": self.init(.notAcceptable, problem.text)  // 8.2.5.2
    case "node-is-view": self.init(.notAllowed, problem.text)
    default: self.init(problem)
    }
  }

  /// Why somebody may not read a node (6.5.9).
  init(_ denial: NodeConfiguration.Denial) {
    switch denial {
    case .noSubscription: self.init(.notAuthorized, pubsub: "presence-subscription-required")
    case .notInGroup: self.init(.notAuthorized, pubsub: "not-in-roster-group")
    case .notListed: self.init(.notAllowed, pubsub: "closed-node")
    }
  }
}
