import Addresses
import Basics
import Dialogs
import JSON
import NIOCore
import XMLStream
import XMPP

/// Stores resumable sessions as bytes over a graceful restart, so that the next process continues the stream as if
/// nothing had happened (XEP-0198 5). Unacknowledged stanzas are kept as the bytes that will be sent again.
enum SessionArchive {
  private struct Kept: Codable {
    var version = 2
    var jid: String
    var id: String
    var resumptionSeconds: UInt32
    var acknowledged: UInt64
    var handled: UInt64
    var items: [KeptBytes]
    var cursor: KeptCursor
    var untold: KeptUntold?
    var toldUpTo: Int64
    var confirmedUpTo: Int64
    var carbons: Bool
    var wantsRoster: Bool
    var wantsBlocks: Bool
    var interests: [String]
    var presence: KeptPresence?
    /// The client's occupants: `room@service/nick`.
    var occupants: [String]
    /// The credential that the session was opened with.
    var access: KeptAccess?
    /// Bytes in base 64.
    struct KeptBytes: Codable {
      let bytes: [UInt8]

      init(_ bytes: [UInt8]) { self.bytes = bytes }

      init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let bytes = Base64.decode(text.utf8) else {
          throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "must be base 64"))
        }
        self.bytes = bytes
      }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64.string(bytes))
      }
    }
    struct KeptCursor: Codable {
      var position: Int64
      var replay: UInt8
      var replayed: Int64
      var early: [Int64]
    }
    struct KeptUntold: Codable {
      var first: Int64
      var last: Int64
      var isRead: Bool
    }
    struct KeptAccess: Codable {
      /// 0 password, 1 grant, 2 app password: as in the store.
      var source: Int
      var sourceID: Int64
      var agent: String?
      var software: String?
      var device: String?
      var client: Int64?
      var since: Int64
      var salt: KeptBytes?
    }
    struct KeptPresence: Codable {
      var availability: UInt8
      var status: String?
      var priority: Int8
      var language: String?
      var extras: KeptBytes
      var time: Int64
    }
  }

  static func archive(_ session: XMPPSession) -> SuspendedSession? {
    // Signals that wait for an inactive client (XEP-0352) are kept too.
    session.isInactive = false
    guard let state = session.state else { return nil }
    let onlineSession = session.parley.hub.onlineSessions(of: session.party.id).first { $0.session === session.handle }
    let snapshot = state.management.snapshot
    let kept = Kept(
      jid: state.jid.description, id: snapshot.id, resumptionSeconds: snapshot.resumptionSeconds,
      acknowledged: snapshot.acknowledgedTotal, handled: snapshot.handledTotal,
      items: snapshot.items.map { Kept.KeptBytes(bytes(of: $0.item, for: session)) },
      cursor: Kept.KeptCursor(
        position: state.cursor.log.position.number, replay: state.cursor.replay.rawValue,
        replayed: state.cursor.replayed.number, early: state.cursor.early.map(\.number)),
      untold: state.untold.map {
        Kept.KeptUntold(
          first: $0.positions.lowerBound.number, last: $0.positions.upperBound.number, isRead: $0.isRead)
      },
      toldUpTo: state.confirmation.told.number, confirmedUpTo: state.confirmation.confirmed.number,
      carbons: onlineSession?.carbons ?? false, wantsRoster: onlineSession?.wantsRoster ?? false,
      wantsBlocks: onlineSession?.wantsBlocks ?? false, interests: Array(onlineSession?.interests ?? []),
      presence: state.presence.map {
        Kept.KeptPresence(
          availability: $0.availability.rawValue, status: $0.status, priority: $0.priority, language: $0.language,
          extras: Kept.KeptBytes($0.extras ?? []),
          time: $0.time.milliseconds)
      },
      occupants: state.rooms.joinedRooms.map { Outbound.address($0.key, $0.value.nick) }
        + state.roomsElsewhere.occupants,
      access: onlineSession?.access.map(Self.kept))
    guard let json = try? JSONValue(encoding: kept) else { return nil }
    return SuspendedSession(
      user: session.party.id, stream: state.nonce,
      expires: session.parley.clock.now + .seconds(session.resumptionSecondsLeft), state: Array(json.text.utf8))
  }

  private static func kept(_ access: Access) -> Kept.KeptAccess {
    let (source, id): (Int, Int64) =
      switch access.source {
      case .password: (0, 0)
      case .grant(let id): (1, id)
      case .appPassword(let id): (2, id)
      }
    return Kept.KeptAccess(
      source: source, sourceID: id, agent: access.agent?.id, software: access.agent?.software,
      device: access.agent?.device, client: access.client, since: access.since.milliseconds,
      salt: access.salt.map { Kept.KeptBytes($0) })
  }

  private static func access(_ kept: Kept.KeptAccess) -> Access {
    let source: Access.Source =
      switch kept.source {
      case 1: .grant(kept.sourceID)
      case 2: .appPassword(kept.sourceID)
      default: .password
      }
    return Access(
      source, agent: ClientAgent(id: kept.agent, software: kept.software, device: kept.device), client: kept.client,
      since: Timestamp(milliseconds: kept.since), salt: kept.salt?.bytes)
  }

  private static func bytes(of item: Sent, for session: XMPPSession) -> [UInt8] {
    switch item {
    case .bytes(let buffer): Array(buffer.readableBytesView)
    case .entry(let entry, let form): Outbound.bytes(of: entry, form, for: session)
    }
  }

  /// Restores a session, which waits for its client again with its former presence.
  static func restore(_ suspended: SuspendedSession, door: DoorContext, loopContext: LoopContext) {
    let now = door.parley.clock.now
    guard suspended.expires > now, let json = try? JSONValue(parsing: suspended.state),
      let kept = try? InputDecoder.decode(Kept.self, from: json),
      kept.version == 2, let jid = FullJID(parsing: kept.jid)
    else { return }
    let bound = NIOLoopBound(loopContext, eventLoop: loopContext.loop)
    door.parley.fetch(on: loopContext.lane, { try $0.party(suspended.user) }) { result in
      guard case .success(let party?) = result else { return }
      restore(kept, jid, party, suspended, door: door, bound: bound)
    }
  }

  private static func restore(
    _ kept: Kept, _ jid: FullJID, _ party: Party, _ suspended: SuspendedSession, door: DoorContext,
    bound: NIOLoopBound<LoopContext>
  ) {
    let loopContext = bound.value
    let presence = kept.presence.flatMap { kept in
      Presence.Availability(rawValue: kept.availability).map {
        Presence(
          from: party, resource: jid.resource, availability: $0, status: kept.status, priority: kept.priority,
          language: kept.language, extras: kept.extras.bytes, time: Timestamp(milliseconds: kept.time))
      }
    }
    let snapshot = ResumptionMachine<Sent>.Snapshot(
      id: kept.id, resumptionSeconds: kept.resumptionSeconds, acknowledgedTotal: kept.acknowledged,
      handledTotal: kept.handled,
      items: kept.items.map { (item: Sent.bytes(ByteBuffer(bytes: $0.bytes)), byteCount: $0.bytes.count) })
    let cursor = StreamCursor(
      at: Position(kept.cursor.position), .behind, replay: StreamCursor.Replay(rawValue: kept.cursor.replay) ?? .over,
      replayed: Position(kept.cursor.replayed), early: kept.cursor.early.map { Position($0) })
    let untold = kept.untold.flatMap { kept in
      kept.first <= kept.last
        ? XMPPSession.Untold(positions: Position(kept.first)...Position(kept.last), isRead: kept.isRead) : nil
    }
    let state = SessionState(
      jid: jid, nonce: suspended.stream, presence: presence, cursor: cursor,
      confirmation: DeliveryConfirmation(told: Position(kept.toldUpTo), confirmed: Position(kept.confirmedUpTo)),
      untold: untold, rooms: JoinedRooms(), roomsElsewhere: RoomsElsewhere(),
      management: SessionState.Management(
        snapshot: snapshot, handled: UInt32(truncatingIfNeeded: kept.handled)))
    let handle = SessionHandle(party: party, loopContext: loopContext)
    let session = XMPPSession(door: door, loopContext: loopContext, handle: handle, resuming: state)
    var onlineSession = OnlineSession(session: handle, door: .xmpp, resource: jid.resource)
    onlineSession.presence = presence
    onlineSession.isConnected = false
    onlineSession.carbons = kept.carbons
    onlineSession.wantsRoster = kept.wantsRoster
    onlineSession.wantsBlocks = kept.wantsBlocks
    onlineSession.interests = Set(kept.interests)
    onlineSession.access = kept.access.map(Self.access)
    session.suspend()
    handle.stands(session)
    session.goOnline(as: onlineSession)
    // Rooms are empty after a restart, and those elsewhere were told that this server stops: the client is told that it
    // has left them, and enters again.
    for occupant in kept.occupants { RoomOutbound.shutDown(occupant, session) }
  }
}
