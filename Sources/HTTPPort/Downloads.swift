import Basics
public import Logging
public import ServerMetrics
import Synchronization

/// The downloads under way on all HTTP ports of a server: responses to GET that are too long to be left to the kernel, such as
/// files. Theory:
///
/// A download keeps a connection, a file and buffers for as long as its client takes, and it needs no login, since the address of
/// a file is the key to it. `ResponsePace` ends the downloads that nobody reads after a minute, but one client could begin
/// thousands in that minute. Hence downloads are bounded in all and by network. `NetworkShares` decides which network gives way
/// when all places are taken; the connection of the download that it ends is closed, and its client can continue with a range.
public final class Downloads: Sendable {
  /// The reason for which a download is refused.
  enum Refusal: Error {
    case ofNetwork, ofAll

    var problem: ProblemBody {
      switch self {
      case .ofNetwork:
        // RFC 6585 4: the client, or its neighbours, can end some.
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

  /// The place of one download. It is free when it is ended, or when nothing refers to it any more.
  final class Place: Sendable {
    private let downloads: Downloads
    private let id: NetworkShares.ID

    fileprivate init(_ id: NetworkShares.ID, of downloads: Downloads) {
      self.id = id
      self.downloads = downloads
    }

    func end() { downloads.end(id) }

    deinit { downloads.end(id) }
  }

  private struct Holder {
    let network: String
    let cut: @Sendable () -> Void
  }

  private struct State {
    var shares: NetworkShares
    var holders: [NetworkShares.ID: Holder] = [:]
    var pace = LogPace(
      interval: HTTPLimits.cutLogInterval, linesOfReasonMax: HTTPLimits.cutLinesMax, linesMax: HTTPLimits.cutLinesMax)
  }

  private enum Outcome {
    case refused(Refusal)
    case admitted(NetworkShares.ID)
    /// `unlogged` is nil if the line is not to be logged.
    case replacing(NetworkShares.ID, Holder, unlogged: Int?)
  }

  private let state: Mutex<State>
  private let perNetworkMax: Int
  private let byNetwork: Bool
  private let metrics: Metrics
  private let logger: Logger

  /// - Parameters:
  ///   - memory: The bytes of memory that the server may use.
  ///   - descriptors: The number of files and connections that it may have open.
  ///   - byNetwork: Whether one network is kept from having all of them.
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

  /// Returns the number of downloads that a server has room for.
  static func max(memory: Int, descriptors: Int) -> Int {
    let fitting = Swift.min(
      memory / HTTPLimits.downloadsMemoryShare / HTTPLimits.downloadMemoryBytes,
      descriptors / HTTPLimits.downloadsDescriptorShare)
    return Swift.min(Swift.max(fitting, HTTPLimits.downloadsLeast), HTTPLimits.downloadsMost)
  }

  /// The number of downloads under way.
  public var count: Int { state.withLock { $0.shares.count } }

  /// Takes a place.
  ///
  /// - Parameters:
  ///   - network: The client's address, as `ClientAddress` has it.
  ///   - cut: Closes the connection when the place is given to another network.
  func admit(_ network: String, cut: @escaping @Sendable () -> Void) throws(Refusal) -> Place {
    // Without bounds by network all are one network, which has no other to give way to.
    let network = byNetwork ? network : ""
    let outcome = state.withLock { state -> Outcome in
      guard let admission = state.shares.admit(network) else {
        return .refused(byNetwork && state.shares.count(network) >= perNetworkMax ? .ofNetwork : .ofAll)
      }
      state.holders[admission.id] = Holder(network: network, cut: cut)
      guard let ended = admission.ended, let other = state.holders.removeValue(forKey: ended) else {
        return .admitted(admission.id)
      }
      return .replacing(admission.id, other, unlogged: state.pace.note("cut", now: .now))
    }
    switch outcome {
    case .refused(let refusal):
      metrics.refused(by: "downloads")
      throw refusal
    case .admitted(let id): return Place(id, of: self)
    case .replacing(let id, let other, let unlogged):
      metrics.downloadsCut.add()
      if let unlogged {
        var metadata: Logger.Metadata = ["peer": "\(other.network)"]
        if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
        logger.info("a download was cut off for one of another network", metadata: metadata)
      }
      other.cut()
      return Place(id, of: self)
    }
  }

  private func end(_ id: NetworkShares.ID) {
    state.withLock { state in
      state.shares.release(id)
      state.holders[id] = nil
    }
  }
}
