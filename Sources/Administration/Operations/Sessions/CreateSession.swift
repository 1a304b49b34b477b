import Accounts
import Basics
package import Dialogs
import HTTPPort

/// Logs in a user whom the backend has authenticated by its own means, and returns the tokens for the user's app.
package enum CreateSession: AdminOperation {
  package static let name = "sessions.create"
  package static let routes = [AdminRoute(.post, "/users/{jid}/sessions", .sessionsWrite, status: 201)]

  package struct Input: Codable, Sendable {
    let jid: String
    /// nil for a new device.
    let deviceId: String?
    /// The app's name for itself.
    let client: String?
  }

  package struct Output: Codable, Hashable, Sendable {
    package let accessToken: String
    package let refreshToken: String
    package let expiresAt: String
    package let deviceId: String
    package let user: UserRow
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let user = try await context.user(input.jid)
    try context.requireReach(over: user.party)
    if let client = input.client, client.utf8.count > Limits.displayNameBytesMax {
      throw Problem(
        .tooLarge, "client-too-long", "client must have at most \(Limits.displayNameBytesMax) bytes.", field: "client")
    }
    let login = try await context.accounts.logIn(as: user, device: input.deviceId, client: input.client)
    return Output(
      accessToken: login.accessToken, refreshToken: login.refreshToken,
      expiresAt: login.grant.accessExpires.description, deviceId: login.grant.device,
      user: UserRow(login.user, in: context))
  }
}
