import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's push devices, of all their logins.
enum ListDevices: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<DeviceBody>
  static let name = "device.list"
  static let method = Method.get
  static let path = "/v1/devices"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user()
    let devices = try await Devices(call.parley).all(of: caller.user.id)
    return .ok(
      PageBody(items: devices.map { call.rendering.device($0.device, isCurrent: $0.grant == caller.grant) }))
  }
}
