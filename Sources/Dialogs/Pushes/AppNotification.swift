/// What an app's backend tells the devices of a user, of no dialog: an order on its way, a friend who has joined. It stands in the log
/// of its user, in nobody's feed: devices are woken by it and no session is told.
public struct AppNotification: Hashable, Sendable {
  public enum Phrase: Hashable, Sendable {
    /// As it is shown.
    case text(String)
    /// A text of the app's own, in its user's language, and what is put into it.
    case key(String, [String])
  }

  /// What the backend calls it: a repeat is none.
  public let id: String
  public let title: Phrase?
  /// nil: nothing is shown, and the app is woken with `data`.
  public let body: Phrase?
  /// A JSON object, for the app.
  public let data: String?

  public init(id: String, title: Phrase? = nil, body: Phrase?, data: String? = nil) {
    self.id = id
    self.title = title
    self.body = body
    self.data = data
  }

  /// What tells a repeat from another of the same id.
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
  /// Puts a notification of the author's own into the log, and down as owed to their devices. `Receipt.isRepeat`: it was there.
  /// `Receipt.value`: how many devices will be told of it (`Int`).
  mutating func notify(_ post: Post, _ notification: AppNotification, _ writer: any StoreWriter) throws {
    let user = post.author
    guard try writer.user(user.id)?.state == .active else {
      throw Problem(.forbidden, "account-disabled", "This account is disabled.")
    }
    let devices = try writer.pushRegistrations(of: user.id).count { $0.target.device?.kind == .alert }
    let dialog = try dialog(of: user, and: user, writer).state.dialog.id
    let key = RepeatKey(rule: .app, id: "notification \(notification.id)", bodyHash: notification.digest)
    if var receipt = try repeated(key, by: user, in: dialog, writer) {
      receipt.value = devices
      return settle(post, receipt)
    }
    let entry = try insertOwn(
      .notification(notification), of: user, at: nextPosition(), isInFeed: false, key: key, writer)
    // Who has no device has nothing to be told by, and is not told later of what was news then.
    if devices > 0 {
      try owe(OwedPush(position: entry.position, dialog: entry.dialog, kind: .notification), to: user.id, writer)
    }
    var receipt = Receipt(position: head)
    receipt.entry = entry
    receipt.value = devices
    settle(post, receipt)
  }
}
