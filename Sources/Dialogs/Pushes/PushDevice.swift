public import Basics
import Crypto

/// The push address of an installation of an app. It belongs to a login and ends with it; several users of one phone
/// may have the same address.
public struct PushDevice: Hashable, Sendable {
  /// The push provider. Stored by name.
  public enum Provider: String, Sendable, CaseIterable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm
    /// A browser's push service (RFC 8030).
    case webpush
    /// A distributor of the user's choice: Web Push, with addresses from another source.
    case unifiedpush
    /// The operator's own gateway.
    case webhook

    /// Whether its address is a URL with keys, rather than a token.
    public var isWebPush: Bool { self == .webpush || self == .unifiedpush }
  }
  /// The purpose of an address. Stored by name.
  public enum Kind: String, Sendable, CaseIterable {
    /// Messages; calls too, if the same login has no address for calls.
    case alert
    /// Calls alone.
    case voip
  }
  /// Apple's environment. Stored by name.
  public enum Environment: String, Sendable, CaseIterable { case production, sandbox }

  /// The keys of a subscription (RFC 8291 2).
  public struct Keys: Hashable, Sendable {
    /// An uncompressed point of P-256: 65 bytes.
    public let agreement: [UInt8]
    /// 16 bytes.
    public let secret: [UInt8]
    public init(agreement: [UInt8], secret: [UInt8]) {
      self.agreement = agreement
      self.secret = secret
    }
  }

  /// The app's id of the installation, unique for its user.
  public let id: String
  public var provider: Provider
  public var kind: Kind
  public var environment: Environment
  /// The provider's id of the app.
  public var appID: String?
  /// A token, or the URL of a subscription.
  public var token: String
  public var keys: Keys?
  /// The app's own information, which is not used here.
  public var platform: String?
  public var locale: String?
  /// Whether it wants pushes of muted dialogs without showing them.
  public var hearsSilently: Bool
  /// The time when this address was last registered.
  public var registeredAt: Timestamp

  public init(
    id: String, provider: Provider, kind: Kind = .alert, environment: Environment = .production, appID: String? = nil,
    token: String, keys: Keys? = nil, platform: String? = nil, locale: String? = nil, hearsSilently: Bool = false,
    registeredAt: Timestamp
  ) {
    self.id = id
    self.provider = provider
    self.kind = kind
    self.environment = environment
    self.appID = appID
    self.token = token
    self.keys = keys
    self.platform = platform
    self.locale = locale
    self.hearsSilently = hearsSilently
    self.registeredAt = registeredAt
  }

  /// Returns whether a text is a valid id of an installation.
  package static func isDeviceID(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f: true
        default: false
        }
      }
  }

  /// Returns whether both wake the same app on the same phone.
  func hasAddress(of other: PushDevice) -> Bool {
    provider == other.provider && token == other.token && kind == other.kind && appID == other.appID
  }
}

/// The push providers of this server.
public struct PushPolicy: Hashable, Sendable {
  public static let none = PushPolicy()
  public var providers: Set<PushDevice.Provider>
  /// The apps that this server may wake at Apple; the first is the default.
  public var topics: [String]
  /// The key that browsers subscribe with (RFC 8292 4): an uncompressed point of P-256, in base64url.
  public var webPushKey: String?

  public init(providers: Set<PushDevice.Provider> = [], topics: [String] = [], webPushKey: String? = nil) {
    self.providers = providers
    self.topics = topics
    self.webPushKey = webPushKey
  }
}

