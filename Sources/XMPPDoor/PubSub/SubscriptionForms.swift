import Addresses
import Dialogs
import XMLStream
import XMPP

/// The options of a subscription (XEP-0060 6.3, 16.4.2): whether events are delivered.
enum SubscriptionForm {
  private static let formType = "http://jabber.org/protocol/pubsub#subscribe_options"
  private static let deliver = "pubsub#deliver"
  /// The options that must be off; other values are refused.
  private static let off = ["pubsub#digest", "pubsub#include_body"]

  static func form(_ isPaused: Bool, _ kind: DataForm.Kind) -> DataForm {
    DataForm(
      kind, formType: formType, fields: [DataForm.Field(deliver, !isPaused, label: "Events are told of")])
  }

  /// Returns whether a form pauses a subscription; `nil` if it leaves that as it is.
  ///
  /// - Throws: `invalid-options` (6.3.6.2).
  static func isPaused(_ form: DataForm) throws(StanzaError) -> Bool? {
    guard form.kind == .submit, form.formType == nil || form.formType == formType else { throw invalid() }
    for field in form.fields where field.name != "FORM_TYPE" && field.name != deliver {
      guard let name = field.name, off.contains(name), field.values == ["0"] || field.values == ["false"] else {
        throw invalid()
      }
    }
    do { return try form.boolean(deliver).map { !$0 } } catch { throw invalid() }
  }

  private static func invalid() -> StanzaError { StanzaError(.badRequest, pubsub: "invalid-options") }
}

/// A subscription request to the owner, and the owner's answer (XEP-0060 8.6).
enum AuthorizationForm: Equatable {
  /// The request stays pending.
  case undecided
  case decided(node: String, JID, isAllowed: Bool)

  private static let formType = "http://jabber.org/protocol/pubsub#subscribe_authorization"
  private static let node = "pubsub#node"
  private static let subscriber = "pubsub#subscriber_jid"
  private static let allow = "pubsub#allow"

  static func form(node name: String, _ address: JID) -> DataForm {
    DataForm(
      .form, formType: formType, title: "A subscription",
      instructions: ["Somebody wants to be told of what you publish. Do you allow it?"],
      fields: [
        DataForm.Field(node, .textSingle, name, label: "Node"),
        DataForm.Field(subscriber, .jidSingle, address.description, label: "Who"),
        DataForm.Field(allow, false, label: "Allow it"),
      ])
  }

  /// Reads an answer; `nil` if it is another form, or one that decides nothing.
  init?(_ element: Element) {
    guard let form = try? DataForm(element), form.formType == Self.formType else { return nil }
    switch form.kind {
    case .cancel: self = .undecided
    case .form, .result: return nil
    case .submit:
      guard let node = try? form.single(Self.node),
        let address = (try? form.single(Self.subscriber)).flatMap({ JID(parsing: $0) }),
        let isAllowed = try? form.boolean(Self.allow)
      else { return nil }
      self = .decided(node: node, address, isAllowed: isAllowed)
    }
  }
}
