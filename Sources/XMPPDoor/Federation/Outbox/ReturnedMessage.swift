import Addresses
import Dialogs
import XMPP

/// A message that another server returns with an error (RFC 6121 8.5). If it came from the outbox, its author is notified by
/// an entry of the log, and so also when they are offline.
struct ReturnedMessage {
  /// The remote user whom the message did not reach.
  let sender: Party
  let report: OutboxIntent

  /// Reads a message of type `error`; `nil` for any other stanza.
  init?(_ stanza: Stanza, in realm: RealmID) {
    guard stanza.kind == .message, let error = StanzaError(reportedBy: stanza), let id = stanza.id,
      let from = try? stanza.from(), let to = try? stanza.to(), to.local != nil
    else { return nil }
    sender = Party(remote: from.bare, realm: realm)
    let text = String(decoding: (error.text ?? "").utf8.prefix(Limits.failureTextMax), as: UTF8.self)
    report = .failed(
      message: id, to: to.bare, FederationFailure(error.type.failure, String(describing: error.condition.text), text))
  }
}

extension StanzaError.Kind {
  fileprivate var failure: FederationFailure.Kind {
    switch self {
    case .auth: .auth
    case .cancel: .cancel
    case .continue: .continue
    case .modify: .modify
    case .wait: .wait
    }
  }
}
