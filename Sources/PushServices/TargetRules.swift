import Dialogs

extension Pushes {
  /// Returns whether the device of this registration need not be woken, as its session is connected. An app session in
  /// the background does not count.
  static func isHere(_ registration: PushRegistration, _ onlineSessions: [OnlineSession]) -> Bool {
    let own = onlineSessions.filter { $0.resource == registration.resource }
    if registration.target.device != nil { return isAttended(own.filter { $0.door == .app }) }
    return own.contains { $0.door == .xmpp && $0.isConnected && $0.isAvailable }
  }

  /// Returns whether a target gets a push.
  ///
  /// - Parameters:
  ///   - rings: the logins of the user that have devices for calls alone.
  ///   - isAttended: whether another session is active, or shows the dialog.
  static func isFor(
    _ target: PushRegistration, _ kind: OwedPush.Kind, isCall: Bool, rings: Set<Int64?>, isAttended: Bool
  ) -> Bool {
    guard let device = target.target.device else { return kind == .alert && !isAttended }
    let takesCalls = device.kind == .voip || !rings.contains(target.grant)
    switch kind {
    case .callEnd: return takesCalls
    case .silent: return device.kind == .alert && device.hearsSilently && !isAttended
    case .alert where isCall: return takesCalls && (device.kind == .voip || !isAttended)
    case .alert: return device.kind == .alert && !isAttended
    // No session gets it, so it is pushed even to active users.
    case .notification: return device.kind == .alert
    }
  }
}
