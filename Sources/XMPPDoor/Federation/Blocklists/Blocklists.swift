import Addresses
import Dialogs
import Logging
import Peers
import Synchronization
import XMPP

/// The block lists of other services that this server follows (`federation.blocklists`). Theory:
///
/// A list is a node of hashes (`BlocklistItems`). The server subscribes to it from its first domain, reads it whole, and
/// is notified of changes from then on. It reads the list again at intervals, since a notification may be lost, and a service
/// may forget its subscribers. The list is also stored, so that it stays in force after a restart and while the service cannot be
/// reached.
///
/// The rules read memory alone (`isListed`). Changes are applied in memory at once, and stored one after another.
final class Blocklists: Sendable {
  /// Asks a service, and returns its answer; `nil` if there is none.
  typealias Ask = @Sendable (_ type: IQType, _ payload: [UInt8], _ service: JID) async -> Stanza?

  private struct State {
    var lists: [BlocklistOption: Set<[UInt8]>] = [:]
    /// The changes notified while a list is being read. They are applied again behind the list, as they may concern any part of it.
    var notified: [BlocklistOption: [BlocklistItems.Change]] = [:]
    /// The changes that are not stored yet.
    var unstored: [StoredChange] = []
  }

  private let options: [BlocklistOption]
  private let subscriber: String
  private let parley: Parley
  private let lane: Lane
  private let logger: Logger
  private let ask: Ask
  private let limits: BlocklistLimits
  private let state = Mutex(State())

  private enum StoredChange: Sendable {
    case put(BlocklistEntry)
    case remove(BlocklistEntry)
    case removeAll(source: String)
  }

  /// Creates the lists.
  ///
  /// - Parameters:
  ///   - subscriber: The domain that subscribes.
  ///   - lane: Stores changes one after another.
  init(
    _ options: [BlocklistOption], of subscriber: String, _ parley: Parley, on lane: Lane, logger: Logger,
    limits: BlocklistLimits = BlocklistLimits(), ask: @escaping Ask
  ) {
    self.limits = limits
    self.lane = lane
    self.options = options
    self.subscriber = subscriber
    self.parley = parley
    self.logger = logger
    self.ask = ask
  }

  // MARK: Rules

  /// Returns whether an address, or its domain, is on a list.
  func isListed(_ address: BareJID) -> Bool {
    if options.isEmpty { return false }
    let hashes = BlocklistEntry.hashes(of: address)
    return state.withLock { state in
      state.lists.values.contains { list in hashes.contains { list.contains($0) } }
    }
  }

  /// The number of entries of each list.
  var counts: [String: Int] {
    state.withLock { state in
      Dictionary(uniqueKeysWithValues: options.map { ($0.description, state.lists[$0]?.count ?? 0) })
    }
  }

  // MARK: Following

  /// Reads what is stored, and forgets the lists that are not followed any more.
  func load() async throws(Problem) {
    let stored = try await parley.read { try $0.records(RecordQuery<BlocklistEntry>([])) }
    let named = Dictionary(options.map { ($0.description, $0) }, uniquingKeysWith: { first, _ in first })
    var gone: Set<String> = []
    state.withLock { state in
      for entry in stored {
        if let option = named[entry.source] {
          state.lists[option, default: []].insert(entry.hash)
        } else {
          gone.insert(entry.source)
        }
      }
    }
    let unfollowed = gone
    if unfollowed.isEmpty { return }
    try await parley.work(keepingCaches: true) { writer in
      for source in unfollowed { try writer.remove(RecordQuery<BlocklistEntry>([.equal(.source, source)])) }
    }
  }

