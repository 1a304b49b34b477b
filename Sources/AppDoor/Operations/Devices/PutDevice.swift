import Accounts
import Basics
import Dialogs
import HTTPPort

/// Registers an installation of the app for pushes, replacing a previous one with its id or address.
enum PutDevice: ServedOperation {
  typealias Input = PutDeviceInput
  typealias Output = DeviceBody
  static let name = "device.put"
  static let method = Method.put
  static let path = "/v1/devices/{deviceId}"
  static let successes = [200, 201]

  static func perform(_ input: PutDeviceInput, _ call: RequestContext) async throws(Problem) -> Outcome<DeviceBody> {
    let caller = try call.user()
    let (device, isNew) = try await Devices(call.parley).register(
      try device(input), of: caller.user, grant: caller.grant, installation: caller.device)
    let body = call.rendering.device(device, isCurrent: true)
    return isNew ? .created(body) : .ok(body)
  }

  /// Decodes a key. Browsers write no padding; some libraries in apps do.
  private static func bytes(_ key: String) -> [UInt8] {
    var digits = key.utf8[...]
    while digits.last == UInt8(ascii: "=") { digits.removeLast() }
    return Base64URL.decode(digits) ?? []
  }

  private static func device(_ input: PutDeviceInput) throws(Problem) -> PushDevice {
    let push = input.push
    let provider = try word(PushDevice.Provider.self, push.provider, "push.provider")
    var token = push.token ?? ""
    var keys: PushDevice.Keys?
    if let subscription = push.subscription {
      guard push.token == nil else {
        throw Problem(
          .malformed, "push-address-twice", "A token or a subscription is expected, and not both.",
          field: "push.subscription")
      }
      token = subscription.endpoint
      // An unreadable key is empty, which the core refuses.
      keys = PushDevice.Keys(
        agreement: bytes(subscription.keys.p256dh), secret: bytes(subscription.keys.auth))
    }
    return PushDevice(
      id: input.deviceId, provider: provider,
      kind: try push.kind.map { kind throws(Problem) in try word(PushDevice.Kind.self, kind, "push.kind") } ?? .alert,
      environment: try push.environment.map { text throws(Problem) in
        try word(PushDevice.Environment.self, text, "push.environment")
      } ?? .production,
      appID: push.appId, token: token, keys: keys, platform: input.platform, locale: input.locale,
      hearsSilently: push.silent ?? false, registeredAt: Timestamp(milliseconds: 0))
  }

  private static func word<Word: RawRepresentable<String> & CaseIterable>(
    _ words: Word.Type, _ text: String, _ field: String
  ) throws(Problem) -> Word {
    if let word = Word(rawValue: text) { return word }
    let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
    throw Problem(.malformed, "word-unknown", "\(field) is one of \(known).", field: field)
  }
}

extension Rendering {
  func device(_ device: PushDevice, isCurrent: Bool) -> DeviceBody {
    DeviceBody(
      id: device.id, platform: device.platform, locale: device.locale,
      push: DeviceBody.Push(
        provider: device.provider.rawValue, kind: device.kind.rawValue,
        environment: device.provider == .apns ? device.environment.rawValue : nil, appId: device.appID,
        silent: device.hearsSilently),
      updatedAt: device.registeredAt, current: isCurrent)
  }
}
