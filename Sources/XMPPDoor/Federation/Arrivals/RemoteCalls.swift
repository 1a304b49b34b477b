import Addresses
import Dialogs
import Jingle
import XMLStream
import XMPP

/// Calls between local apps and remote clients (XEP-0166). A remote client's media are translated as those of a local
/// client are (`JingleSessions`), so the client has a session at its link while it is in a call. When the link gives
/// the other server up, its calls end as failed.
enum RemoteCalls {
  /// Handles a client's request to an app's device, or its answer to one. Returns `false` if it concerns no call.
  static func received(_ arrival: RemoteArrival) throws(StanzaError) -> Bool {
    guard let residents = arrival.link.work?.residents, let address = try? FullJID(arrival.from) else { return false }
    let known = residents.caller(at: address)
    guard arrival.stanza.iqType?.isRequest == true else {
      guard let known, JingleSessions.answered(arrival.stanza, by: known) else { return false }
      residents.flushed(known)
      return true
    }
    // A request without a session begins one; otherwise the session is unknown.
    guard arrival.stanza.iqType == .set, let jingle = arrival.stanza.payload, jingle.is(JingleRequest.name),
      known != nil || JingleRequest.isInitiate(jingle)
    else { return false }
    guard known != nil || residents.takesCallers else {
      throw StanzaError(.resourceConstraint, "too many users of your server are in calls here", type: .wait)
    }
    let session = residents.callBegins(arrival.sender, at: address, by: arrival.link)
    let turn = Turn(session: session, stanza: arrival.stanza, to: arrival.to)
    do throws(StanzaError) { try JingleSessions.received(turn, jingle) } catch { turn.fail(error) }
    residents.flushed(session)
    return true
  }

  /// Forgets the session of a call whose end a client announces by XEP-0353.
  static func finished(_ name: String, _ arrival: RemoteArrival) {
    guard let residents = arrival.link.work?.residents, let address = try? FullJID(arrival.from),
      let session = residents.caller(at: address)
    else { return }
    JingleSessions.forget(name, with: arrival.to.bare, session)
    residents.flushed(session)
  }

  /// Handles an app's signal to a client.
  static func handle(_ signal: CallSignal, by link: any RemoteLink) {
    guard let residents = link.work?.residents, let resource = signal.recipientResource,
      let address = try? signal.recipient.full(resource)
    else { return }
    let client = Party(remote: signal.recipient, realm: link.realm)
    let session = residents.callBegins(client, at: address, by: link)
    JingleSessions.told(signal, session)
    residents.flushed(session)
  }

  /// Ends the session of a client whose call has ended here.
  static func ended(_ entry: Entry, by link: any RemoteLink) {
    guard case .call(let change) = entry.fact, let residents = link.work?.residents else { return }
    let call = change.call
    for (client, app) in [(call.caller, call.callee), (call.callee, call.caller)] where client.party.realm.isRemote {
      guard let address = client.resource.flatMap({ try? client.party.address.full($0) }),
        let session = residents.caller(at: address)
      else { continue }
      JingleSessions.ended(call, with: app.party.address, session)
      residents.flushed(session)
    }
  }
}
