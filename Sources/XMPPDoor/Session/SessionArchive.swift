import Addresses
import Basics
import Dialogs
import JSON
import NIOCore
import XMLStream
import XMPP

/// Stores resumable sessions over a graceful restart, so that the next process continues the stream as if nothing had
/// happened (XEP-0198 5). Theory:
///
/// A session is stored in two parts. Its state, a kilobyte or two, is read at the start: the session is there again for
/// those who see it. Its unacknowledged stanzas stay in the store until the client resumes (`StoredStanzas`): places of
/// the log, and bytes of what is in no log. A session whose client would be sent too much again is not stored, nor are the
/// largest of all if they do not fit (`ArchiveShare`): their clients log in anew, and find in the archive what they missed.
///
/// The sessions are removed from the store when this process serves clients, their stanzas when they are resumed. A start
/// that fails before that has changed nothing; after a crash no session is there, as after any other.
enum SessionArchive {
  private struct Kept: Codable {
    var version = 3
    var jid: String
    var id: String
    var resumptionSeconds: UInt32
    var acknowledged: UInt64
    var handled: UInt64
    /// The unacknowledged stanzas that are stored beside the state; `nil` in version 2.
    var stored: KeptStanzas?
    /// The unacknowledged stanzas in version 2.
    var items: [KeptBytes]?
    var cursor: KeptCursor
    var untold: KeptUntold?
    var toldUpTo: Int64
    var confirmedUpTo: Int64
    var carbons: Bool
    var wantsRoster: Bool
    var wantsBlocks: Bool
    var interests: [String]
    var presence: KeptPresence?
    /// The client's occupants in version 2: `room@service/nick`. Later versions have the stanza that each is sent.
    var occupants: [String]?
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
    struct KeptStanzas: Codable {
      var count: Int
      /// About as many as will be sent.
      var bytes: Int
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

  /// Returns the most bytes that all sessions of a stop may store together.
  ///
  /// - Parameter memory: The bytes of memory that the server may use.
  static func bytesMax(memory: Int) -> Int {
    min(memory / DoorLimits.archivedMemoryShare, DoorLimits.archivedBytesMost)
  }

  /// Returns the bytes that a session would store, about; `nil` for one that cannot be resumed, and `Int.max` for one whose
  /// client would be sent more again than is stored.
  static func size(of session: XMPPSession) -> Int? {
    // Signals that wait for an inactive client (XEP-0352) are kept too.
    session.isInactive = false
    guard session.nonce != nil, session.management.id != nil, !session.isEnded else { return nil }
    let occupants = session.rooms.joinedRooms.count + session.roomsElsewhere.occupants.count
    let count = (session.stored?.count ?? 0) + session.management.outbound.count + occupants
    var resent = (session.stored?.byteCount ?? 0) + occupants * DoorLimits.archivedOccupantBytes
    var stored = DoorLimits.archivedStateBytes + occupants * DoorLimits.archivedOccupantBytes
    stored += (session.presence?.extras?.count ?? 0) + session.cursor.early.count * DoorLimits.archivedPositionBytes
    session.management.outbound.forEach { item in
      resent += item.resentBytes
      stored += item.storedBytes
    }
    guard count <= DoorLimits.archivedItemsMax, resent <= DoorLimits.archivedResentBytesMax,
      stored <= DoorLimits.archivedResentBytesMax
    else { return .max }
    return stored
  }

