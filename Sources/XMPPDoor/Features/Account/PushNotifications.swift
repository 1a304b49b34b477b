import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0357: a client registers a push service for its device. The core decides when to push (`Dialogs.Pushes`);
/// `PushPublisher` does it.
struct PushNotifications: Feature {
  static let xep = XEP(
    357, "0.4.1", "Push Notifications",
    note: """
      To components, and to clients here (full JIDs) that are the user's own, or of somebody who shares presence with \
      the user or has agreed to. Changes of affiliation are not evaluated.
      """)

  private static let enable = Name("enable", NS.push)
  private static let disable = Name("disable", NS.push)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.push)", on: [.account])
    table.iq(.set, Self.enable, to: [.account]) { (turn, element) throws(StanzaError) in
      let service = try Self.service(element)
      guard PushPublisher.mayReach(service, for: turn.party, turn.parley) else {
        throw StanzaError(.remoteServerNotFound, "this server does not federate")
      }
      turn.postAndReply(
        .push(
          .enable(
            service: service, node: element["node"] ?? "", options: try Self.options(element),
            resource: turn.jid.resource)))
    }
    table.iq(.set, Self.disable, to: [.account]) { (turn, element) throws(StanzaError) in
      turn.postAndReply(.push(.disable(service: try Self.service(element), node: element["node"])))
    }
  }

  private static func service(_ element: Element) throws(StanzaError) -> JID {
    guard let service = try element.jid("jid") else { throw StanzaError(.badRequest, "'jid' names the push service") }
    return service
  }

  /// Returns the publish options that the service requires with each publication (5), as they came.
  private static func options(_ element: Element) throws(StanzaError) -> [UInt8]? {
    guard let child = try element.only(.dataForm) else { return nil }
    let form = try DataForm(child)
    guard form.kind == .submit, form.formType == "\(NS.pubsubPublishOptions)" else {
      throw StanzaError(.badRequest, "the form is to be one of publish options")
    }
    return child.serialised()
  }
}
