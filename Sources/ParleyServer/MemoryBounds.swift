import AppDoor
import Basics
import Dialogs
import HTTPPort
import Logging
import ServerMetrics
import XMPPDoor

/// The memory that clients and other servers can make a server hold, as a value: each part a share of the memory that the process
/// may use, and all parts together. docs/operations.md has the table of it for three machines.
struct MemoryBounds: Hashable, Sendable {
  /// The bytes that the process may use.
  let memory: Int
  /// The number of its open files, which bounds downloads as well.
  let files: Int

  /// Everything without a login: streams, streams of servers that are not verified, WebSockets and bodies of requests.
  var withoutLogin: Int { min(memory / ServerLimits.heldShare, ServerLimits.withoutLoginBytesMost) }
  /// The unfinished bodies of requests of logged-in users: with `pictures` they have one share, of which they have half at least, also
  /// where the memory is so small that one picture takes more than the other half.
  var bodies: Int {
    let share = min(memory / ServerLimits.smallShare, ServerLimits.bodyBytesMost)
    return max(share - pictures, share / 2)
  }
  /// The pictures of users and rooms that are made smaller.
  var pictures: Int { AppDoor.pictureBytes(memory: memory) }
  /// The output that clients do not read.
  var unread: Int { min(memory / ServerLimits.smallShare, ServerLimits.unreadBytesMost) }
  /// The unfinished stanzas of logged-in clients, verified servers and components, and unfinished messages over WebSockets.
  var unfinished: Int { min(memory / ServerLimits.unfinishedShare, ServerLimits.unfinishedBytesMost) }
  /// The stanzas that clients have not acknowledged.
  var unacknowledged: Int { min(memory / ServerLimits.smallShare, ServerLimits.unacknowledgedBytesMost) }
  /// The answers that wait for an event.
  var answers: Int { min(memory / ServerLimits.smallShare, ServerLimits.answerBytesMost) }
  /// The bytes that the server keeps for users who are online: contacts, presences, places in rooms.
  var online: Int { min(memory / ServerLimits.onlineShare, ServerLimits.onlineBytesMost) }
  /// The stanzas that wait in the links to other servers.
  var links: Int { min(memory / ServerLimits.linkShare, ServerLimits.linkBytesMost) }
  /// The sessions of people elsewhere in rooms here.
  var residents: Int { min(memory / ServerLimits.residentShare, ServerLimits.residentBytesMost) }

  /// The posts that wait to be committed.
  var inbox: Int { min(memory / ServerLimits.inboxShare, Limits.inboxBytesMax) }
  /// The rows of the store that the committer remembers.
  var caches: Int { min(memory / ServerLimits.cacheShare, Limits.cacheBytesMax) }
  /// The presences of contacts elsewhere.
  var remotePresences: Int { min(memory / ServerLimits.remotePresenceShare, Limits.remotePresencesBytesMax) }
  /// The presences that all users show in rooms.
  var presencesInRooms: Int { min(memory / ServerLimits.presencesInRoomsShare, Limits.presencesInRoomsBytesMax) }
  /// The posts that wait for the before-send hook.
  var beforeSend: Int { min(memory / ServerLimits.beforeSendShare, Limits.beforeSendBytesMax) }

  /// The number of HTTP connections without a login.
  var httpConnections: Int {
    min(max(memory / ServerLimits.heldShare / ServerLimits.httpConnectionBytes, 1), HTTPMemory.connectionsMost)
  }
  /// The number of uploads.
  var uploads: Int { min(max(memory / ServerLimits.uploadShare / ServerLimits.uploadBytes, 1), Limits.uploadsMax) }
  var downloads: Int { Downloads.max(memory: memory, descriptors: files) }

