public import Basics
import Synchronization

/// An announcement of a domain to its users (XEP-0133 4.23, 4.24): sent at once to the online users, or, as the message
/// of the day, once to everyone.
public struct Announcement: Hashable, Sendable {
  /// The announcing domain.
  public let domain: String
  public let text: String
  public let time: Timestamp

  public init(domain: String, text: String, time: Timestamp) {
    self.domain = domain
    self.text = text
    self.time = time
  }
}

/// The announcements of realms to their users.
public struct Announcements: Sendable {
  private let parley: Parley

  public init(_ parley: Parley) { self.parley = parley }

  /// Sends an announcement to every available session of a realm; it is not stored.
  ///
  /// - Returns: the number of sessions.
  @discardableResult
  public func send(_ text: String, in realm: Realm) throws(Problem) -> Int {
    parley.hub.announce(
      Announcement(domain: realm.domain, text: try Self.checked(text), time: parley.clock.now), in: realm.id)
  }

  /// Returns the message of the day; `nil` if there is none.
  public func messageOfTheDay(in realm: RealmID) -> Announcement? { cache.messages.withLock { $0[realm] } }

  private var cache: AnnouncementCache { parley.registries.announcements }

  /// Sets the message of the day. Online users get it at once, all others at their next login.
  ///
  /// - Parameters:
  ///   - text: the message; `nil` to remove it.
  ///   - again: whether it is a new message, also for users who know the old one; otherwise it is a correction, which
  ///     they do not get.
  public func setMessageOfTheDay(_ text: String?, again: Bool = true, in realm: Realm) async throws(Problem) {
    let now = parley.clock.now
    let before = messageOfTheDay(in: realm.id)
    // A new message is later than the one before, whatever the clock says.
    let next = max(now, before.map { Timestamp(milliseconds: $0.time.milliseconds + 1) } ?? now)
    let time = again ? next : before?.time ?? now
    let message: Announcement? =
      if let text { Announcement(domain: realm.domain, text: try Self.checked(text), time: time) } else { nil }
    let isNew = message != nil && message?.time != before?.time
    let online = isNew ? parley.hub.users(in: realm.id) : []
    let cache = cache
    do throws(Problem) {
      try await parley.work(keepingCaches: true) { writer in
        try writer.setValue(of: realm.id, item: AnnouncementCache.item, message.map(AnnouncementCache.encode))
        for user in online { try AnnouncementCache.setSeen(time, by: user, writer) }
        // Set here, so that concurrent changes end alike in memory and in the store.
        cache.messages.withLock { $0[realm.id] = message }
      }
    } catch {
      cache.messages.withLock { $0[realm.id] = before }
      throw error
    }
    if let message, isNew { parley.hub.announce(message, in: realm.id) }
  }

  /// Returns whether a user has yet to get the message of the day, and records that they have; each gets it once,
  /// however many sessions ask at once.
  public static func claim(_ message: Announcement, for user: UserID, _ writer: any StoreWriter) throws -> Bool {
    guard try AnnouncementCache.seen(by: user, writer) < message.time.milliseconds else { return false }
    try AnnouncementCache.setSeen(message.time, by: user, writer)
    return true
  }

  private static func checked(_ text: String) throws(Problem) -> String {
    guard text.contains(where: { !$0.isWhitespace }) else {
      throw Problem(.malformed, "announcement-empty", "An announcement needs a text.", field: "announcement")
    }
    guard text.unicodeScalars.count <= Limits.textCharactersMax else {
      throw Problem(
        .tooLarge, "announcement-too-long", "An announcement has at most \(Limits.textCharactersMax) characters.",
        field: "announcement")
    }
    return text
  }
}

/// The cache of the messages of the day, which each login reads, and their stored form: the realm has the message
/// behind its time, a user the time of the last one they got.
final class AnnouncementCache: Sendable {
  static let item = "message-of-the-day"
  private static let node = "announcements"
  private static let seen = "seen"

  let messages = Mutex<[RealmID: Announcement]>([:])

  /// Loads the cache; blocks.
  init(_ realms: [Realm], _ reader: any StoreReader) throws {
    let found = try realms.compactMap { realm in
      try reader.value(of: realm.id, item: Self.item).flatMap { bytes in
        Self.decode(bytes, realm).map { (realm.id, $0) }
      }
    }
    messages.withLock { $0 = Dictionary(found) { first, _ in first } }
  }

  static func encode(_ message: Announcement) -> [UInt8] { bytes(of: message.time.milliseconds) + message.text.utf8 }

  private static func decode(_ bytes: [UInt8], _ realm: Realm) -> Announcement? {
    guard bytes.count > 8 else { return nil }
    return Announcement(
      domain: realm.domain, text: String(decoding: bytes.dropFirst(8), as: UTF8.self),
      time: Timestamp(milliseconds: number(bytes)))
  }

  fileprivate static func seen(by user: UserID, _ reader: any StoreReader) throws -> Int64 {
    try reader.value(of: user, node: node, item: seen).map(number) ?? 0
  }

  fileprivate static func setSeen(_ time: Timestamp, by user: UserID, _ writer: any StoreWriter) throws {
    try writer.setValue(of: user, node: node, item: seen, bytes(of: time.milliseconds))
  }

  private static func bytes(of number: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
  }

  private static func number(_ bytes: [UInt8]) -> Int64 { bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) } }
}
