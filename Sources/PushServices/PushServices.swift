import Basics
public import Dialogs
public import Logging
import Synchronization

// Push providers: one file each, one protocol. Theory:
//
// The core decides which notices are due, and keeps them until they are taken; here they are translated for a provider,
// and its answer into one of four: taken, gone for ever, failed, or unavailable now. A repeated notice has the same
// bytes and the same id, and replaces the former one of its dialog, so that the one repeat that cannot be avoided,
// after a crash between an answer and its commit, shows nothing twice.

/// Sends pushes to devices by one provider.
public protocol PushSender: Sendable {
  /// Sends one request. Returns its outcome.
  func send(_ notice: PushNotice, _ words: PushTexts, to device: PushDevice) async -> PushOutcome
}

/// The push route to the devices of apps by their providers, and to the services that XMPP clients name by XMPP.
public struct PushServices: PushRoute {
  private let senders: [PushDevice.Provider: any PushSender]
  private let xmpp: any PushRoute
  private let content: PushContent
  private let logger: Logger

  public init(
    _ senders: [PushDevice.Provider: any PushSender], xmpp: any PushRoute, content: PushContent, logger: Logger
  ) {
    self.senders = senders
    self.xmpp = xmpp
    self.content = content
    self.logger = logger
  }

  public func publish(
    _ summary: PushSummary, to registration: PushRegistration, of user: Party
  ) async -> PushOutcome {
    guard let device = registration.target.device else {
      return await xmpp.publish(summary, to: registration, of: user)
    }
    // The operator has turned it off: it may be turned on again.
    guard let sender = senders[device.provider] else { return .unavailable(seconds: nil) }
    for notice in summary.notices {
      let outcome = await sender.send(notice, PushTexts(notice, content), to: device)
      if outcome != .taken { return outcome }
    }
    return .taken
  }
}

/// The fault of a key or an account that the operator has configured.
public struct PushKeyProblem: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  init(_ description: String) { self.description = description }
}

/// Logs that providers do not serve this server.
final class ProviderWarnings: Sendable {
  private let logger: Logger
  private let pace = Mutex(
    LogPace(interval: PushLimits.warningInterval, linesOfReasonMax: 1, linesMax: PushLimits.warningsMax))

  init(_ logger: Logger) { self.logger = logger }

  func say(_ reason: String, _ provider: PushDevice.Provider) {
    guard let unlogged = pace.withLock({ $0.note("\(provider.rawValue) \(reason)", now: .now) }) else { return }
    logger.warning(
      "pushes are not taken; they are tried again",
      metadata: ["provider": "\(provider.rawValue)", "reason": "\(reason)", "unlogged": "\(unlogged)"])
  }
}
