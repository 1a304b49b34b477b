import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// Tells authors that a stanza of theirs has not reached another server: as the error that they would have got at once
/// (RFC 6120 8.3.1), with the stanza's id. The original's content is left out (rule 6 permits it).
enum UndeliveredStanzas {
  /// Writes the error for a message.
  ///
  /// - Parameters:
  ///   - delayed: the time of the failure, for a session that was not there then; `nil` if it is told at once.
  ///   - session: the address of the session that gets it.
  static func write(
    _ undelivered: Undelivered, _ form: Form, delayed: Timestamp?, to user: BareJID, session: String,
    into writer: inout ElementWriter
  ) {
    if form == .carbonReceived {
      // Errors for what was copied are copied (XEP-0280 6.1).
      Carbons.open(
        .received, from: user.description, to: session, type: .error, into: &writer)
    }
    writer.element(.message) { writer in
      writer.attribute("from", Outbound.address(undelivered.peer, undelivered.toResource))
      writer.attribute("to", Outbound.address(user, undelivered.fromResource))
      writer.attribute("type", "error" as StaticString)
      writer.attribute("id", undelivered.stanzaID)
      StanzaError(undelivered.failure).write(into: &writer)
      if let delayed { Delay.write(delayed, by: user.domain, into: &writer) }
    }
    if form == .carbonReceived { Carbons.close(into: &writer) }
  }

  /// Writes the error for a subscription stanza.
  static func write(
    _ stanza: RelayedStanza, _ failure: FederationFailure, to session: String, into writer: inout ElementWriter
  ) {
    writer.element(.presence) { writer in
      writer.attribute("from", Outbound.address(stanza.to, stanza.toResource))
      writer.attribute("to", session)
      writer.attribute("type", "error" as StaticString)
      if let id = stanza.id { writer.attribute("id", id) }
      StanzaError(failure).write(into: &writer)
    }
  }
}

extension StanzaError {
  /// Creates the error that a failure is in XMPP. A condition that RFC 6120 does not define is an undefined one.
  init(_ failure: FederationFailure) {
    let condition = Condition.allCases.first { String(describing: $0.text) == failure.condition }
    self.init(condition ?? .undefinedCondition, failure.text.isEmpty ? nil : failure.text, type: Kind(failure.kind))
  }
}

extension StanzaError.Kind {
  fileprivate init(_ kind: FederationFailure.Kind) {
    self =
      switch kind {
      case .auth: .auth
      case .cancel: .cancel
      case .modify: .modify
      case .wait: .wait
      case .continue: .continue
      }
  }
}

extension FederationFailure {
  /// Creates the failure that another server's error means.
  init(_ error: StanzaError) {
    let kind: Kind =
      switch error.type {
      case .auth: .auth
      case .cancel: .cancel
      case .modify: .modify
      case .wait: .wait
      case .continue: .continue
      }
    self.init(
      kind, String(describing: error.condition.text),
      String(decoding: (error.text ?? "").utf8.prefix(Limits.failureTextMax), as: UTF8.self))
  }
}
