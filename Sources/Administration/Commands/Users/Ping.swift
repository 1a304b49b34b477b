import Commands

extension AdHocCommand {
  /// Answers. Its node is that of ejabberd, which people look for to see whether commands work.
  static let ping = AdHocCommand(node: "ping", title: "Ping", audience: .everybody) { _ in .done(.done("Pong")) }

  /// The node of a command of this project for a user's own account.
  static func accountNode(_ name: String) -> String { "urn:parley:account:0#" + name }
}
