/// Where one installation of an app is woken. Empty that rings it comes back: neither token nor keys.
public struct DeviceBody: Codable, Hashable, Sendable, JSONWritable {
  public struct Push: Codable, Hashable, Sendable, JSONWritable {
    /// `apns`, `fcm`, `webpush`, `unifiedpush`, `webhook`.
    public var provider: String
    /// `alert`, `voip`.
    public var kind: String
    /// `production`, `sandbox`; of Apple's alone.
    public var environment: String?
    public var appId: String?
    public var silent: Bool

    public init(provider: String, kind: String, environment: String?, appId: String?, silent: Bool) {
      self.provider = provider
      self.kind = kind
      self.environment = environment
      self.appId = appId
      self.silent = silent
    }

    public func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.member("provider", provider)
      writer.member("kind", kind)
      writer.member("environment", environment)
      writer.member("appId", appId)
      writer.member("silent", silent)
      writer.endObject()
    }
  }

  public var id: String
  public var platform: String?
  public var locale: String?
  public var push: Push
  public var updatedAt: WireTime
  /// It ends with the login that asks.
  public var current: Bool

  public init(id: String, platform: String?, locale: String?, push: Push, updatedAt: WireTime, current: Bool) {
    self.id = id
    self.platform = platform
    self.locale = locale
    self.push = push
    self.updatedAt = updatedAt
    self.current = current
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("platform", platform)
    writer.member("locale", locale)
    writer.member("push", push)
    writer.member("updatedAt", updatedAt)
    writer.member("current", current)
    writer.endObject()
  }
}

public struct PutDeviceInput: Codable, Hashable, Sendable {
  public struct Push: Codable, Hashable, Sendable {
    public var provider: String
    /// Of `apns`, `fcm`, `webhook`.
    public var token: String?
    /// Of `webpush`, `unifiedpush`.
    public var subscription: Subscription?
    /// `alert` where absent.
    public var kind: String?
    /// `production` where absent.
    public var environment: String?
    public var appId: String?
    /// Wants to be told of muted dialogs without showing it; false where absent.
    public var silent: Bool?

    public init(
      provider: String, token: String? = nil, subscription: Subscription? = nil, kind: String? = nil,
      environment: String? = nil, appId: String? = nil, silent: Bool? = nil
    ) {
      self.provider = provider
      self.token = token
      self.subscription = subscription
      self.kind = kind
      self.environment = environment
      self.appId = appId
      self.silent = silent
    }
  }

  /// As a browser writes it: `PushSubscription.toJSON()`.
  public struct Subscription: Codable, Hashable, Sendable {
    public struct Keys: Codable, Hashable, Sendable {
      /// In base64url.
      public var p256dh: String
      public var auth: String
      public init(p256dh: String, auth: String) {
        self.p256dh = p256dh
        self.auth = auth
      }
    }
    public var endpoint: String
    public var keys: Keys
    public init(endpoint: String, keys: Keys) {
      self.endpoint = endpoint
      self.keys = keys
    }
  }

  public var deviceId: String
  public var platform: String?
  public var locale: String?
  public var push: Push

  public init(deviceId: String, platform: String? = nil, locale: String? = nil, push: Push) {
    self.deviceId = deviceId
    self.platform = platform
    self.locale = locale
    self.push = push
  }
}

public struct DeviceReference: Codable, Hashable, Sendable {
  public var deviceId: String
  public init(deviceId: String) { self.deviceId = deviceId }
}
