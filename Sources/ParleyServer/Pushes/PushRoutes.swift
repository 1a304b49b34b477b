import Dialogs
import PushServices

/// Each registration by the way that it has: services over the XMPP door, devices by their providers.
struct PushRoutes: PushRoute {
  let services: any PushRoute
  let devices: any PushRoute

  func publish(_ summary: PushSummary, to registration: PushRegistration, of user: Party) async -> PushOutcome {
    switch registration.target {
    case .service: await services.publish(summary, to: registration, of: user)
    case .device: await devices.publish(summary, to: registration, of: user)
    }
  }
}
