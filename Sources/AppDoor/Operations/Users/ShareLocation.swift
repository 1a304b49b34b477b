import Accounts
import Dialogs
import HTTPPort

/// Shares the caller's location, coarsely and for a while, with others who share theirs.
enum ShareLocation: ServedOperation {
  typealias Input = LocationInput
  typealias Output = LocationBody
  static let name = "me.location.put"
  static let method = Method.put
  static let path = "/v1/users/me/location"

  static func perform(_ input: LocationInput, _ call: RequestContext) async throws(Problem) -> Outcome<LocationBody> {
    // More than any bound, and small enough for every later computation.
    let lifetime = input.ttl.map { Duration.seconds(max(0, min($0, Int(Int32.max)))) } ?? AccountLimits.locationLifetime
    let shared = try await call.accounts.share(
      latitude: input.latitude, longitude: input.longitude, for: lifetime, by: try call.user().user)
    return .ok(LocationBody(expiresAt: shared.expires))
  }
}
