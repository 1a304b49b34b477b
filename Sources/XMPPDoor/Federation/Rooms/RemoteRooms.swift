import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// Handles stanzas of remote users to local rooms (XEP-0045). A user who enters becomes a resident, whose session then
/// handles stanzas as a local client's does (`RoomInbound`); others may do the same as local users outside a room.
enum RemoteRooms {
  static func received(_ arrival: RemoteArrival, _ work: LinkWork) throws(StanzaError) {
    if let refusal = arrival.parley.hub.refusalOfRooms(to: arrival.sender) { throw StanzaError(inRoom: refusal) }
    guard let address = try? FullJID(arrival.from), let resident = work.residents[address] else {
      return try visit(arrival, work)
    }
    if resident.rooms[arrival.to.bare] == nil, let join = join(arrival) { return try enter(arrival, join, work) }
    resident.received(arrival.stanza)
    work.residents.flushed(resident)
  }

  /// Handles a stanza of a remote user who is in no local room.
  private static func visit(_ arrival: RemoteArrival, _ work: LinkWork) throws(StanzaError) {
    let stanza = arrival.stanza
    switch stanza.kind {
    case .iq:
      guard stanza.iqType?.isRequest == true else { return }
      if arrival.to.isBare {
        return work.identify(arrival.from.bare) { party in
          RemoteInbound.answer(arrival, arrival.to.local == nil ? .rooms : .room, as: party)
        }
      }
    case .message: if stanza.messageType == .error { return }
    case .presence:
      switch stanza.presenceType {
      case .available:
        if let join = join(arrival) { return try enter(arrival, join, work) }
      case .subscribe: throw StanzaError(.serviceUnavailable)
      case .unavailable, .subscribed, .unsubscribe, .unsubscribed, .probe, .error, nil: return
      }
    }
    let visitor = work.residents.visitor(arrival.sender, at: try sender(arrival), by: arrival.link)
    visitor.received(stanza)
    work.residents.flushed(visitor)
  }

  /// Returns the request to enter; `nil` for any other stanza.
  private static func join(_ arrival: RemoteArrival) -> JoinElement? {
    guard arrival.stanza.kind == .presence, arrival.stanza.presenceType == .available, arrival.to.local != nil,
      arrival.to.resource != nil
    else { return nil }
    return arrival.stanza.element.first(.mucJoin).map { JoinElement($0) }
  }

  /// Stores the identity of a remote user, and lets them enter as a resident.
  private static func enter(_ arrival: RemoteArrival, _ join: JoinElement, _ work: LinkWork) throws(StanzaError) {
    let (link, stanza, room) = (arrival.link, arrival.stanza, arrival.to.bare)
    let address = try sender(arrival)
    func refuse(_ error: StanzaError) {
      let visitor = work.residents.visitor(arrival.sender, at: address, by: link)
      Turn(session: visitor, stanza: stanza, to: arrival.to).fail(inRoom: error)
      work.residents.flushed(visitor)
    }
    if let refusal = work.residents.refusal(of: room, to: address) { return refuse(refusal) }
    work.post(
      .room(.introduce(.address(room), password: join.password)), by: arrival.sender, for: stanza
    ) { result in
      switch result {
      case .success(let receipt):
        guard let party = receipt.value as? Party else { return }
        let resident = work.residents.settle(party, at: address, by: link)
        resident.received(stanza)
        work.residents.flushed(resident)
      case .failure(let problem) where problem.code == Problem.roomUnknown.code:
        // XEP-0045 10.1.1: only users of this server may create rooms.
        refuse(StanzaError(.notAllowed, "there is no such room, and only users of this server make rooms"))
      case .failure(let problem): refuse(StanzaError(inRoom: problem))
      }
    }
  }

  /// The full address of the sender, which rooms require.
  private static func sender(_ arrival: RemoteArrival) throws(StanzaError) -> FullJID {
    guard let address = try? FullJID(arrival.from) else {
      throw StanzaError(.badRequest, "rooms are entered from a full address")
    }
    return address
  }
}
