import Synchronization

/// The memory that the holders of one kind take together, such as streams before their login, which is bounded in all, across
/// threads. Theory:
///
/// The memory is divided into shares of the same size, and a holder takes as many as its bytes need. When all shares are taken and
/// a holder needs one more, the network that has the most loses its oldest holder with all its shares (`NetworkShares`). So the sum
/// is bounded whatever holders do, and a network whose holders are large or many ends its own. A holder whose bytes change within
/// its shares costs an atomic operation; so it may note them as often as they change. Holders of users instead of networks have
/// the name of their user in its place.
public final class MemoryBound: Sendable {
  /// The bytes of a share: what a small holder takes, and few enough that a bound is exact to some kilobytes.
  public static let shareBytes = 16_384

  /// Returns the memory of a buffer that has grown to so many bytes: NIO's buffers grow to powers of two.
  public static func grown(_ bytes: Int) -> Int {
    bytes > 1 ? 1 << (Int.bitWidth - (bytes - 1).leadingZeroBitCount) : max(0, bytes)
  }

  /// Returns the most memory of bytes that wait in several buffers, each of which has grown to a power of two.
  public static func waiting(_ bytes: Int) -> Int { 2 * max(0, bytes) }

  /// One holder. It holds nothing any more once it is released or ended, or when nothing refers to it.
  public final class Holder: Sendable {
    private let bound: MemoryBound
    private let number: Int
    private let shares = Atomic<Int>(0)

    fileprivate init(_ number: Int, of bound: MemoryBound) {
      self.number = number
      self.bound = bound
    }

    /// Notes how many bytes it holds now. That may end holders of the network with the most, and so this one.
    public func hold(_ bytes: Int) {
      let needed = (max(0, bytes) + MemoryBound.shareBytes - 1) / MemoryBound.shareBytes
      if shares.exchange(needed, ordering: .relaxed) != needed { bound.hold(needed, by: number) }
    }

    public func release() { bound.release(number) }

    deinit { bound.release(number) }
  }

  private struct Place {
    let network: String
    var shares: [NetworkShares.ID] = []
    let end: @Sendable () -> Void
  }

  private struct State {
    var shares: NetworkShares
    var places: [Int: Place] = [:]
    /// The place that has a share.
    var owners: [NetworkShares.ID: Int] = [:]
    var next = 0
    /// The most shares that were taken since the last look.
    var peak = 0
    /// The shares of the holders that were ended since then.
    var ended = 0

    /// Ends a place with all its shares; nil if it has ended already.
    mutating func end(_ number: Int) -> Place? {
      guard let place = places.removeValue(forKey: number) else { return nil }
      for id in place.shares { release(id) }
      return place
    }

    /// Gives a place as many shares as it needs. Returns the places that were ended for it.
    mutating func hold(_ needed: Int, by number: Int, isByNetwork: Bool) -> [Place] {
      guard let place = places[number] else { return [] }
      for id in place.shares.dropFirst(needed) { release(id) }
      places[number]?.shares = Array(place.shares.prefix(needed))
      var ended: [Place] = []
      // The list of shares is read in place: a copy of it for each share takes long where a holder has thousands.
      while let count = places[number]?.shares.count, count < needed {
        guard let admission = shares.admit(isByNetwork ? place.network : "") else {
          if let place = end(number) { ended.append(place) }
          break
        }
        if let id = admission.ended, let owner = owners[id], let place = end(owner) {
          self.ended += place.shares.count
          ended.append(place)
        }
        // The oldest may have been this one.
        guard places[number] != nil else {
          shares.release(admission.id)
          break
        }
        owners[admission.id] = number
        places[number]?.shares.append(admission.id)
      }
      peak = max(peak, shares.count)
      return ended
    }

    private mutating func release(_ id: NetworkShares.ID) {
      owners[id] = nil
      shares.release(id)
    }
  }

  /// The bytes that may be held in all.
  public let bytesMax: Int
  private let state: Mutex<State>
  private let isByNetwork: Bool
  private let onLoss: @Sendable (_ network: String) -> Void

  /// - Parameters:
  ///   - bytesMax: The bytes that may be held in all; without it there is no bound.
  ///   - isByNetwork: Whether networks are distinguished. Otherwise the oldest of all holders ends, as if all came from one network.
  ///   - onLoss: Called for each holder that is ended, with its network.
  public init(
    bytesMax: Int = .max, isByNetwork: Bool = true, onLoss: @escaping @Sendable (_ network: String) -> Void = { _ in }
  ) {
    self.bytesMax = bytesMax
    state = Mutex(State(shares: NetworkShares(max: bytesMax / Self.shareBytes, replacesOwn: true)))
    self.isByNetwork = isByNetwork
    self.onLoss = onLoss
  }

  /// The bytes of the shares that are taken.
  public var bytes: Int { state.withLock { $0.shares.count } * Self.shareBytes }

  /// Returns the most bytes that were held since the last call, and those of the holders that were ended since then.
  public func takePeak() -> (held: Int, ended: Int) {
    state.withLock { state in
      defer { (state.peak, state.ended) = (state.shares.count, 0) }
      return (state.peak * Self.shareBytes, state.ended * Self.shareBytes)
    }
  }

  /// Returns a new holder, which holds nothing yet.
  ///
  /// - Parameters:
  ///   - network: An address of IPv4, or a network of IPv6.
  ///   - end: Makes the holder give its memory up. Called at most once, and not after `release`, except where both happen at the
  ///     same time.
  public func enter(_ network: String, end: @escaping @Sendable () -> Void) -> Holder {
    let number = state.withLock { state in
      state.next += 1
      state.places[state.next] = Place(network: network, end: end)
      return state.next
    }
    return Holder(number, of: self)
  }

  private func hold(_ needed: Int, by number: Int) {
    let ended = state.withLock { $0.hold(needed, by: number, isByNetwork: isByNetwork) }
    for place in ended {
      onLoss(place.network)
      place.end()
    }
  }

  private func release(_ number: Int) {
    // The closure of the place is freed outside the lock, as it may refer to other holders.
    let place = state.withLock { $0.end(number) }
    withExtendedLifetime(place) {}
  }
}