  /// Every part under its name in docs/operations.md, with its bytes.
  var parts: [(name: String, bytes: Int)] {
    [
      ("what is not logged in", withoutLogin),
      ("HTTP connections without a login", httpConnections * ServerLimits.httpConnectionBytes),
      ("unfinished bodies of logged-in users' requests", bodies),
      ("pictures of users and rooms", pictures),
      ("unread output", unread),
      ("unfinished stanzas", unfinished),
      ("unacknowledged stanzas", unacknowledged),
      ("answers that wait", answers),
      ("contacts, presences and places in rooms of users who are online", online),
      ("stanzas that wait for other servers", links),
      ("people elsewhere in rooms", residents),
      ("posts before their commit, and in it", 2 * inbox),
      ("posts that wait for `before_send`", beforeSend),
      ("what writing remembers of the database", caches),
      ("presences of contacts elsewhere", remotePresences),
      ("presences in rooms", presencesInRooms),
      ("uploads", uploads * ServerLimits.uploadBytes),
      ("downloads", downloads * Downloads.memoryBytes),
      ("requests to components and push services", XMPPListener.questionBytesMost),
    ]
  }
  /// The bytes of all parts.
  var sum: Int { parts.reduce(0) { $0 + $1.bytes } }
}

/// The bounds of a running server.
struct BoundedMemory: Sendable {
  let withoutLogin: MemoryBound
  let bodies: MemoryBound
  let sessions: SessionMemory

  /// - Parameter isByNetwork: Whether the network with the most loses something of what is not logged in, and of bodies; otherwise
  ///   the oldest of all ends.
  init(_ bounds: MemoryBounds, isByNetwork: Bool, metrics: Metrics, logger: Logger) {
    let refusals = RefusalLog(logger)
    func bound(_ bytes: Int, _ code: String, of owner: String, isByOwner: Bool) -> MemoryBound {
      MemoryBound(bytesMax: bytes, isByNetwork: isByOwner) { name in
        metrics.refusals.add(.memory)
        refusals.note("a connection", code, isFault: false, [owner: name])
      }
    }
    withoutLogin = bound(bounds.withoutLogin, "memory-before-login", of: "network", isByOwner: isByNetwork)
    bodies = bound(bounds.bodies, "memory-of-bodies", of: "network", isByOwner: isByNetwork)
    var sessions = SessionMemory()
    sessions.unread = bound(bounds.unread, "memory-unread", of: "user", isByOwner: true)
    sessions.unfinished = bound(bounds.unfinished, "memory-unfinished", of: "user", isByOwner: true)
    sessions.unacknowledged = bound(bounds.unacknowledged, "memory-unacknowledged", of: "user", isByOwner: true)
    sessions.answers = bound(bounds.answers, "memory-of-answers", of: "user", isByOwner: true)
    // Where networks are not told apart, each user is one.
    sessions.online = bound(bounds.online, "memory-of-sessions", of: "network", isByOwner: true)
    sessions.links = WaitingBytes(
      bytesMax: bounds.links, ownerBytesMax: ServerLimits.linkAuthorBytesMost, ownerShare: ServerLimits.linkAuthorShare
    ) { name in
      metrics.refusals.add(.memory)
      refusals.note("a stanza", "memory-of-links", isFault: false, ["user": name])
    }
    sessions.residents = WaitingBytes(bytesMax: bounds.residents, ownerShare: ServerLimits.residentZoneShare) { name in
      metrics.refusals.add(.memory)
      refusals.note("an entrance to a room", "memory-of-residents", isFault: false, ["zone": name])
    }
    self.sessions = sessions
  }

  var all: [MemoryBound] {
    [
      withoutLogin, bodies, sessions.unread, sessions.unfinished, sessions.unacknowledged, sessions.answers,
      sessions.online,
    ]
  }
  /// The bytes that are held now.
  var bytes: [HeldMemory: Int] {
    [
      .beforeLogin: withoutLogin.bytes, .bodies: bodies.bytes, .unread: sessions.unread.bytes,
      .unfinished: sessions.unfinished.bytes, .unacknowledged: sessions.unacknowledged.bytes,
      .answers: sessions.answers.bytes, .online: sessions.online.bytes, .links: sessions.links.bytes,
      .residents: sessions.residents.bytes,
    ]
  }
}
