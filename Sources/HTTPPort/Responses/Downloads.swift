import Basics
public import Logging
public import ServerMetrics
import Synchronization

/// The downloads under way on all HTTP ports of a server: responses that are too long for the kernel's buffer, such as files.
/// Theory:
///
/// A download keeps a connection, a file and buffers until its client has read it, and it needs no login, since the address of
/// a file is its key. `ResponsePace` ends unread downloads after a minute, but one client could begin thousands in that minute.
/// Hence downloads are bounded in total and by network. When all places are taken, `NetworkShares` decides which network loses
/// one; the connection of that download is closed, and its client can continue with a range. A response that is in memory as a
/// whole, such as a long list, counts as several downloads.
///
/// A request for a download beyond the bounds is refused. The response to another method is always sent, since the client must
/// know what it has changed: beyond the bounds the oldest downloads of the client's own network end for it.
public final class Downloads: Sendable {
  /// The reason for which a download is refused.
  enum Refusal: Error {
    case ofNetwork, ofAll

    var problem: ProblemBody {
      switch self {
      case .ofNetwork:
        // RFC 6585 4: the client, or others of its network, can end some downloads.
        ProblemBody(
          status: 429, detail: "Your network has as many downloads under way as it may have. Wait until one has ended.",
          code: "downloads-too-many", retryAfter: HTTPLimits.downloadRetrySeconds)
      case .ofAll:
        // RFC 9110 15.6.4: the server is busy with the downloads of others.
        ProblemBody(
          status: 503, detail: "The server has as many downloads under way as it can have. Wait a little.",
          code: "downloads-full", retryAfter: HTTPLimits.downloadRetrySeconds)
      }
    }
  }

  /// The place of one download. It is free when it is ended or no longer referenced.
  final class Place: Sendable {
    private let downloads: Downloads
    private let number: Int

    fileprivate init(_ number: Int, of downloads: Downloads) {
      self.number = number
      self.downloads = downloads
    }

    func end() { downloads.end(number) }

    /// Whether the place was given to another network. It is true after `end` as well.
    var isLost: Bool { downloads.state.withLock { $0.places[number] == nil } }

    deinit { downloads.end(number) }
  }

  private struct Holder {
    let network: String
    /// The shares of the place; several if its response is in memory as a whole.
    let shares: [NetworkShares.ID]
    let cut: @Sendable () -> Void
  }

  private struct State {
    var shares: NetworkShares
    var places: [Int: Holder] = [:]
    /// The place that has a share.
    var owners: [NetworkShares.ID: Int] = [:]
    var next = 0
    var pace = LogPace(
      interval: HTTPLimits.cutLogInterval, linesOfReasonMax: HTTPLimits.cutLinesMax, linesMax: HTTPLimits.cutLinesMax)

    /// Ends a place with all its shares; nil if it has ended already.
    mutating func end(_ place: Int) -> Holder? {
      guard let holder = places.removeValue(forKey: place) else { return nil }
      for id in holder.shares {
        owners[id] = nil
        shares.release(id)
      }
      return holder
    }

    /// Takes shares. Returns the place that has them, nil if there are too few, and those that were ended for them.
    ///
    /// - Parameters:
    ///   - count: The number of shares.
    ///   - perNetworkMax: The maximum number for the network.
    ///   - isOwed: Whether the oldest places of the network must end for this one. It gets fewer shares if none can end.
    mutating func admit(
      _ network: String, shares count: Int, perNetworkMax: Int, isOwed: Bool, cut: @escaping @Sendable () -> Void
    ) -> (place: Int?, ended: [Holder]) {
      var ids: [NetworkShares.ID] = []
      var ended: [Holder] = []
      while ids.count < count {
        let isWithin = shares.count(network) < perNetworkMax
        if isWithin, let admission = shares.admit(network) {
          ids.append(admission.id)
          if let id = admission.ended, let owner = owners[id], let holder = end(owner) { ended.append(holder) }
        } else if isOwed, shares.count(network) > ids.count, let id = shares.releaseOldest(network),
          let owner = owners[id], let holder = end(owner)
        {
          ended.append(holder)
        } else {
          break
        }
      }
      guard ids.count == count || isOwed && !ids.isEmpty else {
        for id in ids { shares.release(id) }
        return (nil, ended)
      }
      next += 1
      for id in ids { owners[id] = next }
      places[next] = Holder(network: network, shares: ids, cut: cut)
      return (next, ended)
    }
  }

