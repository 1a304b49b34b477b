import Basics
public import NIOCore
import Synchronization

/// Asks the system's name servers, or given ones, which do the work of finding and validating answers (RFC 1034 5.3.1).
///
///     let resolver = StubResolver(.system(), group: group)
///     let answer = try await resolver.lookUp(name, .srv)
///
/// Answers are kept for the time that the DNS says, within bounds, absent ones too (RFC 2308 5); failures are not. The
/// same question of several callers is asked once.
public final class StubResolver: DNSResolver {
  /// The place where the name servers are written.
  public enum Configuration: Sendable {
    /// A file as resolv.conf(5) describes it, read anew as it changes.
    case system(path: String = "/etc/resolv.conf")
    case servers([SocketAddress])
  }

  /// Whether a name server is believed that it has validated an answer.
  public enum Authenticity: String, Hashable, Sendable {
    /// If it is on this machine, or `trust-ad` says so: elsewhere anybody between could say it (RFC 4035 3.2.3 and 7).
    case auto, always, never
  }

  private struct State: Sendable {
    var cache = AnswerCache()
    var underWay: [Question: Task<Result<Answer, LookupFailure>, Never>] = [:]
    /// The number of questions under way, by zone.
    var underWayOfZones: [DomainName: Int] = [:]
    var settings: ResolvConf
    var readAt: NIODeadline?
    /// The time at which a server that has not answered is asked in its turn again.
    var penalties: [SocketAddress: NIODeadline] = [:]
  }

  private let configuration: Configuration
  private let authenticity: Authenticity
  private let group: any EventLoopGroup
  private let timers: any Timers
  private let questionsMax: Int
  private let state: Mutex<State>

  public convenience init(
    _ configuration: Configuration, authenticity: Authenticity = .auto, group: any EventLoopGroup
  ) {
    self.init(configuration, authenticity: authenticity, group: group, timers: LoopTimers())
  }

  package init(
    _ configuration: Configuration, authenticity: Authenticity, group: any EventLoopGroup, timers: any Timers,
    questionsMax: Int = DNSLimits.questionsMax
  ) {
    self.configuration = configuration
    self.authenticity = authenticity
    self.group = group
    self.timers = timers
    self.questionsMax = questionsMax
    let servers = if case .servers(let servers) = configuration { servers } else { [SocketAddress]() }
    state = Mutex(State(settings: ResolvConf(servers: servers)))
  }

  public func lookUp(_ name: DomainName, _ type: RecordType) async throws(LookupFailure) -> Answer {
    let question = Question(name: name, type: type)
    let zone = name.zone
    enum Way { case known(Answer), asked(Task<Result<Answer, LookupFailure>, Never>), full }
    let way: Way = state.withLock { state in
      if let known = state.cache.answer(to: question, at: timers.now) { return .known(known) }
      if let task = state.underWay[question] { return .asked(task) }
      guard state.underWay.count < questionsMax,
        state.underWayOfZones[zone, default: 0] < max(1, questionsMax / DNSLimits.zoneShare)
      else { return .full }
      let task = Task { await finish(question) }
      state.underWay[question] = task
      state.underWayOfZones[zone, default: 0] += 1
      return .asked(task)
    }
    switch way {
    case .known(let answer): return answer
    case .asked(let task): return try await task.value.get()
    case .full: throw .overloaded
    }
  }

  public func forget() { state.withLock { $0.cache = AnswerCache() } }

  private func finish(_ question: Question) async -> Result<Answer, LookupFailure> {
    let result: Result<Answer, LookupFailure>
    do throws(LookupFailure) { result = .success(try await ask(question)) } catch { result = .failure(error) }
    let zone = question.name.zone
    state.withLock { state in
      state.underWay[question] = nil
      let left = state.underWayOfZones[zone, default: 0] - 1
      state.underWayOfZones[zone] = left > 0 ? left : nil
      if case .success(let answer) = result { state.cache.keep(answer, to: question, at: timers.now) }
    }
    return result
  }

  // MARK: Asking

  /// Asks one server after the other, in rounds of doubled patience, as resolv.conf(5) has it. A server that answers but
  /// cannot help is not asked again.
  private func ask(_ question: Question) async throws(LookupFailure) -> Answer {
    let settings = current()
    var failures: [SocketAddress: LookupFailure] = [:]
    for round in 0..<settings.attempts {
      let timeout = min(settings.timeout * (1 << round), DNSLimits.timeoutMax)
      for server in inTurn(settings.servers) where failures[server] == nil {
        do throws(LookupFailure) {
          return try await ask(question, server, trusts: trusts(server, settings), timeout)
        } catch .timedOut {
          state.withLock { $0.penalties[server] = timers.now + DNSLimits.penalty }
        } catch {
          failures[server] = error
        }
      }
      if failures.count == settings.servers.count { break }
    }
    throw settings.servers.lazy.compactMap { failures[$0] }.first ?? .timedOut
  }

  private func ask(
    _ question: Question, _ server: SocketAddress, trusts: Bool, _ timeout: TimeAmount
  ) async throws(LookupFailure) -> Answer {
    func message(hasEDNS: Bool) async throws(LookupFailure) -> Message {
      let exchange = Exchange(
        question: question, server: server, hasEDNS: hasEDNS, asksForAuthenticity: trusts && hasEDNS,
        timeout: timeout, timers: timers)
      return try await exchange.perform(on: group.any())
    }
    var answered = try await message(hasEDNS: true)
    // A server from before EDNS (RFC 6891 7).
    if answered.code == Message.Code.formatError || answered.code == Message.Code.notImplemented {
      answered = try await message(hasEDNS: false)
    }
    return try Answer(to: question, in: answered, isTrusted: trusts)
  }

  private func trusts(_ server: SocketAddress, _ settings: ResolvConf) -> Bool {
    switch authenticity {
    case .always: true
    case .never: false
    case .auto: settings.trustsAuthenticity || server.ipAddress.flatMap { IPAddress($0) }?.isLoopback == true
    }
  }

  /// Returns the servers in their order, those last that did not answer lately.
  private func inTurn(_ servers: [SocketAddress]) -> [SocketAddress] {
    let now = timers.now
    let penalties = state.withLock { $0.penalties }
    let isLate: (SocketAddress) -> Bool = { server in penalties[server].map { now < $0 } ?? false }
    return servers.filter { !isLate($0) } + servers.filter(isLate)
  }

  /// Returns the settings, read anew if they are old.
  private func current() -> ResolvConf {
    let now = timers.now
    guard case .system(let path) = configuration else { return state.withLock { $0.settings } }
    return state.withLock { state in
      if let readAt = state.readAt, now < readAt + DNSLimits.configurationAge { return state.settings }
      state.readAt = now
      // Under the lock: another question that comes meanwhile must not find no servers.
      let bytes = (try? Files.read(path, bytesMax: DNSLimits.configurationBytesMax)) ?? []
      let settings = ResolvConf(String(decoding: bytes, as: UTF8.self))
      if state.settings.servers != settings.servers { state.penalties = [:] }
      state.settings = settings
      return settings
    }
  }
}
