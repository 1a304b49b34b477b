public import Addresses

/// A user's archiving preferences (XEP-0441). Theory:
///
/// The log stores every message, because the other user, the apps and offline delivery read from it too. Preferences
/// decide about one user's view of it over XMPP: an entry that comes while they exclude it is not in that user's
/// archive, then or later; it is in the other user's archive, and in the apps' history, which is the dialog itself. The
/// decision is made when the entry is written, so a query costs the same with preferences and without.
public struct ArchivePreferences: Hashable, Sendable {
  /// Stored: never renumber.
  public enum Standard: UInt8, Sendable, CaseIterable { case always = 1, never = 2, roster = 3 }

  /// The preference for addresses in neither list.
  public var standard: Standard
  public private(set) var always: [JID]
  public private(set) var never: [JID]

  /// Creates preferences. An address in both lists is not archived: of contradicting wishes the one that stores less
  /// holds.
  public init(standard: Standard = .always, always: [JID] = [], never: [JID] = []) {
    var named: Set<JID> = []
    self.standard = standard
    self.never = never.filter { named.insert($0).inserted }
    self.always = always.filter { named.insert($0).inserted }
  }

  /// The bytes of the lists in memory, about.
  var heldBytes: Int {
    [always, never].joined().reduce(0) { $0 + MemoryLayout<JID>.stride + $1.description.heldBytes }
  }

  /// Returns whether messages exchanged with `target` are archived (XEP-0441 3: a full address in a list means that
  /// resource, and precedes a bare one).
  public func keeps(_ target: JID, isContact: () throws -> Bool) rethrows -> Bool {
    if never.contains(target) { return false }
    if always.contains(target) { return true }
    let bare = JID(target.bare)
    if never.contains(bare) { return false }
    if always.contains(bare) { return true }
    switch standard {
    case .always: return true
    case .never: return false
    case .roster: return try isContact()
    }
  }

  // MARK: Encoding

  /// The stored form: a line with the standard, then one per address; no address contains a line feed (RFC 7622).
  var bytes: [UInt8] {
    let lines =
      ["\(standard.rawValue)"] + always.map { "+\($0.description)" } + never.map { "-\($0.description)" }
    return Array(lines.joined(separator: "\n").utf8)
  }

  /// Reads the stored form. Unreadable parts are ignored.
  init(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"))
    func text(_ line: ArraySlice<UInt8>) -> String { String(decoding: line, as: UTF8.self) }
    func list(_ sign: UInt8) -> [JID] {
      lines.dropFirst().filter { $0.first == sign }.compactMap { JID(stored: text($0.dropFirst())) }
    }
    self.init(
      standard: lines.first.flatMap { UInt8(text($0)) }.flatMap { Standard(rawValue: $0) } ?? .always,
      always: list(UInt8(ascii: "+")), never: list(UInt8(ascii: "-")))
  }

  /// Returns the user's preferences; `nil` if they have set none.
  public static func of(_ user: UserID, _ reader: any StoreReader) throws -> ArchivePreferences? {
    try reader.value(of: user, node: ValueKey.archive, item: ValueKey.bytes).map { ArchivePreferences($0) }
  }
}
