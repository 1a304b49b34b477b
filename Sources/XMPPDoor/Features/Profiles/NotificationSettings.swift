import Dialogs
import XMLStream
import XMPP

/// XEP-0492: the messages of a chat that a user's clients alert of, in its bookmark. Pushes follow the rule for phones,
/// and apps show and set it. `Dialogs.DialogSettings` defines its effect.
struct NotificationSettings: Feature {
  static let xep = XEP(
    492, "0.2.0", "Chat notification settings",
    note: """
      In bookmarks, also those of users' addresses. The setting for `client/phone` determines pushes. A reply to the \
      user counts as a mention, the nickname in a text does not. The namespace before 0.2 is not supported.
      """)

  static let notify = Name("notify", NS.notificationSettings)
  private static let always = Name("always", NS.notificationSettings)
  private static let onMention = Name("on-mention", NS.notificationSettings)
  private static let never = Name("never", NS.notificationSettings)

  func register(in table: inout FeatureTable) {}

  static func read(_ notify: Element) -> NotificationRules {
    var rules = NotificationRules()
    for child in notify.children {
      if let alerts = alerts(child) {
        rules.rules.append(
          NotificationRules.Rule(
            alerts, category: child["identity-category"], type: child["identity-type"],
            details: BookmarkElement.rest(of: child) { _ in false }))
      } else {
        rules.others += child.serialised(defaultNamespace: "")
      }
    }
    return rules
  }

  private static func alerts(_ element: Element) -> Alerts? {
    if element.is(always) { return .always }
    if element.is(onMention) { return .onMention }
    return element.is(never) ? .never : nil
  }

  static func write(_ rules: NotificationRules, into writer: inout ElementWriter) {
    writer.open(notify)
    for rule in rules.rules {
      switch rule.alerts {
      case .always: writer.open("always")
      case .onMention: writer.open("on-mention")
      case .never: writer.open("never")
      }
      writer.attribute("identity-category", rule.category)
      writer.attribute("identity-type", rule.type)
      writer.raw(rule.details)
      writer.close()
    }
    writer.raw(rules.others)
    writer.close()
  }
}
