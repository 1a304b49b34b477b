import Accounts
import Dialogs
import HTTPPort

/// Lets others who do so too find the caller near where they are, coarsely and for a while.
enum ShareLocation: ServedOperation {
  typealias Input = LocationInput
  typealias Output = LocationBody
  static let name = "me.location.put"
  static let method = Method.put
  static let path = "/v1/users/me/location"

  static func perform(_ input: LocationInput, _ call: RequestContext) async throws(Problem) -> Outcome<LocationBody> {
    // More than any bound: so that no number is too large for what counts it.
    let lifetime = input.ttl.map { Duration.seconds(max(0, min($0, Int(Int32.max)))) } ?? Limits.locationLifetime
    let shared = try await call.accounts.share(
      latitude: input.latitude, longitude: input.longitude, for: lifetime, by: try call.user().user)
    return .ok(LocationBody(expiresAt: shared.expires))
  }
}
