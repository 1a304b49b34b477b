import Basics
import JSON

/// The push registration of an installation of an app, without its token and keys.
struct DeviceBody: Hashable, Sendable, JSONObjectWritable {
  struct Push: Hashable, Sendable, JSONObjectWritable {
    /// The push provider: `apns`, `fcm`, `webpush`, `unifiedpush` or `webhook`.
    var provider: String
    /// The kind of pushes, `alert` or `voip`.
    var kind: String
    /// `production`, `sandbox`; for Apple only.
    var environment: String?
    var appId: String?
    var silent: Bool

    func writeMembers(to writer: inout JSONWriter) {
      writer.member("provider", provider)
      writer.member("kind", kind)
      writer.member("environment", environment)
      writer.member("appId", appId)
      writer.member("silent", silent)
    }
  }

  var id: String
  var platform: String?
  var locale: String?
  var push: Push
  var updatedAt: Timestamp
  /// Whether it belongs to the caller's login.
  var current: Bool

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("platform", platform)
    writer.member("locale", locale)
    writer.member("push", push)
    writer.member("updatedAt", updatedAt)
    writer.member("current", current)
  }
}

struct PutDeviceInput: Decodable, Hashable, Sendable {
  struct Push: Decodable, Hashable, Sendable {
    var provider: String
    /// The token, for `apns`, `fcm`, `webhook`.
    var token: String?
    /// The subscription, for `webpush`, `unifiedpush`.
    var subscription: Subscription?
    /// `alert` if absent.
    var kind: String?
    /// `production` if absent.
    var environment: String?
    var appId: String?
    /// Whether it wants pushes of muted dialogs without showing them; false if absent.
    var silent: Bool?
  }

  /// A subscription as browsers write it: `PushSubscription.toJSON()`.
  struct Subscription: Decodable, Hashable, Sendable {
    struct Keys: Decodable, Hashable, Sendable {
      /// The public key in base64url.
      var p256dh: String
      var auth: String
    }
    var endpoint: String
    var keys: Keys
  }

  var deviceId: String
  var platform: String?
  var locale: String?
  var push: Push
}

struct DeviceReference: Decodable, Hashable, Sendable {
  var deviceId: String
}