  static func archive(_ session: XMPPSession) -> SuspendedSession? {
    guard let state = session.state else { return nil }
    // The hub may know it by the handle of a successor to which it is not handed over any more.
    let handles = [session.handle, session.successor?.handle]
    let onlineSession = session.parley.hub.onlineSessions(of: session.party.id).first { online in
      handles.contains { $0 === online.session }
    }
    let snapshot = state.management.snapshot
    var stored = Kept.KeptStanzas(count: session.stored?.count ?? 0, bytes: session.stored?.byteCount ?? 0)
    var stanzas = ByteBuffer()
    func store(_ item: Sent) {
      StoredStanza(item) { Outbound.bytes(of: $0, $1, for: session) }.write(into: &stanzas)
      stored.count += 1
      stored.bytes += item.resentBytes
    }
    for (item, _) in snapshot.items { store(item) }
    // Rooms are empty after a restart, and those elsewhere are notified that this server stops: the client is notified
    // that it has left them, and enters again.
    let occupants =
      state.rooms.joinedRooms.map { Outbound.address($0.key, $0.value.nick) } + state.roomsElsewhere.occupants
    for occupant in occupants { store(.bytes(RoomOutbound.shutDown(occupant, to: state.jid))) }
    let kept = Kept(
      jid: state.jid.description, id: snapshot.id, resumptionSeconds: snapshot.resumptionSeconds,
      acknowledged: session.stored?.acknowledged ?? snapshot.acknowledgedTotal, handled: snapshot.handledTotal,
      stored: stored,
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
      access: onlineSession?.access.map(Self.kept))
    guard let json = try? JSONValue(encoding: kept) else { return nil }
    let expires = session.parley.clock.now + .seconds(session.resumptionSecondsLeft)
    return SuspendedSession(
      user: session.party.id, stream: state.nonce, expires: expires, state: Array(json.text.utf8),
      stanzas: Array(stanzas.readableBytesView), stanzasExpire: expires + .seconds(session.resumptionSeconds))
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

  private static func onlineSession(
    _ kept: Kept, _ handle: SessionHandle, resource: String, _ presence: Presence?
  ) -> OnlineSession {
    var onlineSession = OnlineSession(session: handle, door: .xmpp, resource: resource)
    onlineSession.presence = presence
    onlineSession.isConnected = false
    onlineSession.carbons = kept.carbons
    onlineSession.wantsRoster = kept.wantsRoster
    onlineSession.wantsBlocks = kept.wantsBlocks
    onlineSession.interests = Set(kept.interests)
    onlineSession.access = kept.access.map(access)
    return onlineSession
  }

  /// Restores a session, which waits for its client again with its former presence. Returns whether it could be.
  static func restore(
    _ suspended: SuspendedSession, of party: Party?, door: DoorContext, loopContext: LoopContext
  ) -> Bool {
    guard let party, suspended.expires > door.parley.clock.now,
      let json = try? JSONValue(parsing: suspended.state),
      let kept = try? InputDecoder.decode(Kept.self, from: json), let jid = FullJID(parsing: kept.jid)
    else { return false }
    var acknowledged = kept.acknowledged
    var stored: StoredStanzas?
    switch kept.version {
    case 2: break
    case 3:
      guard let stanzas = kept.stored, stanzas.count >= 0 else { return false }
      stored = StoredStanzas(acknowledged: acknowledged, count: stanzas.count, byteCount: stanzas.bytes)
      acknowledged += UInt64(stanzas.count)
    default: return false
    }
    let items = kept.items ?? []
    // A queue that was cut would count differently from its client.
    guard items.count <= XMPPLimits.unacknowledgedItemsMax,
      items.reduce(0, { $0 + $1.bytes.count }) <= XMPPLimits.unacknowledgedBytesMax
    else { return false }
    let presence = kept.presence.flatMap { kept in
      Presence.Availability(rawValue: kept.availability).map {
        Presence(
          from: party, resource: jid.resource, availability: $0, status: kept.status, priority: kept.priority,
          language: kept.language, extras: kept.extras.bytes, time: Timestamp(milliseconds: kept.time))
      }
    }
    let snapshot = ResumptionMachine<Sent>.Snapshot(
      id: kept.id, resumptionSeconds: kept.resumptionSeconds, acknowledgedTotal: acknowledged,
      handledTotal: kept.handled,
      items: items.map { (item: Sent.bytes(ByteBuffer(bytes: $0.bytes)), byteCount: $0.bytes.count) })
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
    session.stored = stored
    session.suspend()
    handle.stands(session)
    session.goOnline(as: onlineSession(kept, handle, resource: jid.resource, presence))
    for occupant in kept.occupants ?? [] {
      let buffer = RoomOutbound.shutDown(occupant, to: jid)
      session.send { $0.raw(buffer) }
    }
    return true
  }
}
