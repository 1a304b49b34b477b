import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// The discovery of rooms, and of one room (XEP-0045 6).
enum RoomDirectory {
  /// Lists the user's own rooms, including hidden ones, and the public rooms, the latter by the page (XEP-0059; 6.3).
  static func items(_ turn: Turn, _ query: Element) throws(StanzaError) {
    if query["node"] != nil { throw StanzaError(.itemNotFound, "there is no such node") }
    let set = try query.payload(ResultSetRequest.self)
    let limit = max(
      1, min(set?.limit(default: Limits.pageMax) ?? Limits.pageMax, Limits.pageMax))
    if set?.isBackward == true || set?.index != nil {
      throw StanzaError(.featureNotImplemented, "the list is read forwards")
    }
    let (user, after) = (turn.party, set?.after)
    let realm = turn.parley.home(of: user.realm)
    turn.fetch { reader -> (own: [Room], listed: [Room]) in
      let listed = try reader.rooms(in: realm, listed: true, matching: nil, after: after, limit: limit)
      if after != nil { return ([], listed) }
      let own = try reader.rooms(of: .own(user), before: .end, limit: Limits.pageMax).map(\.room)
      return (own.filter { !$0.settings.isListed }, listed)
    } reply: { (rooms) throws(StanzaError) in
      turn.reply { writer in
        writer.element(.discoItems) { writer in
          for room in rooms.own + rooms.listed {
            writer.element(.discoItem) { writer in
              writer.attribute("jid", room.address.description)
              writer.attribute("name", room.settings.name ?? room.address.local)
            }
          }
          if set != nil || rooms.listed.count == limit {
            ResultSetPage(first: rooms.listed.first?.address.local, last: rooms.listed.last?.address.local)
              .write(into: &writer)
          }
        }
      }
    }
  }

  /// Returns the information of a room (6.4), or the user's reserved nick in it (7.12).
  static func info(_ turn: Turn, _ query: Element) throws(StanzaError) {
    let node = query["node"]
    // 18.1.1: the room passes all stanzas on.
    if node == "\(NS.muc)#traffic" { throw StanzaError(.serviceUnavailable, "nothing is held back here") }
    let now = turn.parley.clock.now
    turn.occupancy { (room, occupancy) in
      let readable = occupancy.access.readable
      turn.fetch { reader in
        (
          try readable?.contacts.map { try reader.members(of: $0, after: nil, limit: Limits.pageMax) } ?? [],
          try RoomActivity.perHour(of: room, now: now, reader)
        )
      } reply: { (owners, activity) throws(StanzaError) in
        if let node {
          guard node == "x-roomuser-item" else { throw StanzaError(.itemNotFound, "there is no such node") }
          return turn.reply { writer in
            writer.element(.discoInfo) { writer in
              writer.attribute("node", node)
              if let nick = readable?.member?.nick {
                Capabilities(identities: [.init(category: "conference", type: "text", name: nick)], features: [])
                  .writeContent(into: &writer)
              }
            }
          }
        }
        let capabilities = RoomInfo.capabilities(
          of: room, occupants: occupancy.count, isMember: occupancy.affiliation.isMember,
          owners: owners.map(\.party.address),
          activity: activity,
          features: turn.session.door.table.advertised(on: .room))
        turn.reply { Disco.write(capabilities, node: nil, into: &$0) }
      }
    }
  }

  /// Lists occupants by nick (6.5), some of them if they are many; those of a closed room are shown to its members only.
  static func occupants(_ turn: Turn, _ query: Element) throws(StanzaError) {
    if query["node"] != nil { throw StanzaError(.itemNotFound, "there is no such node") }
    turn.occupancy(listing: Limits.shownOccupantsMax) { (room, occupancy) in
      turn.reply { writer in
        writer.element(.discoItems) { writer in
          for occupant in occupancy.occupants.sorted(by: { $0.nick < $1.nick }) {
            writer.element(.discoItem) { writer in
              writer.attribute("jid", Outbound.address(room.address, occupant.nick))
              writer.attribute("name", occupant.nick)
            }
          }
        }
      }
    }
  }
}

extension Turn {
  /// The addressed room.
  var room: BareJID { to?.bare ?? party.address }

  /// Reads the occupancy as far as the requester may see it; refused if the room is hidden from them.
  ///
  /// - Parameter count: the number of occupants to read as well: in a large room by far the most of the work.
  func occupancy(listing count: Int = 0, _ then: @escaping (Room, Occupancy) throws(StanzaError) -> Void) {
    postToRoom(count > 0 ? .occupants(.address(room), atMost: count) : .place(.address(room))) { [self] receipt in
      guard let room = receipt.room, let occupancy = receipt.value as? Occupancy else {
        return fail(StanzaError(.internalServerError))
      }
      do throws(StanzaError) { try then(room, occupancy) } catch { fail(error) }
    }
  }
}
