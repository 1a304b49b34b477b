import Accounts
import Administration
import AppDoor
import Backends
public import Basics
import CodeTransports
import Dialogs
import FileDoor
import FileStorage
import HTTPPort
import Logging
import NIOCore
import NIOPosix
import PushServices
import ServerCertificates
public import ServerConfiguration
import ServerMetrics
import ServiceLifecycle
import TraceExport
public import UnixSignals
import WebPages
import XMPPDoor

/// The server as a whole: store, core, doors, admin socket; their start and stop.
public enum Server {
  /// The signals that stop a server gracefully.
  public static let stopSignals: [UnixSignal] = [.sigterm, .sigint]

  /// Runs until one of `signals`, cancellation, or a graceful shutdown from outside.
  ///
  /// The stop is graceful and in reverse order: the doors stop accepting, finish what is under way, preserve resumable
  /// sessions and close their streams; then the core commits what it has accepted; the store is closed last.
  ///
  /// - Parameters:
  ///   - demo: Whether a first start creates two users; nil means only if the domain is localhost.
  ///   - reread: Returns the current configuration, for SIGHUP.
  ///   - clock: The time of everything that is stored and that expires; a test's own moves by hand.
  ///   - greet: Called with instructions once, when all ports are open.
  /// - Throws: The reason why it could not start or had to stop.
  public static func run(
    _ settings: Settings, demo: Bool? = nil, log: ServerLog? = nil, signals: [UnixSignal] = Server.stopSignals,
    clock: any Clock = SystemClock(), reread: @escaping @Sendable () throws -> Settings,
    greet: @escaping @Sendable (String) -> Void
  ) async throws {
    let log = log ?? ServerLog(level: settings.logLevel, format: settings.logFormat)
    let logger = log.logger("parley")
    OpenFiles.raise(logger)
    let folder = try await DataFolder.hold(settings.data, for: .serving)
    let certificates: Certificates
    do throws(StartupError) {
      certificates = try Certificates(settings, folder: folder.certificates, logger: logger)
    } catch { throw folder.explained(error) }
    let metrics = Metrics()
    let exporter = TraceService.exporter(settings, metrics, logger)
    let outgoing = try Outgoing(settings.outgoing, tracer: exporter?.tracer, logger: logger)
    let pushKeys = try PushKeys(settings.pushes)
    let beforeSend = settings.beforeSend.map {
      BeforeSendClient(
        url: $0.url, signer: $0.signer, timeout: $0.timeout, passesUnanswered: $0.passesUnanswered,
        client: outgoing.beforeSend, metrics: metrics, logger: logger)
    }
    MemoryReturn.prepare()
    // Linux allows 1,024 open files by default.
    let memoryBounds = MemoryBounds(memory: AllowedMemory.bytes, files: OpenFiles.limit ?? 1_024)
    let memory = BoundedMemory(memoryBounds, isByNetwork: settings.boundsByNetwork, metrics: metrics, logger: logger)
    let core = try Core.open(
      settings, folder, createsKeys: true,
      signIn: IdentityVerifiers.policy(settings.identity, outgoing, logger: logger), beforeSend: beforeSend,
      memory: memory.sessions, inboxBytesMax: memoryBounds.inbox, cacheBytesMax: memoryBounds.caches,
      remotePresencesBytesMax: memoryBounds.remotePresences,
      presencesInRoomsBytesMax: memoryBounds.presencesInRooms,
      beforeSendBytesMax: memoryBounds.beforeSend, uploadsMax: memoryBounds.uploads, clock: clock, metrics: metrics,
      traces: exporter.map { Traces($0.tracer) }, logger: logger)
    for text in settings.shortcomings { logger.warning("\(text)") }
    try core.bucket?.check()
    try await UserFiles(core.parley).settle()
    let guests = try await core.accounts.removeGuests()
    if guests > 0 { logger.info("guests of before were removed", metadata: ["count": "\(guests)"]) }
    let loops = MultiThreadedEventLoopGroup(numberOfThreads: settings.threads)

    if let codeSender = try CodeDelivery.make(
      settings, outgoing.named, clock: core.parley.clock, metrics: metrics, logger: logger)
    {
      core.accounts.employ(
        codeSender, newcomers: settings.delivery.newcomers, registration: settings.allowsRegistration)
    }
    let readiness = Readiness()
    let bounds = ConnectionBounds(files: OpenFiles.limit)
    if let doubt = bounds.doubt { logger.warning("\(doubt)") }
    let all = OpenConnections(max: bounds.all)
    let exempt = TrustedProxies(settings.trustedProxies)
    let loggedIn = LoggedInConnections(
      perNetworkMax: bounds.ofNetwork, networks: core.parley.options.networks, metrics: metrics, logger: logger)
    func paced(_ kind: PacedConnections.Kind) -> PacedConnections {
      PacedConnections(
        kind, isByNetwork: settings.boundsByNetwork, exempt: exempt, metrics: metrics, logger: logger)
    }
    let xmpp = try await XMPPService(
      settings, core.accounts, certificates, outgoing, loops, bounds, memory, all, loggedIn, paced(.clear),
      paced(.tls), readiness, logger)
    let pushes = settings.pushes.services(
      pushKeys, core.webPushKey, xmpp: xmpp.pushes, content: settings.pushContent, outgoing,
      clock: core.parley.clock, logger)
    let pusher = Pusher(parley: core.parley, route: pushes)
    let app = HTTPPorts.app(settings, core.accounts, loops, lanes: xmpp.lanes, logger)
    let invites = InvitePage(accounts: core.accounts, leadsToWebClient: settings.servesWebClient, logger: logger)
    let hookRoute = WebHookRoute(
      trusted: outgoing.namedHooks, others: outgoing.givenHooks, agent: "Parley/\(Version.number)")
    let backups = settings.backups.every.map {
      ScheduledBackups(settings.backups, every: $0, core.backup, clock: core.parley.clock, logger)
    }
    let replication = core.follower.map { ReplicationWatch($0, clock: core.parley.clock, logger) }
    let acme = try settings.acme.map {
      try ACMEService($0, folder, certificates, outgoing, core.parley.clock, readiness, logger)
    }
    let reloading = Reloading(
      settings, certificates, acme?.renewal, xmpp, log, backups, replication, beforeSend,
      core.parley.registries.retention,
      core.parley.registries.administrators, logger,
      reread: reread)
    let downloads = Downloads(
      memory: memoryBounds.memory, descriptors: memoryBounds.files, byNetwork: settings.boundsByNetwork,
      metrics: metrics, logger: logger)
    let startedAt = core.parley.clock.now
    let scrape = Scrape(
      core, federation: xmpp.federation, certificates: certificates, renewal: acme?.renewal, backups: backups,
      replication: replication, downloads: downloads, memory: memory, startedAt: startedAt)
    let context = AdminContext(
      accounts: core.accounts, startedAt: startedAt, publicURL: settings.pages, hookRoute: hookRoute,
      server: reloading, backups: core.backup
    ) { await scrape.readings() }
    let hooks = HookRunner(
      Hooks(core.parley, rendering: HookEvents(parley: core.parley)), route: hookRoute, logger: logger)
    let sites =
      [
        app.site, xmpp.site, FileSite(parley: core.parley).site, invites.site,
        AdminSite(context).site,
      ] + (settings.servesWebClient ? [ClientSite([.chat, .admin]).site] : [])
      + (acme.map { [$0.responses.site] } ?? [])
    let strict = StrictTransport(settings, certificates)
    await strict.judge(at: startedAt)
    let httpBounds = HTTPBounds(
      withoutLogin: min(bounds.withoutLogin, memoryBounds.httpConnections), isByNetwork: settings.boundsByNetwork,
      loggedIn: loggedIn, all: all, pace: paced(.http), requests: paced(.requests), downloads: downloads,
      memory: HTTPMemory(
        withoutLogin: memory.withoutLogin, loggedIn: memory.bodies, unfinished: memory.sessions.unfinished),
      metrics: metrics, logger: logger)
    let http = try HTTPPorts.services(
      settings, sites: sites, certificates, strict, acme?.responses, loops, httpBounds, readiness, core.parley, logger)
    let metricsPort = HTTPPorts.metrics(
      settings, MetricsSite(parley: core.parley, scrape: scrape), loops, readiness, logger)
    let admin = AdminService(
      settings: settings, context: context, loops: loops, readiness: readiness, logger: logger)
    let greeter = ReadinessReport(
      settings: settings, core: core, demo: demo, readiness: readiness, logger: logger, greet: greet)
    let memoryReturn = MemoryReturn(memory.all)
    let returning = Background(every: ServerLimits.memoryReturnInterval) { memoryReturn.look() }
    let reload = ReloadService(certificates: certificates, strict: strict, clock: core.parley.clock, context: context)
    readiness.expect(1 + http.count + 1 + (metricsPort == nil ? 0 : 1))

    let traces: [any Service] = exporter.map { [TraceService(exporter: $0, client: outgoing.named)] } ?? []
    // The services are shut down from the last to the first.
    let services: [any Service] =
      // Posts that wait for the backend's answer are committed last.
      [outgoing] + traces + [CoreService(core: core, logger: logger), Background { await hooks.run() }]
      + Background.timed(core.accounts, logger) + (metricsPort.map { [$0] } ?? [])
      + (backups.map { backups in [Background { await backups.run() }] } ?? [])
      + (replication.map { watch in [Background(every: ServerLimits.replicatorInterval) { watch.look() }] } ?? [])
      + (acme.map { [$0] } ?? []) + [reload, admin, BackupService(backup: core.backup), greeter, returning]
      + [Background { await pusher.run() }, xmpp] + http + [StopReport(core: core)]
    var configuration = ServiceGroupConfiguration(
      services: services.map {
        .init(
          service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
          failureTerminationBehavior: .gracefullyShutdownGroup)
      }, gracefulShutdownSignals: signals, logger: log.logger("services", least: .warning))
    configuration.maximumGracefulShutdownDuration = ServerLimits.stopWait
    defer { logger.notice("stopped") }
    do {
      try await ServiceGroup(configuration: configuration).run()
    } catch {
      try? await loops.shutdownGracefully()
      throw error
    }
    try? await loops.shutdownGracefully()
  }
}
