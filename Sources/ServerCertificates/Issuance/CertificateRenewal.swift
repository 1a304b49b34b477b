import ACME
public import Basics
public import Dialogs
public import Logging
public import ServerConfiguration
import Synchronization
public import WebClient

/// Gets the certificate of `tls.acme` from its authority, and renews it. Theory:
///
/// One loop sleeps until an attempt is due: at once without a certificate of this authority that has all names, else
/// when a third of its validity remains; later after failures, and as late as the authority asks. What must outlast the
/// process is in files before it matters: the account's key before the account, an order's time before the order, the
/// certificate with its key in one file before it is used. A crash at any other time costs the attempt alone.
public final class CertificateRenewal: Sendable {
  private struct State {
    var record: RenewalRecord
    var nap: Task<Void, Never>?
    /// The operators who wait for the end of an attempt.
    var requests: [CheckedContinuation<ACMEFailure?, Never>] = []
    var isStopped = false
    /// The authority's advice on the present certificate's renewal, and the time at which it is asked again.
    var info: (certificate: String, info: RenewalInfo)?
    var infoDue = Timestamp.earliest
    var infoFailures = 0
  }

  private let acme: Settings.ACME
  private let folder: String
  private let files: IssuanceFiles
  private let external: ExternalAccount?
  private let certificates: Certificates
  private let client: WebClient
  private let responses: ValidationResponses
  private let clock: any Clock
  private let logger: Logger
  private let state: Mutex<State>

  /// Reads the files of the authority, or makes them.
  ///
  /// - Parameter folder: The folder of certificates.
  public init(
    _ acme: Settings.ACME, folder: String, certificates: Certificates, client: WebClient,
    responses: ValidationResponses, clock: any Clock, logger: Logger
  ) throws(StartupError) {
    self.acme = acme
    self.folder = folder
    self.certificates = certificates
    self.client = client
    self.responses = responses
    self.clock = clock
    self.logger = logger
    let files = try IssuanceFiles(folder, directory: acme.directory)
    self.files = files
    external = try acme.external.map { external throws(StartupError) in try files.external(external) }
    state = Mutex(State(record: files.read(directory: acme.directory)))
  }

  /// The state of renewals that an operator sees.
  public struct Status: Hashable, Sendable {
    /// The URL of the authority's directory.
    public let directory: String
    /// The names that are to be certified.
    public let names: [String]
    /// The time at which the next attempt begins.
    public let next: Timestamp
    /// The time of the first failure since the last success.
    public let failingSince: Timestamp?
    /// The reason why the last attempt failed, or what is missing in its certificate; nil if nothing is.
    public let failure: String?
  }

  public var status: Status {
    let record = state.withLock { $0.record }
    return Status(
      directory: acme.directory, names: acme.names, next: due(record, at: clock.now),
      failingSince: record.failingSince, failure: record.failure)
  }

  /// The time for which attempts have failed, in seconds.
  public var failingSeconds: Int64 {
    guard let since = state.withLock({ $0.record.failingSince }) else { return 0 }
    return max(0, clock.now.milliseconds - since.milliseconds) / 1_000
  }

  // MARK: The loop

  /// Runs until its task is cancelled.
  public func run() async {
    while !Task.isCancelled {
      await ask()
      let now = clock.now
      let due = due(state.withLock { $0.record }, at: now)
      // Not longer than an hour, so that a clock that was set is noticed.
      let asking = state.withLock { $0.infoDue }
      let next = asking > now ? min(due, asking) : due
      let wait = min(max(next.milliseconds - now.milliseconds, 0), 3_600_000)
      await sleep(.milliseconds(wait))
      if Task.isCancelled { break }
      let isAsked = state.withLock { !$0.requests.isEmpty }
      if isAsked || clock.now >= due {
        let failure = await attempt(isAsked: isAsked)
        let waiting = state.withLock { state in
          defer { state.requests = [] }
          return state.requests
        }
        for request in waiting { request.resume(returning: failure) }
      }
    }
    let waiting = state.withLock { state in
      state.isStopped = true
      defer { state.requests = [] }
      return state.requests
    }
    for request in waiting { request.resume(returning: ACMEFailure("the server stops")) }
  }

