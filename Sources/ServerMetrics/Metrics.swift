/// Everything that a server measures, in the order in which it is shown. docs/metrics.md is the same list for operators,
/// and a test compares both.
///
/// A metric that counts is a member that code adds to where something happens; a `Reading` is read at a scrape from what
/// keeps it. Each server of a process has its own.
public final class Metrics: Sendable {
  // MARK: Clients

  public let sessions = Reading<SessionKind>(
    "parley_sessions", "Sessions of clients; transport none is one that waits for its client to come back.")
  public let sessionsLagging = Reading<ClientDoor>(
    "parley_sessions_lagging", "Connected sessions whose client does not read what it is sent.")
  public let usersOnline = Reading<Single>("parley_users_online", "Users with at least one session.")
  public let logins = Counter<Both<LoginMechanism, LoginResult>>(
    "parley_logins_total", "Attempts to log in. A failure is a wrong password or token, or an attempt that was refused."
  )
  public let tlsHandshakes = Counter<Both<TLSPort, SecureVersion>>(
    "parley_tls_handshakes_total", "Completed TLS handshakes.")
  public let tlsHandshakesDelayed = Counter<Single>(
    "parley_tls_handshakes_delayed_total", "TLS handshakes that had to wait, since their network began too many.")
  public let xmppConnectionsDelayed = Counter<Single>(
    "parley_xmpp_connections_delayed_total",
    "XMPP connections in the clear that had to wait, since their network began too many.")
  public let httpConnectionsDelayed = Counter<Single>(
    "parley_http_connections_delayed_total", "HTTP connections that had to wait, since their network began too many.")
  public let httpRequestsDelayed = Counter<Single>(
    "parley_http_requests_delayed_total", "HTTP requests that had to wait, since their network made too many.")
  public let refusals = Counter<RefusingRate>(
    "parley_refusals_total", "Requests that were refused because a rate or a bound was reached.")
  public let heldBytes = Reading<HeldMemory>(
    "parley_held_bytes",
    "Memory held for clients, mostly in steps of 16 KiB; each kind has a bound, beyond which refusals count as memory.")
  public let acceptPauses = Counter<Single>(
    "parley_accept_pauses_total",
    "Pauses of a port that could accept no connection, for example because no file descriptor was left.")

  public let sendingPauses = Counter<SendingBound>(
    "parley_sending_pauses_total",
    "Pauses in reading a session or stream whose account has sent as much as it may (`sending`).")

  public let sessionsArchived = Counter<ArchivedSession>(
    "parley_sessions_archived_total",
    "XMPP sessions over a restart: stored by the stop or not, restored by the start, resumed by their clients or not.")

  // MARK: Messages

  public let stanzas = Counter<StanzaFlow>(
    "parley_stanzas_total", "Stanzas of XMPP clients, by the direction seen from the server.")
  public let messages = Counter<MessageDoor>(
    "parley_messages_total", "Messages that were committed to the log, by the door they came in.")
  public let inboxPosts = Reading<Single>("parley_inbox_posts", "Posts that wait to be committed.")
  public let commitPosts = Histogram<Single>(
    "parley_commit_posts", "Posts that were committed together.", counts: [1, 2, 5, 10, 50, 100, 500])
  public let commitSeconds = Histogram<Single>(
    "parley_commit_seconds", "Time of a commit: rules, writing and syncing.", microseconds: Metrics.latencies)
  public let syncSeconds = Histogram<Single>(
    "parley_sync_seconds", "Time that the disk took to sync a commit.", microseconds: Metrics.latencies)
  public let eventLoopLag = Histogram<Single>(
    "parley_event_loop_lag_seconds", "Time by which an event loop was late for a timer, observed every 5 seconds.",
    microseconds: Metrics.latencies)

  public let fanOutPauses = Counter<Single>(
    "parley_fan_out_pauses_total",
    "Pauses of an event loop between two slices of what goes to many sessions, in which it serves others.")

  // MARK: The store

  public let logPosition = Reading<Single>(
    "parley_log_position", "The last position of the log; its rate is how fast the log grows.")
  public let readSeconds = Histogram<ReadKind>(
    "parley_read_seconds", "Time of a read of the store, from the request to its result.",
    microseconds: Metrics.latencies)
  public let retained = Counter<RetainedKind>(
    "parley_retention_removed_total", "Messages, files and accounts that were removed because of their age.")
  public let databaseBytes = Reading<Single>("parley_database_bytes", "Size of the database file.")
  public let walBytes = Reading<Single>("parley_wal_bytes", "Size of the file of the write-ahead log.")
  public let checkpointSeconds = Histogram<Single>(
    "parley_checkpoint_seconds", "Time of copying the write-ahead log into the database.",
    microseconds: [10_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 60_000_000])

  public let backupFailing = Reading<Single>(
    "parley_backup_failing_seconds",
    "Time for which no scheduled backup could be made; 0 if the last attempt succeeded.")
  public let replicationFailing = Reading<Single>(
    "parley_replication_failing_seconds",
    "Time for which no program has followed the write-ahead log (`backup.replicated`); 0 if one does.")

  // MARK: Other services

