package import Dialogs
import HTTPPort
import JSON

/// Sends an app's own notification to the devices of users. It is durable when the answer is sent; devices receive it
/// through their push services, like notifications of messages.
package enum SendNotification: AdminOperation {
  package static let name = "notifications.send"
  package static let routes = [AdminRoute(.post, "/notifications", .notifications, status: 202)]

  package struct Input: Codable, Sendable {
    /// User ids or JIDs without duplicates.
    let userIds: [String]
    /// The notification's id for each user; a repeat is not sent again.
    let clientId: String
    let title: String?
    let titleLocKey: String?
    let titleLocArgs: [String]?
    let body: String?
    let bodyLocKey: String?
    let bodyLocArgs: [String]?
    /// Data for the app, passed on unchanged.
    let data: RawObject?
  }

  package struct Told: Codable, Hashable, Sendable {
    package let userId: String
    /// The number of devices that will receive it, without those registered for calls only.
    package let devices: Int
  }

  package typealias Output = AdminPage<Told, String>

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let notification = try notification(input)
    guard !input.userIds.isEmpty else {
      throw Problem(.malformed, "input-malformed", "userIds must name at least one user.", field: "userIds")
    }
    guard input.userIds.count <= Limits.notificationUsersMax else {
      throw Problem(
        .tooLarge, "too-many-users", "One notification can have at most \(Limits.notificationUsersMax) users.",
        field: "userIds")
    }
    // All users are resolved before the first notification is sent.
    var users: [User] = []
    for id in input.userIds {
      let user: User
      do throws(Problem) { user = try await context.user(id) } catch {
        throw Problem(error.kind, error.code, error.text, field: "userIds")
      }
      if !users.contains(where: { $0.id == user.id }) { users.append(user) }
    }
    var told: [Told] = []
    for user in users {
      let devices: Int
      do throws(Problem) {
        let receipt = try await context.parley.post(.push(.notify(notification)), by: user.party)
        devices = receipt.value as? Int ?? 0
      } catch {
        // A disabled user gets no notification and does not prevent the others'.
        guard error.code == "account-disabled" else { throw error }
        devices = 0
      }
      told.append(Told(userId: user.name, devices: devices))
    }
    return Output(items: told)
  }

  private static func notification(_ input: Input) throws(Problem) -> AppNotification {
    guard (1...Limits.clientIDBytesMax).contains(input.clientId.utf8.count), Content.isText(input.clientId) else {
      throw Problem(
        .malformed, "client-id-malformed", "clientId must have 1 to \(Limits.clientIDBytesMax) bytes.",
        field: "clientId")
    }
    let title = try phrase(input.title, input.titleLocKey, input.titleLocArgs, "title")
    let body = try phrase(input.body, input.bodyLocKey, input.bodyLocArgs, "body")
    guard title == nil || body != nil else {
      throw Problem(.malformed, "body-missing", "A title requires body or bodyLocKey.", field: "body")
    }
    guard body != nil || input.data != nil else {
      throw Problem(.malformed, "body-missing", "Give body, bodyLocKey or data.", field: "body")
    }
    // The texts are measured in Google's form, in which `data` is a string.
    let parts = [input.title, input.titleLocKey, input.body, input.bodyLocKey, input.data?.text]
    let all = parts.compactMap { $0 } + (input.titleLocArgs ?? []) + (input.bodyLocArgs ?? [])
    guard all.reduce(0, { $0 + JSONValue.string($1).text.utf8.count }) <= Limits.notificationBytesMax else {
      throw Problem(
        .tooLarge, "notification-too-large",
        "The texts and data must have at most \(Limits.notificationBytesMax) bytes in total, as JSON.")
    }
    return AppNotification(id: input.clientId, title: title, body: body, data: input.data?.text)
  }

  /// Returns a phrase of either a text, or a key and its arguments.
  private static func phrase(
    _ text: String?, _ key: String?, _ args: [String]?, _ field: String
  ) throws(Problem) -> AppNotification.Phrase? {
    let isClean = ([text, key] + (args ?? [])).allSatisfy { $0.map { !$0.isEmpty && Content.isText($0) } ?? true }
    guard isClean, (args ?? []).count <= Limits.notificationArgumentsMax else {
      throw Problem(
        .malformed, "notification-malformed",
        "\(field), its key and its values (at most \(Limits.notificationArgumentsMax)) must not be empty or contain "
          + "control characters.", field: field)
    }
    switch (text, key, args) {
    case (nil, nil, nil): return nil
    case (let text?, nil, nil): return .text(text)
    case (nil, let key?, let args): return .key(key, args ?? [])
    default:
      throw Problem(
        .malformed, "notification-malformed", "Give either \(field), or \(field)LocKey with \(field)LocArgs, if any.",
        field: field)
    }
  }
}
