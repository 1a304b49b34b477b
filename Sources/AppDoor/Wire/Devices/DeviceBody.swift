import Basics
import JSON

/// Where one installation of an app is woken. Empty that rings it comes back: neither token nor keys.
struct DeviceBody: Hashable, Sendable, JSONObjectWritable {
  struct Push: Hashable, Sendable, JSONObjectWritable {
    /// `apns`, `fcm`, `webpush`, `unifiedpush`, `webhook`.
    var provider: String
    /// `alert`, `voip`.
    var kind: String
    /// `production`, `sandbox`; of Apple's alone.
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
  /// It ends with the login that asks.
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
    /// Of `apns`, `fcm`, `webhook`.
    var token: String?
    /// Of `webpush`, `unifiedpush`.
    var subscription: Subscription?
    /// `alert` where absent.
    var kind: String?
    /// `production` where absent.
    var environment: String?
    var appId: String?
    /// Wants to be told of muted dialogs without showing it; false where absent.
    var silent: Bool?
  }

  /// As a browser writes it: `PushSubscription.toJSON()`.
  struct Subscription: Decodable, Hashable, Sendable {
    struct Keys: Decodable, Hashable, Sendable {
      /// In base64url.
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
