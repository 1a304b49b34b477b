import Basics
import DNS
import NIOCore

// The order and the times in which the addresses of a domain's servers are tried (RFC 8305).
//
// Servers are tried in the order of their SRV records. The addresses of a server are looked up when it is tried, both
// families at once (RFC 8305 3), and tried alternately, IPv6 first (4). An attempt does not end earlier ones: the first
// connection wins (5). An attempt begins when the previous one has failed or has had 250 ms; a server of a lower priority
// is tried only when all others have failed or have had two seconds, since RFC 2782 requires the best reachable server.
//
// If the DNS does not answer in time about a server, the server is skipped and later answers are ignored: name servers
// that hang must not delay the other servers.
//
// A server whose addresses are authentic but whose TLSA records cannot be looked up is skipped (RFC 7673 3.4).
//
// Destinations are not sorted by RFC 6724: where there is no route, an attempt fails at once.

/// The race as a value: it takes events with their times, and returns actions.
struct ConnectionRace: Hashable, Sendable {
  struct Server: Hashable, Sendable {
    let priority: UInt16
    /// Whether its SRV record is authentic, so that it may have TLSA records.
    let isSecure: Bool
  }

  enum Event: Hashable, Sendable {
    case began
    /// The addresses of one family are known, perhaps none.
    case found(server: Int, isIPv6: Bool, [IPAddress], isSecure: Bool)
    case certified(server: Int, [TLSARecord])
    /// The TLSA records could not be looked up.
    case uncertified(server: Int)
    case failed(attempt: Int)
    /// The requested time has come.
    case due
  }

  enum Action: Hashable, Sendable {
    /// Look up AAAA and A, and TLSA if the server's record is authentic.
    case lookUp(server: Int)
    case connect(attempt: Int, server: Int, IPAddress)
    case wait(until: NIODeadline)
    /// Nothing is left to be tried.
    case giveUp
  }

  private struct Progress: Hashable, Sendable {
    enum Certification: Hashable, Sendable { case awaited, known([TLSARecord]), failed }

    var askedAt: NIODeadline?
    /// The addresses not yet tried, IPv6 and IPv4; nil while they are looked up.
    var six: [IPAddress]?
    var four: [IPAddress]?
    var isSecure = false
    var certification: Certification
    var tried = 0
    var wasIPv6 = false
    /// The time at which the first addresses arrived.
    var foundAt: NIODeadline?
  }

  private enum Next: Hashable { case address(isIPv6: Bool), answer(by: NIODeadline?), nothing }

  private let servers: [Server]
  private var progress: [Progress]
  private var current = 0
  private var attempts: [Int: Int] = [:]
  private var started = 0
  private var lastStart: NIODeadline?

  init(_ servers: [Server]) {
    self.servers = servers
    progress = servers.map { Progress(certification: $0.isSecure ? .awaited : .known([])) }
  }

  /// Returns the TLSA records of a connected server.
  func tlsa(of server: Int) -> [TLSARecord] {
    if case .known(let records) = progress[server].certification { records } else { [] }
  }

  mutating func handle(_ event: Event, at now: NIODeadline) -> [Action] {
    switch event {
    case .began, .due: break
    case .found(let server, let isIPv6, let addresses, let isSecure):
      if isIPv6 { progress[server].six = addresses } else { progress[server].four = addresses }
      guard !addresses.isEmpty else { break }
      progress[server].isSecure = progress[server].isSecure || isSecure
      progress[server].foundAt = progress[server].foundAt ?? now
    case .certified(let server, let records): progress[server].certification = .known(records)
    case .uncertified(let server): progress[server].certification = .failed
    case .failed(let attempt): attempts[attempt] = nil
    }
    return goOn(now)
  }

  private mutating func goOn(_ now: NIODeadline) -> [Action] {
    var actions: [Action] = []
    while current < servers.count {
      if progress[current].askedAt == nil {
        progress[current].askedAt = now
        actions.append(.lookUp(server: current))
      }
      switch next(now) {
      case .nothing: current += 1
      case .answer(by: let time):
        if let time { actions.append(.wait(until: time)) }
        return actions
      case .address(let isIPv6):
        if let time = earliest, now < time { return actions + [.wait(until: time)] }
        guard let address = take(isIPv6: isIPv6) else { return actions }
        attempts[started] = current
        actions.append(.connect(attempt: started, server: current, address))
        started += 1
        lastStart = now
      }
    }
    return attempts.isEmpty ? actions + [.giveUp] : actions
  }

  /// Returns the next attempt for the current server.
  private func next(_ now: NIODeadline) -> Next {
    let server = progress[current]
    if server.tried == PeerLimits.addressesMax { return .nothing }
    let (six, four) = (server.six ?? [], server.four ?? [])
    if six.isEmpty, four.isEmpty { return server.six == nil || server.four == nil ? awaiting(now) : .nothing }
    switch server.certification {
    case .awaited: return awaiting(now)
    case .failed where server.isSecure: return .nothing
    case .failed, .known: break
    }
    if six.isEmpty {
      // RFC 8305 3: a short wait for IPv6 addresses.
      if server.six == nil, let foundAt = server.foundAt, now < foundAt + PeerLimits.resolutionDelay {
        return .answer(by: foundAt + PeerLimits.resolutionDelay)
      }
      return .address(isIPv6: false)
    }
    return .address(isIPv6: four.isEmpty || server.tried == 0 || !server.wasIPv6)
  }

  /// Returns the action while answers about the current server are missing. The last server's answers are always awaited.
  private func awaiting(_ now: NIODeadline) -> Next {
    guard current + 1 < servers.count, let askedAt = progress[current].askedAt else { return .answer(by: nil) }
    let time = askedAt + PeerLimits.answerDelayMax
    return now < time ? .answer(by: time) : .nothing
  }

  private mutating func take(isIPv6: Bool) -> IPAddress? {
    progress[current].tried += 1
    progress[current].wasIPv6 = isIPv6
    return isIPv6 ? progress[current].six?.removeFirst() : progress[current].four?.removeFirst()
  }

  /// The time before which no further attempt begins.
  private var earliest: NIODeadline? {
    guard let lastStart else { return nil }
    if attempts.isEmpty { return lastStart + PeerLimits.attemptDelayMin }
    if attempts.values.contains(where: { servers[$0].priority != servers[current].priority }) {
      return lastStart + PeerLimits.attemptDelayMax
    }
    let hasLastFailed = attempts[started - 1] == nil
    return lastStart + (hasLastFailed ? PeerLimits.attemptDelayMin : PeerLimits.attemptDelay)
  }
}