  /// Follows the lists until the task is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      for option in options {
        group.addTask { [self] in
          while !Task.isCancelled {
            let isRead = await read(option)
            try? await Task.sleep(
              for: isRead ? FederationLimits.blocklistReadAgain : FederationLimits.blocklistRetry)
          }
        }
      }
    }
  }

  /// Subscribes to a list and reads it whole. Returns whether it was read.
  func read(_ option: BlocklistOption) async -> Bool {
    let subscribed = await ask(.set, BlocklistItems.subscription(option.node, of: subscriber), option.service)
    if subscribed?.isError != false {
      let reason = subscribed.flatMap { StanzaError(reportedBy: $0) }.map { "\($0.condition)" } ?? "no answer"
      logger.warning(
        "a block list does not take our subscription", metadata: ["list": "\(option)", "reason": "\(reason)"])
    }
    state.withLock { $0.notified[option] = [] }
    let hashes = await wholeList(option)
    let source = option.description
    let isRead = state.withLock { state in
      let notified = state.notified.removeValue(forKey: option) ?? []
      guard var list = hashes else { return false }
      Self.apply(notified, to: &list)
      let before = state.lists[option] ?? []
      state.lists[option] = list
      state.unstored += before.subtracting(list).map { .remove(BlocklistEntry(source: source, hash: $0)) }
      state.unstored += list.subtracting(before).map { .put(BlocklistEntry(source: source, hash: $0)) }
      return true
    }
    store()
    return isRead
  }

  /// Reads a list page by page; `nil` if a page is missing, or there are too many.
  private func wholeList(_ option: BlocklistOption) async -> Set<[UInt8]>? {
    var hashes: Set<[UInt8]> = []
    var after: String?
    for _ in 0..<limits.pages {
      let answer = await ask(.get, BlocklistItems.request(option.node, after: after), option.service)
      guard let answer, !answer.isError, let page = BlocklistItems.page(in: answer.element, of: option.node) else {
        logger.warning("a block list could not be read", metadata: ["list": "\(option)"])
        return nil
      }
      hashes.formUnion(page.hashes)
      if hashes.count > limits.entries { break }
      guard let next = page.next, next != after else { return hashes }
      after = next
    }
    logger.warning("a block list is too long", metadata: ["list": "\(option)"])
    return nil
  }

  /// Handles a notification. Returns `false` if it is not from a list that is followed.
  func received(_ stanza: Stanza, from sender: JID) -> Bool {
    var isTaken = false
    for option in options where option.service == sender {
      guard let changes = BlocklistItems.changes(in: stanza.element, of: option.node) else { continue }
      isTaken = true
      let source = option.description
      state.withLock { state in
        state.notified[option]?.append(contentsOf: changes)
        var list = state.lists[option] ?? []
        Self.apply(changes, to: &list)
        guard list.count <= limits.entries else { return }
        state.lists[option] = list
        state.unstored += changes.map { change in
          switch change {
          case .added(let hash): .put(BlocklistEntry(source: source, hash: hash))
          case .removed(let hash): .remove(BlocklistEntry(source: source, hash: hash))
          case .emptied: .removeAll(source: source)
          }
        }
      }
    }
    if isTaken { store() }
    return isTaken
  }

  private static func apply(_ changes: [BlocklistItems.Change], to list: inout Set<[UInt8]>) {
    for change in changes {
      switch change {
      case .added(let hash): list.insert(hash)
      case .removed(let hash): list.remove(hash)
      case .emptied: list = []
      }
    }
  }

  /// Stores pending changes, on the lane, to keep their order.
  private func store() {
    lane.run { [self] in
      var rest = state.withLock { state in
        defer { state.unstored = [] }
        return state.unstored[...]
      }
      while !rest.isEmpty {
        let some = Array(rest.prefix(FederationLimits.blocklistWrittenAtOnce))
        rest = rest.dropFirst(some.count)
        write(some)
      }
    }
  }

  private func write(_ changes: [StoredChange]) {
    parley.work(on: lane, keepingCaches: true) { writer in
      for change in changes {
        switch change {
        case .put(let entry): try writer.put(entry)
        case .remove(let entry): try writer.remove(entry)
        case .removeAll(let source): try writer.remove(RecordQuery<BlocklistEntry>([.equal(.source, source)]))
        }
      }
    } then: { [logger] outcome in
      // The list is read and stored again after the next start.
      if case .failure(let problem) = outcome {
        logger.error("a block list could not be stored", metadata: ["reason": "\(problem.text)"])
      }
    }
  }
}