  /// Sleeps, until somebody asks for an attempt.
  private func sleep(_ time: Duration) async {
    let nap = Task { _ = try? await Task.sleep(for: time) }
    state.withLock { state in
      state.nap = nap
      if !state.requests.isEmpty { nap.cancel() }
    }
    await withTaskCancellationHandler {
      await nap.value
    } onCancel: {
      nap.cancel()
    }
  }

  /// Makes an attempt now, and returns when it has ended. Delays after failures do not apply; the authority's wishes
  /// and the bound of a day do.
  public func renew() async throws(Problem) {
    let now = clock.now
    let record = state.withLock { $0.record }
    let permitted = max(record.bidUntil ?? now, record.orderPermitted(at: now))
    if permitted > now {
      let isBid = record.bidUntil.map { $0 > now } == true
      let text =
        isBid
        ? "The authority asks to wait until \(permitted)."
        : "There were as many orders within a day as there may be; the next one may be made at \(permitted)."
      throw Problem(
        .tooFast, "certificate-not-yet", text, reason: isBid ? record.failure : nil,
        retryAfter: Int(clamping: (permitted.milliseconds - now.milliseconds) / 1_000 + 1))
    }
    let failure = await withCheckedContinuation { (continuation: CheckedContinuation<ACMEFailure?, Never>) in
      let isStopped = state.withLock { state in
        if state.isStopped { return true }
        state.requests.append(continuation)
        state.nap?.cancel()
        return false
      }
      if isStopped { continuation.resume(returning: ACMEFailure("the server stops")) }
    }
    if let failure {
      throw Problem(
        .conflict, "certificate-failed", "There is no new certificate. The server's log has the reason.",
        reason: failure.text)
    }
  }

  /// Returns the time of the next attempt.
  private func due(_ record: RenewalRecord, at now: Timestamp) -> Timestamp {
    max(wanted(record, at: now), record.notBefore ?? now, record.orderPermitted(at: now))
  }

  /// Returns the time at which the present certificate has to be replaced.
  private func wanted(_ record: RenewalRecord, at now: Timestamp) -> Timestamp {
    guard let issued = IssuedCertificate.read(folder), record.hasIssued, issued.covers(acme.names) else { return now }
    return renewal(of: issued)
  }

  /// Returns the time that the authority asks for, if it does, but never one at which little of the validity remains; else
  /// the usual time.
  private func renewal(of issued: IssuedCertificate) -> Timestamp {
    guard let info = state.withLock({ $0.info }), info.certificate == issued.name else {
      return Self.renewal(of: issued)
    }
    let (from, until) = (issued.leaf.validFrom.milliseconds, issued.leaf.validUntil.milliseconds)
    return min(info.info.time(fraction: issued.fraction), Timestamp(milliseconds: until - (until - from) / 10))
  }

  /// Asks the authority when the present certificate should be renewed, if that is due (RFC 9773 4.3).
  private func ask() async {
    let (record, due) = state.withLock { ($0.record, $0.infoDue) }
    let now = clock.now
    guard record.hasIssued, let issued = IssuedCertificate.read(folder), let name = issued.name,
      issued.leaf.validUntil > now
    else { return }
    let isKnown = state.withLock { $0.info?.certificate == name || $0.info == nil }
    guard now >= due || !isKnown else { return }
    do throws(ACMEFailure) {
      let info = try await authority().renewalInfo(of: name, directory: acme.directory)
      let isNews = state.withLock { state in
        let isNews = info.map { $0.start != state.info?.info.start || $0.end != state.info?.info.end } ?? false
        state.info = info.map { (name, $0) }
        state.infoFailures = 0
        state.infoDue = now + .seconds(info?.checkSeconds ?? RenewalInfo.check(after: 1, isTemporary: false))
        return isNews
      }
      guard let info, isNews else { return }
      var metadata: Logger.Metadata = ["from": "\(info.start)", "until": "\(info.end)"]
      if let explanation = info.explanation { metadata["reason"] = "\(explanation)" }
      logger.info("the authority suggests when to renew the certificate", metadata: metadata)
    } catch {
      state.withLock { state in
        state.infoFailures += 1
        state.infoDue =
          now + .seconds(RenewalInfo.check(after: state.infoFailures, isTemporary: error.isUnreachable))
      }
      if !Task.isCancelled {
        logger.info("the authority does not say when to renew", metadata: ["reason": "\(error.text)"])
      }
    }
  }

