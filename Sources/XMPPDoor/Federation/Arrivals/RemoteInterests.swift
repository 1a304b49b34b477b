import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// The nodes that remote clients want to be notified of (XEP-0163 4.2), by the capabilities in their presence
/// (XEP-0115). Each capability hash is looked up only once. A client is sent the last items of a user's nodes when it
/// becomes available to that user, and when a later presence adds interests.
enum RemoteInterests {
  /// Handles the available presence that a contact's remote client shows to the addressee.
  static func announced(_ arrival: RemoteArrival) {
    guard let address = try? FullJID(arrival.from), let claim = CapabilitiesClaim(arrival.stanza.element)
    else { return }
    let (link, owner) = (arrival.link, arrival.to.bare)
    if let known = link.door.capabilities.interests(of: claim) {
      return learned(known, of: address, for: owner, by: link)
    }
    guard let work = link.work, let server = BareJID(parsing: link.home.domain) else { return }
    work.ask(address, for: claim, from: Party(id: UserID(0), realm: link.home.id, address: server)) { [weak work] in
      if let link = work?.link { learned($0, of: address, for: owner, by: link) }
    }
  }

  private static func learned(
    _ interests: Set<String>, of address: FullJID, for owner: BareJID, by link: any RemoteLink
  ) {
    let gained = link.parley.hub.remotePresences.setInterests(
      interests, of: address.bare, resource: address.resource, toldTo: owner)
    if !gained.isEmpty { PEP.tellLast(of: owner, to: address, gained, by: link) }
  }
}

extension LinkWork {
  /// Asks a remote client for its capabilities (XEP-0115 6.2); one that does not answer has no interests.
  func ask(
    _ address: FullJID, for claim: CapabilitiesClaim, from asker: Party, then: @escaping (Set<String>) -> Void
  ) {
    guard let link else { return }
    var writer = StreamFraming.writer()
    writer.element(.discoInfo) { $0.attribute("node", claim.queried) }
    let request = Array(writer.buffer.readableBytesView)
    let (door, loop) = (link.door, link.loopContext.loop)
    let back = NIOLoopBound(then, eventLoop: loop)
    Task {
      let answer = await door.questions.ask(
        .get, request, of: address.jid, from: asker, within: DoorLimits.delegationAnswer, door.parley.hub)
      let query = answer?.isError == false ? answer?.element.first(.discoInfo) : nil
      guard let interests = query.map({ door.capabilities.learn($0, for: claim) }) else { return }
      loop.execute { back.value(interests) }
    }
  }
}
