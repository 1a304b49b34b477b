import AppProtocol
import Dialogs

/// Has an installation of the app woken, in place of what had its id or its address before.
enum PutDevice: ServedOperation {
  typealias Input = PutDeviceInput
  typealias Output = DeviceBody
  static let name = "device.put"
  static let method = Method.put
  static let path = "/v1/devices/{deviceId}"
  static let successes = [200, 201]

  static func perform(_ input: PutDeviceInput, _ call: Call) async throws(Problem) -> Outcome<DeviceBody> {
    let caller = try call.user()
    let (device, isNew) = try await call.parley.register(try device(input), by: caller)
    let body = call.rendering.device(device, isCurrent: true)
    return isNew ? .created(body) : .ok(body)
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
      // What cannot be read is no key, which the core says.
      keys = PushDevice.Keys(
        agreement: Base64URL.decode(subscription.keys.p256dh) ?? [],
        secret: Base64URL.decode(subscription.keys.auth) ?? [])
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
      updatedAt: WireTime(device.registeredAt), current: isCurrent)
  }
}

/// RFC 4648 5, with or without padding.
enum Base64URL {
  /// nil: it is none.
  static func decode(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (bits, count) = (UInt32(0), 0)
    var letters = text.utf8[...]
    while letters.last == UInt8(ascii: "=") { letters.removeLast() }
    for letter in letters {
      let value: UInt8
      switch letter {
      case 0x41...0x5a: value = letter - 0x41
      case 0x61...0x7a: value = letter - 0x61 + 26
      case 0x30...0x39: value = letter - 0x30 + 52
      case UInt8(ascii: "-"): value = 62
      case UInt8(ascii: "_"): value = 63
      default: return nil
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    // One letter alone is no byte.
    return count == 6 ? nil : bytes
  }
}