  private func authority() -> AuthorityClient {
    AuthorityClient(client: client, key: files.key, responses: responses, logger: logger) {
      [self] () throws(ACMEFailure) in try change { $0.ordered(at: clock.now) }
    }
  }

  private static func renewal(of issued: IssuedCertificate) -> Timestamp {
    RenewalTime.of(from: issued.leaf.validFrom, until: issued.leaf.validUntil, fraction: issued.fraction)
  }

  // MARK: An attempt

  /// - Returns: Why there is no new certificate; nil if there is one.
  private func attempt(isAsked: Bool) async -> ACMEFailure? {
    let record = state.withLock { $0.record }
    var held: Set<String> = []
    let present = record.hasIssued ? IssuedCertificate.read(folder) : nil
    if !isAsked, let issued = present, renewal(of: issued) > clock.now {
      held = Set(acme.names.filter { issued.names.cover(host: $0) })
    }
    let plan = IssuancePlan(
      directory: acme.directory, contacts: acme.contacts, names: acme.names, held: held,
      challenge: acme.validation == .http ? .http : .tlsALPN, thumbprint: files.key.thumbprint,
      external: external, replaces: present?.name, ordersMax: record.ordersLeft(at: clock.now))
    switch await authority().run(plan) {
    case .failed(let failure): return failed(failure)
    case .issued(let chain, let key, let names, let missing):
      do {
        let issued = try IssuedCertificate.write(chain: chain, key: key, for: names, at: clock.now, in: folder)
        try change { $0.succeeded() }
        state.withLock { $0.infoDue = .earliest }
        // Another certificate that cannot be read at this moment is no reason to order this one again.
        do { try certificates.issued() } catch {
          let reason = "the new certificate waits for a reload: \(Self.reason(error))"
          logger.error("the certificate is not in service yet", metadata: ["reason": "\(reason)"])
          return ACMEFailure(reason)
        }
        logger.notice(
          "the certificate is in service",
          metadata: ["names": "\(names.joined(separator: ","))", "until": "\(issued.leaf.validUntil)"])
      } catch {
        return failed(ACMEFailure("the certificate cannot be used: \(Self.reason(error))"))
      }
      if !missing.isEmpty {
        _ = failed(ACMEFailure(missing.map { "\($0.name): \($0.text)" }.joined(separator: "; ")))
      }
      return nil
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case let flaw as CertificateFlaw: flaw.text
    case let failure as Files.Failure: "\(failure.path): \(failure.reason)"
    case let failure as ACMEFailure: failure.text
    case let failure as StartupError: failure.lines.joined(separator: "; ")
    default: "\(error)"
    }
  }

  /// Notes and logs a failure, unless the server stops.
  private func failed(_ failure: ACMEFailure) -> ACMEFailure {
    if Task.isCancelled { return failure }
    let now = clock.now
    // A record that cannot be written loses the delays of earlier attempts, not that of this process.
    _ = try? change { $0.failed(failure, at: now, random: .random(in: 0..<1)) }
    let next = due(state.withLock { $0.record }, at: now)
    logger.error("names are not certified", metadata: ["reason": "\(failure.text)", "next": "\(next)"])
    return failure
  }

  private func change(_ body: (inout RenewalRecord) -> Void) throws(ACMEFailure) {
    let record = state.withLock { state in
      body(&state.record)
      return state.record
    }
    do { try files.write(record) } catch {
      throw ACMEFailure("\(error.path) cannot be written: \(error.reason)")
    }
  }
}