  /// The outcome of a request for a place.
  private struct Outcome {
    var place: Int?
    var refusal = Refusal.ofAll
    var ended: [Holder] = []
    /// The number of earlier lines that were not logged; nil if no line must be logged now.
    var unlogged: Int?
  }

  private let state: Mutex<State>
  private let perNetworkMax: Int
  private let byNetwork: Bool
  private let metrics: Metrics
  private let logger: Logger

  /// - Parameters:
  ///   - memory: The bytes of memory that the server may use.
  ///   - descriptors: The number of files and connections that it may have open.
  ///   - byNetwork: Whether each network is limited to a share.
  public convenience init(memory: Int, descriptors: Int, byNetwork: Bool, metrics: Metrics, logger: Logger) {
    let most = Downloads.max(memory: memory, descriptors: descriptors)
    self.init(
      max: most, perNetworkMax: most / HTTPLimits.downloadsNetworkShare, byNetwork: byNetwork, metrics: metrics,
      logger: logger)
  }

  init(max: Int, perNetworkMax: Int, byNetwork: Bool, metrics: Metrics, logger: Logger) {
    let perNetworkMax = byNetwork ? perNetworkMax : max
    self.perNetworkMax = perNetworkMax
    self.byNetwork = byNetwork
    self.metrics = metrics
    self.logger = logger
    state = Mutex(State(shares: NetworkShares(max: max, perNetworkMax: perNetworkMax, replacesOwn: false)))
  }

  /// The memory of one download.
  package static let memoryBytes = HTTPLimits.downloadMemoryBytes

  /// Returns the maximum number of downloads of a server.
  package static func max(memory: Int, descriptors: Int) -> Int {
    let fitting = Swift.min(
      memory / HTTPLimits.downloadsMemoryShare / HTTPLimits.downloadMemoryBytes,
      descriptors / HTTPLimits.downloadsDescriptorShare)
    return Swift.min(Swift.max(fitting, HTTPLimits.downloadsLeast), HTTPLimits.downloadsMost)
  }

  /// The number of downloads under way.
  public var count: Int { state.withLock { $0.places.count } }

  /// Takes a place.
  ///
  /// - Parameters:
  ///   - network: The client's address, as `ClientAddress` has it.
  ///   - bytes: The bytes of the response that are in memory already.
  ///   - isOwed: Whether the response must be sent in any case.
  ///   - cut: Closes the connection when the place is given to another response.
  func admit(
    _ network: String, bytes: Int = 0, isOwed: Bool = false, cut: @escaping @Sendable () -> Void
  ) throws(Refusal) -> Place {
    // Without bounds by network all clients count as one network.
    let network = byNetwork ? network : ""
    let memory = HTTPLimits.downloadMemoryBytes
    let count = Swift.min(Swift.max(1, (bytes + memory - 1) / memory), perNetworkMax)
    let outcome = state.withLock { state -> Outcome in
      if byNetwork, !isOwed, state.shares.count(network) + count > perNetworkMax {
        return Outcome(refusal: .ofNetwork)
      }
      let (place, ended) = state.admit(
        network, shares: count, perNetworkMax: perNetworkMax, isOwed: isOwed, cut: cut)
      return Outcome(place: place, ended: ended, unlogged: ended.isEmpty ? nil : state.pace.note("cut", now: .now))
    }
    for holder in outcome.ended {
      metrics.downloadsCut.add()
      holder.cut()
    }
    if let holder = outcome.ended.first, let unlogged = outcome.unlogged {
      var metadata: Logger.Metadata = ["peer": "\(holder.network)"]
      if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
      logger.info("a download was cut off for another one", metadata: metadata)
    }
    guard let place = outcome.place else {
      metrics.refused(by: "downloads")
      throw outcome.refusal
    }
    return Place(place, of: self)
  }

  private func end(_ place: Int) { state.withLock { _ = $0.end(place) } }
}
