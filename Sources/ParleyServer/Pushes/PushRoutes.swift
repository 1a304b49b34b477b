import Dialogs
import PushServices

/// Dispatches pushes: to services over the XMPP door, and to devices over their providers.
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
