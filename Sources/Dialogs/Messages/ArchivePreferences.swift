public import Addresses

/// What a user wants to find in their archive (XEP-0441). Theory:
///
/// The log keeps what is said, for it is also the other side's, the app's and what
/// missed messages are read from. Preferences decide about one user's view of it
/// over XMPP: an entry that comes while they say no is not in that user's
/// archive, then or later; the other side's archive has it, and so has the
/// app's history, which is the dialog itself. It is decided when the entry is
/// written, so a query costs the same with preferences and without.
public struct ArchivePreferences: Hashable, Sendable {
  /// Stored: never renumber.
  public enum Standard: UInt8, Sendable, CaseIterable { case always = 1, never = 2, roster = 3 }

  /// For whoever is in neither list.
  public var standard: Standard
  public private(set) var always: [JID]
  public private(set) var never: [JID]

  /// Who stands in both lists is not archived: of two wishes the one that keeps less is applied.
  public init(standard: Standard = .always, always: [JID] = [], never: [JID] = []) {
    var named: Set<JID> = []
    self.standard = standard
    self.never = never.filter { named.insert($0).inserted }
    self.always = always.filter { named.insert($0).inserted }
  }

  /// Whether what is exchanged with `target` is archived (XEP-0441 3: a full address in a list is that
  /// resource, and comes before a bare one).
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

  // MARK: Stored

  /// A line with the standard, then one per address: no address has a line feed (RFC 7622).
  var bytes: [UInt8] {
    let lines =
      ["\(standard.rawValue)"] + always.map { "+\($0.description)" } + never.map { "-\($0.description)" }
    return Array(lines.joined(separator: "\n").utf8)
  }

  /// What cannot be read says nothing.
  init(_ bytes: [UInt8]) {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    func list(_ sign: Character) -> [JID] {
      lines.dropFirst().filter { $0.first == sign }.compactMap { JID(parsing: String($0.dropFirst())) }
    }
    self.init(
      standard: lines.first.flatMap { UInt8($0) }.flatMap { Standard(rawValue: $0) } ?? .always, always: list("+"),
      never: list("-"))
  }

  /// As the user has set them; nil: never.
  public static func of(_ user: UserID, _ reader: any StoreReader) throws -> ArchivePreferences? {
    try reader.vault(user, node: Vault.archive, item: Vault.bytes).map { ArchivePreferences($0) }
  }
}
