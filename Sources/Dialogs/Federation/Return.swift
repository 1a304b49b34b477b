import Addresses

/// The progress of asking for the presence of all contacts at a domain elsewhere again (RFC 6121 4.3), for the users of a domain of this
/// server: they were shown as offline (`Departure`), and the domain can be reached again.
public struct DomainReturn: Sendable {
  let pair: DomainPair
  /// The users whose contacts are still to be asked for.
  var viewers: [UserID]
  /// The user whose contacts are being asked for, and those that are left.
  var viewer: UserID?
  var unasked: [BareJID] = []

  public var isOver: Bool { viewers.isEmpty && unasked.isEmpty }
}

extension Hub {
  public func beginReturn(of pair: DomainPair) -> DomainReturn {
    DomainReturn(pair: pair, viewers: viewers(at: pair.remote))
  }

  /// Asks for the next contacts, `Limits.departureStep` users and contacts at most.
  public func goOn(_ back: inout DomainReturn) {
    var batch = LaneBatch()
    var looks = 0
    while looks < Limits.departureStep, !back.isOver {
      if back.unasked.isEmpty {
        looks += 1
        back.viewer = back.viewers.popLast()
        guard let online = back.viewer.flatMap({ self.online($0) }), !online.presences.isEmpty,
          online.contactSnapshot.user.address.hasDomain(back.pair.local)
        else { continue }
        back.unasked = online.contactSnapshot.remoteSubscriptions(at: back.pair.remote)
        continue
      }
      let piece = Array(back.unasked.suffix(Limits.departureStep - looks))
      back.unasked.removeLast(piece.count)
      looks += piece.count
      // A user who has gone offline meanwhile has nobody to ask about.
      guard let online = back.viewer.flatMap({ self.online($0) }), !online.presences.isEmpty else { continue }
      let snapshot = online.contactSnapshot
      probe(piece, at: back.pair.remote, for: snapshot.user.party, contactSnapshot: snapshot, into: &batch)
    }
    batch.send()
  }
}