  public let pushes = Counter<Both<PushProvider, SendingResult>>(
    "parley_pushes_total", "Push notifications that were sent; a failed one is tried again, a refused one is not.")
  public let pushesOwed = Reading<Single>("parley_pushes_owed_users", "Users for whom pushes wait to be sent.")
  public let pushesOldest = Reading<Single>(
    "parley_pushes_oldest_seconds", "Age of the oldest message whose push waits to be sent; 0 if none waits.")
  public let webhooks = Reading<HookState>("parley_webhooks", "Webhooks.")
  public let webhookDeliveries = Counter<SendingResult>(
    "parley_webhook_deliveries_total", "Events that were sent to webhooks; a failed one is tried again.")
  public let webhookFailures = Reading<Single>(
    "parley_webhook_failures", "Events that were given up, and are kept to be sent again by an operator.")
  public let webhookBehind = Reading<Single>(
    "parley_webhook_positions_behind", "Positions of the log that the last failing webhook lags behind.")
  public let webhookFailing = Reading<Single>(
    "parley_webhook_failing_seconds", "Time for which a webhook has taken nothing; 0 if all take their events.")
  public let beforeSend = Counter<BeforeSendResult>(
    "parley_before_send_total",
    "Messages about which the backend is asked (`before_send`), by its answer; those without a usable one are unanswered, malformed, or "
      + "unasked, as they have waited too long for their turn.")
  public let codes = Counter<Both<CodeWay, SendingResult>>(
    "parley_code_deliveries_total",
    "Codes and links for signing in that were sent; a failed one is tried again, a refused one is not.")
  public let uploads = Counter<UploadResult>("parley_uploads_total", "Uploads of files that ended.")
  public let uploadBytes = Counter<Single>("parley_upload_bytes_total", "Bytes of files that were stored.")
  public let downloads = Reading<Single>(
    "parley_downloads", "Downloads under way: responses of 64 KiB or more on the HTTP ports.")
  public let downloadsCut = Counter<Single>(
    "parley_downloads_cut_total",
    "Downloads that were cut off for another response, as there was no other place.")

  // MARK: Federation

  public let federationStreams = Reading<Both<StreamDirection, PeerVerification>>(
    "parley_federation_streams", "Verified streams to and from other servers.")
  public let federationConnects = Counter<ConnectResult>(
    "parley_federation_connects_total", "Attempts to open a stream to another server.")
  public let federationHandshake = Histogram<Single>(
    "parley_federation_handshake_seconds", "Time from an attempt to open a stream until stanzas can be written to it.",
    microseconds: [50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000, 30_000_000])
  public let federationStanzas = Counter<StanzaFlow>(
    "parley_federation_stanzas_total", "Stanzas of other servers and to them.")
  public let outboxRows = Reading<Single>(
    "parley_federation_outbox_rows", "Stanzas that another server has not taken yet.")
  public let outboxOldest = Reading<Single>(
    "parley_federation_outbox_oldest_seconds", "Age of the oldest of them; 0 if there is none.")
  public let takenSeconds = Histogram<Single>(
    "parley_federation_taken_seconds",
    "Time from the commit of a stanza until the other server has taken it, of one stanza at a time for each domain.",
    microseconds: [50_000, 100_000, 250_000, 1_000_000, 5_000_000, 60_000_000, 600_000_000])
  public let bounced = Counter<BounceReason>(
    "parley_federation_bounced_total", "Stanzas that were given up and returned to their authors.")
  public let streamRefusals = Counter<StreamRefusal>(
    "parley_federation_refused_total", "Streams of other servers that were refused.")
  public let dialback = Counter<DialbackResult>(
    "parley_federation_dialback_total", "Dialback keys of other servers that were verified.")
  public let residents = Reading<Single>(
    "parley_federation_residents", "Users of other servers who are in rooms here.")
  public let strangers = Counter<StrangerVerdict>(
    "parley_federation_strangers_total", "First messages of users elsewhere whom nobody here knows.")

  // MARK: Certificates

  public let certificateExpiry = Reading<Single>(
    "parley_certificate_expiry_time_seconds",
    "Time at which the first of the certificates expires that clients get, since 1970.")
  public let certificateFailing = Reading<Single>(
    "parley_certificate_failing_seconds", "Time for which names could not be certified (`tls.acme`); 0 if all are.")

  // MARK: Traces

  public let traceSpans = Counter<SpanResult>(
    "parley_trace_spans_total",
    "Spans of traces (`tracing`): sent to the collector, failed to be, or dropped since too many waited.")

  // MARK: The process

  public let residentBytes = Reading<Single>("process_resident_memory_bytes", "Resident memory.")
  public let cpuSeconds = Reading<Single>("process_cpu_seconds_total", "CPU time of the process.", kind: .counter)
  public let openDescriptors = Reading<Single>("process_open_fds", "Open file descriptors.")
  public let descriptorsMax = Reading<Single>("process_max_fds", "The most file descriptors that may be open.")
  public let startTime = Reading<Single>(
    "process_start_time_seconds", "Time at which the server started, since 1970.")

  public init() {}

  /// Counts a refusal by a rate, which is found by its name for clients.
  public func refused(by policy: String) {
    if let rate = RefusingRate.allCases.first(where: { $0.values == [policy] }) { refusals.add(rate) }
  }

  /// The bounds of latencies in microseconds: from a sync of a fast disk to what everybody notices.
  static let latencies = [500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000]

  /// All metrics, in the order of their declaration.
  public var all: [any Metric] { Mirror(reflecting: self).children.compactMap { $0.value as? any Metric } }
}
