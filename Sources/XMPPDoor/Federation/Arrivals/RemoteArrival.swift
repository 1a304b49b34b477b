import Addresses
import Dialogs
import XMLStream
import XMPP

/// A stanza that arrived over a link.
struct RemoteArrival {
  let stanza: Stanza
  let from: JID
  let to: JID
  let link: any RemoteLink

  var parley: Parley { link.door.parley }
  var sender: Party { Party(remote: from.bare, realm: link.realm) }

  func relayed(_ name: RelayedStanza.Name, typing: Bool? = nil) -> RelayedStanza {
    RelayedStanza(
      name: name, from: sender, fromResource: from.resource, to: to.bare, toResource: to.resource, id: stanza.id,
      language: stanza.language, extras: extras, typing: typing)
  }

  /// The children, without those that only this server may add, and those that only rooms and archives may send, which
  /// have bare addresses (XEP-0045 7.8.2, XEP-0313 4.2).
  var extras: [UInt8] {
    stanza.extras(link.loopContext) {
      StanzaIDs.isForged($0, sender: from.domain, link.door)
        || from.resource != nil && (StanzaIDs.isInvitation($0) || $0.is(Archive.result))
    }
  }

  /// The children by which a repeated message is recognised; `nil` for all of `extras`. A server that repeats an
  /// unacknowledged message may add a delay (XEP-0203), and the affiliation of the account may have changed (XEP-0489).
  var repeated: [UInt8]? {
    let element = stanza.element
    guard element.first(.delay) != nil || element.first(AccountAffiliations.info) != nil else { return nil }
    return stanza.extras(link.loopContext) {
      $0.is(.delay) || $0.is(AccountAffiliations.info) || StanzaIDs.isForged($0, sender: from.domain, link.door)
    }
  }

  /// Runs work behind the posts of the same sender, so that this user's stanzas keep their order.
  func behindPosts(_ body: @escaping () throws(StanzaError) -> Void) {
    link.work?.afterPosts(of: sender.id) {
      do throws(StanzaError) { try body() } catch { link.refuse(stanza, error) }
    }
  }

  /// Passes a signal on to its addressee's sessions. Returns `false` if none took it.
  func pass(_ relayed: RelayedStanza) -> Bool {
    parley.hub.signal(.stanza(relayed), from: nil, party: relayed.from, to: .user(to.bare, resource: to.resource))
  }

  /// Passes a signal on in its place between what its sender posts: one user's stanzas to another keep their order (RFC
  /// 6120 10.1). An IQ that cannot be posted is answered with an error.
  ///
  /// - Parameters:
  ///   - pass: passes it on at once; returns whether a session took it.
  ///   - then: gets the result of `pass`.
  func inOrder(_ signal: Signal, _ pass: () -> Bool, then: @escaping (Bool) -> Void) {
    guard let work = link.work, work.isPosting(by: sender.id) else { return then(pass()) }
    let target = SignalTarget.user(to.bare, resource: to.resource)
    work.post(.signal(signal, to: target), by: sender, for: stanza) { result in
      switch result {
      case .success(let receipt): then(!receipt.isRepeat)
      // Presence is not answered: a remote room could interpret an error as a sign that its occupant is gone
      // (XEP-0045 17.3).
      case .failure where stanza.kind == .presence: break
      case .failure(let problem): link.refuse(stanza, problem)
      }
    }
  }

  /// Passes the stanza on to the component that it is for.
  func passOn() throws(StanzaError) {
    let name: RelayedStanza.Name
    switch stanza.kind {
    case .message: name = .message(Envelope.MessageType(stanza.messageType))
    case .iq: name = .iq(stanza.element["type"] ?? "")
    case .presence: name = .presence(stanza.element["type"] ?? "")
    }
    if !pass(relayed(name)) { throw StanzaError(.serviceUnavailable) }
  }
}
