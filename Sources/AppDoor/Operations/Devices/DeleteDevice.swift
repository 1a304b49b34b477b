import Accounts
import Dialogs
import HTTPPort

/// Removes a device, which gets no more pushes.
enum DeleteDevice: ServedOperation {
  typealias Input = DeviceReference
  typealias Output = EmptyBody
  static let name = "device.delete"
  static let method = Method.delete
  static let path = "/v1/devices/{deviceId}"

  static func perform(_ input: DeviceReference, _ call: RequestContext) async throws(Problem) -> Outcome<EmptyBody> {
    let caller = try call.user()
    try await Devices(call.parley).unregister(input.deviceId, of: caller.user)
    return .done
  }
}
