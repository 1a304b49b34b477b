import Dialogs
import XMLStream
import XMPP

/// The errors of publish-subscribe: a condition of RFC 6120 with one of XEP-0060 16.3.
extension StanzaError {
  /// Creates an error.
  ///
  /// - Parameter name: the name of XEP-0060's own element.
  init(_ condition: Condition, pubsub name: StaticString, _ text: String? = nil, type: Kind? = nil) {
    self.init(condition, text, type: type, application: Element(Name(name, NS.pubsubErrors)))
  }

  /// Returns the error of 6.2.3.2 and 6.3.4.2.
  static func notSubscribed(_ type: Kind) -> StanzaError {
    StanzaError(.unexpectedRequest, pubsub: "not-subscribed", type: type)
  }

  /// Returns the error for a feature of XEP-0060 that this server lacks.
  static func unsupported(_ feature: String) -> StanzaError {
    StanzaError(
      .featureNotImplemented, application: Element(Name("unsupported", NS.pubsubErrors), ["feature": feature]))
  }

  /// Creates the error that XEP-0060 defines for a refused publication.
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
    case Problem.notSubscribed.code: self = .notSubscribed(.cancel)
    case Problem.subscriptionPending.code: self.init(.notAuthorized, pubsub: "pending-subscription", problem.text)
    case Problem.tooManySubscriptions.code:
      self.init(.policyViolation, pubsub: "too-many-subscriptions", problem.text, type: .wait)
    case "presence-subscription-required": self.init(.noSubscription)
    case "not-in-roster-group": self.init(.notInGroup)
    case "closed-node": self.init(.notListed)
    case "node-is-view", Problem.nodePersonal.code: self.init(.notAllowed, problem.text)
    case Problem.accessModelUnsupported.code:  // 8.1.3
      self.init(.notAcceptable, pubsub: "unsupported-access-model", problem.text)
    default: self.init(problem)
    }
  }

  /// Creates the error for a node that the viewer may not read (6.1.3, 6.5.9).
  init(_ denial: NodeConfiguration.Denial) {
    switch denial {
    case .outcast, .publishOnly: self.init(.forbidden)
    case .notSubscribed: self.init(.notAuthorized, pubsub: "not-subscribed")
    case .noSubscription: self.init(.notAuthorized, pubsub: "presence-subscription-required")
    case .notInGroup: self.init(.notAuthorized, pubsub: "not-in-roster-group")
    case .notListed: self.init(.notAllowed, pubsub: "closed-node")
    }
  }
}