extension PushPolicy {
  /// Returns the device, checked and normalised.
  ///
  /// - Throws: `.malformed`, also if its provider is not served (`push-provider-not-served`).
  func checked(_ device: PushDevice) throws(Problem) -> PushDevice {
    var device = device
    guard PushDevice.isDeviceID(device.id) else {
      throw Problem(
        .malformed, "device-id-malformed", "A device id has 1 to 64 letters, digits, '-' or '_'.", field: "deviceId")
    }
    guard providers.contains(device.provider) else {
      throw Problem(
        .malformed, "push-provider-not-served", "This server does not reach \(device.provider.rawValue).",
        field: "push.provider")
    }
    for (text, field) in [(device.platform, "platform"), (device.locale, "locale"), (device.appID, "push.appId")] {
      guard let text else { continue }
      guard (1...Limits.deviceFieldBytesMax).contains(text.utf8.count), Self.isPlain(text) else {
        throw Problem(
          .malformed, "device-field-malformed",
          "\(field) has 1 to \(Limits.deviceFieldBytesMax) characters of ASCII, without spaces.", field: field)
      }
    }
    switch device.provider {
    case .webpush, .unifiedpush: try checkSubscription(device)
    case .apns, .fcm, .webhook:
      guard device.keys == nil else {
        throw Problem(.malformed, "push-keys-misplaced", "Only subscriptions have keys.", field: "push.subscription")
      }
      guard (1...Limits.pushTokenBytesMax).contains(device.token.utf8.count), Self.isPlain(device.token) else {
        throw Problem(
          .malformed, "push-token-malformed",
          "A token has 1 to \(Limits.pushTokenBytesMax) characters of ASCII, without spaces.", field: "push.token")
      }
    }
    if device.provider == .apns {
      // It becomes part of a path.
      guard device.token.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
        throw Problem(
          .malformed, "push-token-malformed", "A token of Apple's is written in hexadecimal digits.",
          field: "push.token")
      }
      device.token = device.token.lowercased()
      let topic = device.appID ?? topics.first
      guard let topic, topics.contains(topic) else {
        throw Problem(
          .malformed, "push-app-unknown", "This server wakes no app of this name.", field: "push.appId")
      }
      device.appID = topic
    }
    if device.provider.isWebPush, device.kind == .voip {
      // A browser has one address for messages and calls.
      throw Problem(
        .malformed, "push-kind-unknown", "A subscription is of kind alert; calls come there too.", field: "push.kind")
    }
    return device
  }

  private func checkSubscription(_ device: PushDevice) throws(Problem) {
    // TLS is required (RFC 8030 3).
    let rest = device.token.hasPrefix("https://") ? device.token.dropFirst(8) : ""
    let authority = rest.prefix { !"/?#".contains($0) }
    guard device.token.utf8.count <= Limits.pushEndpointBytesMax, Self.isPlain(device.token), !authority.isEmpty,
      !authority.contains("@"), !device.token.contains("#")
    else {
      throw Problem(
        .malformed, "push-endpoint-malformed",
        "An endpoint is a URL with https, of at most \(Limits.pushEndpointBytesMax) bytes.",
        field: "push.subscription.endpoint")
    }
    guard let keys = device.keys, keys.secret.count == 16,
      (try? P256.KeyAgreement.PublicKey(x963Representation: keys.agreement)) != nil, keys.agreement.count == 65
    else {
      throw Problem(
        .malformed, "push-keys-malformed",
        "p256dh is an uncompressed point of P-256 and auth has 16 bytes, both in base64url (RFC 8291 2).",
        field: "push.subscription.keys")
    }
  }

  private static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7e).contains($0) } }
}

/// The push devices of users.
public struct Devices: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// Registers a device, replacing a previous one with its id or address. It ends with a login of the app.
  ///
  /// - Parameters:
  ///   - grant: the login.
  ///   - installation: the id of the installation that logged in.
  /// - Returns: the device as stored, and whether its id is new.
  public func register(
    _ device: PushDevice, of user: Party, grant: Int64, installation: String
  ) async throws(Problem) -> (PushDevice, isNew: Bool) {
    var device = try parley.options.pushes.checked(device)
    guard !device.provider.isWebPush || parley.options.addresses.allows(url: device.token) else {
      throw Problem(
        .malformed, "push-endpoint-malformed", "The endpoint is at an address that is not public.",
        field: "push.subscription.endpoint")
    }
    device.registeredAt = parley.clock.now
    let receipt = try await parley.post(
      .push(.register(device, grant: grant, resource: "app-\(installation)")), by: user)
    return (device, !receipt.isRepeat)
  }

  /// Removes a device.
  ///
  /// - Throws: `.missing` if there is none.
  public func unregister(_ device: String, of user: Party) async throws(Problem) {
    let receipt = try await parley.post(.push(.unregister(device: device)), by: user)
    if receipt.isRepeat { throw Problem(.missing, "device-unknown", "There is no such device.", field: "deviceId") }
  }

  /// Returns the user's devices with their logins, the last registered first.
  public func all(of user: UserID) async throws(Problem) -> [(device: PushDevice, grant: Int64?)] {
    try await parley.read { reader in
      try reader.pushRegistrations(of: user).sorted { $0.enabled > $1.enabled }
        .compactMap { registration in registration.target.device.map { ($0, registration.grant) } }
    }
  }
}
