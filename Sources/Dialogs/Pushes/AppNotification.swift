/// A notification of an app's backend for a user's devices, outside of dialogs: an order on its way, a friend who has
/// joined. It is in its user's log but in no feed: it wakes devices, and no session gets it.
public struct AppNotification: Hashable, Sendable {
  public enum Phrase: Hashable, Sendable {
    /// The text to show.
    case text(String)
    /// The key of a localised text of the app, with the values to insert.
    case key(String, [String])
  }

  /// The backend's id, by which repeats are ignored.
  public let id: String
  public let title: Phrase?
  /// The body; `nil` to show nothing and wake the app with `data`.
  public let body: Phrase?
  /// A JSON object for the app.
  public let data: String?

  public init(id: String, title: Phrase? = nil, body: Phrase?, data: String? = nil) {
    self.id = id
    self.title = title
    self.body = body
    self.data = data
  }

  /// The digest that distinguishes a repeat from another notification with the same id.
  var digest: UInt64 {
    var digest = Digest64()
    for phrase in [title, body] {
      switch phrase {
      case nil: digest.combine("none")
      case .text(let text):
        digest.combine("text")
        digest.combine(text)
      case .key(let key, let args):
        digest.combine("key \(args.count)")
        digest.combine(key)
        for arg in args { digest.combine(arg) }
      }
    }
    digest.combine(data ?? "")
    return digest.finish()
  }
}

extension Judge {
  /// Stores a notification in the author's log, with a pending push to their devices. `Receipt.isRepeat` tells that it
  /// existed. `Receipt.value` is the number of devices (`Int`).
  mutating func notify(_ post: Post, _ notification: AppNotification) throws {
    let user = post.author
    guard try writer.user(user.id)?.state == .active else {
      throw Problem(.forbidden, "account-disabled", "This account is disabled.")
    }
    let devices = try writer.pushRegistrations(of: user.id).count { $0.target.device?.kind == .alert }
    let dialog = try dialog(of: user, and: user).state.dialog.id
    let key = RepeatKey(rule: .app, id: "notification \(notification.id)", bodyHash: notification.digest)
    if var receipt = try repeated(key, by: user, in: dialog) {
      receipt.value = devices
      return settle(post, receipt)
    }
    let entry = try insertOwn(
      .notification(notification), of: user, at: nextPosition(), isInFeed: false, key: key)
    // Without devices there is nothing to push, and an old notification is not pushed later.
    if devices > 0 {
      owe(OwedPush(position: entry.position, dialog: entry.dialog, kind: .notification), to: user.id)
    }
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.value = devices
    settle(post, receipt)
  }
}
