import ServerMetrics
import Testing

@Suite struct MetricsTests {
  /// The lines of one metric in the exposition.
  private func lines(_ name: String, _ metrics: Metrics, _ readings: Readings = Readings()) -> [String] {
    metrics.exposition(readings).split(separator: "\n").map(String.init).filter { $0.contains(name) }
  }

  @Test func aCounterHasALineForEachOfItsSeries() {
    let metrics = Metrics()
    metrics.messages.add(.app)
    metrics.messages.add(.app, 2)
    metrics.messages.add(.remote)
    #expect(
      lines("parley_messages_total", metrics) == [
        "# HELP parley_messages_total Messages that were committed to the log, by the door they came in.",
        "# TYPE parley_messages_total counter", "parley_messages_total{door=\"xmpp\"} 0",
        "parley_messages_total{door=\"app\"} 3", "parley_messages_total{door=\"remote\"} 1",
      ])
  }

  @Test func bucketsOfAHistogramCountWhatIsAtMostSoLarge() {
    let metrics = Metrics()
    for count in [1, 2, 3, 50, 900] { metrics.commitPosts.observe(count) }
    #expect(
      lines("parley_commit_posts", metrics).dropFirst(2) == [
        "parley_commit_posts_bucket{le=\"1\"} 1", "parley_commit_posts_bucket{le=\"2\"} 2",
        "parley_commit_posts_bucket{le=\"5\"} 3", "parley_commit_posts_bucket{le=\"10\"} 3",
        "parley_commit_posts_bucket{le=\"50\"} 4", "parley_commit_posts_bucket{le=\"100\"} 4",
        "parley_commit_posts_bucket{le=\"500\"} 4", "parley_commit_posts_bucket{le=\"+Inf\"} 5",
        "parley_commit_posts_sum 956", "parley_commit_posts_count 5",
      ])
  }

  @Test func durationsAreInSeconds() {
    let metrics = Metrics()
    metrics.readSeconds.observe(.microseconds(1_500), .search)
    let found = lines("parley_read_seconds", metrics)
    #expect(found.contains("parley_read_seconds_bucket{kind=\"search\",le=\"0.001\"} 0"))
    #expect(found.contains("parley_read_seconds_bucket{kind=\"search\",le=\"0.0025\"} 1"))
    #expect(found.contains("parley_read_seconds_sum{kind=\"search\"} 0.0015"))
    #expect(found.contains("parley_read_seconds_count{kind=\"archive\"} 0"))
  }

  @Test(arguments: [Duration.zero, .seconds(-3), .seconds(Int64.max)])
  func anyDurationIsObserved(duration: Duration) {
    let metrics = Metrics()
    metrics.commitSeconds.observe(duration)
    #expect(lines("parley_commit_seconds_count", metrics) == ["parley_commit_seconds_count 1"])
  }

  @Test func whatWasNotReadIsLeftOut() {
    let metrics = Metrics()
    var readings = Readings()
    readings.set(metrics.sessions, [.appPoll: 2])
    #expect(lines("parley_log_position", metrics, readings).isEmpty)
    let found = lines("parley_sessions{", metrics, readings)
    #expect(found.count == SessionKind.allCases.count)
    #expect(found.contains("parley_sessions{door=\"app\",transport=\"poll\"} 2"))
    #expect(found.contains("parley_sessions{door=\"xmpp\",transport=\"tcp\"} 0"))
  }

  @Test func aSeriesOfTwoLabelsHasItsOwnCell() {
    let metrics = Metrics()
    for (number, series) in Both<PushProvider, SendingResult>.allCases.enumerated() {
      #expect(series.rawValue == number)
      #expect(Both<PushProvider, SendingResult>(rawValue: number) == series)
      metrics.pushes.add(series, number)
    }
    #expect(
      metrics.pushes.samples(Readings())?.map(\.value)
        == (0..<Both<PushProvider, SendingResult>.allCases.count).map { .number(Double($0)) })
  }

  @Test func namesAndSeriesAreUnique() throws {
    let metrics = Metrics()
    #expect(metrics.all.count > 40)
    #expect(Set(metrics.all.map(\.name)).count == metrics.all.count)
    for metric in metrics.all where metric.kind != .gauge {
      guard let samples = metric.samples(Readings()) else { continue }
      #expect(Set(samples.map(\.labels)).count == samples.count, "\(metric.name)")
      #expect(samples.allSatisfy { $0.labels.count == metric.labels.count }, "\(metric.name)")
    }
  }

  /// Dashboards and alerts of operators name these: a metric, its type and its labels stay. What is new is added here.
  @Test func whatWasPublishedStays() {
    let published = """
      gauge parley_sessions door transport
      gauge parley_sessions_lagging door
      gauge parley_users_online
      counter parley_logins_total door mechanism result
      counter parley_tls_handshakes_total port version
      counter parley_tls_handshakes_delayed_total
      counter parley_xmpp_connections_delayed_total
      counter parley_http_connections_delayed_total
      counter parley_http_requests_delayed_total
      counter parley_refusals_total rate
      counter parley_accept_pauses_total
      gauge parley_held_bytes kind
      counter parley_sending_pauses_total bound
      counter parley_sessions_archived_total result
      counter parley_stanzas_total direction kind
      counter parley_messages_total door
      gauge parley_inbox_posts
      histogram parley_commit_posts
      histogram parley_commit_seconds
      histogram parley_sync_seconds
      histogram parley_event_loop_lag_seconds
      counter parley_fan_out_pauses_total
      gauge parley_log_position
      histogram parley_read_seconds kind
      counter parley_retention_removed_total kind
      gauge parley_database_bytes
      gauge parley_wal_bytes
      histogram parley_checkpoint_seconds
      gauge parley_backup_failing_seconds
      gauge parley_replication_failing_seconds
      counter parley_pushes_total provider result
      gauge parley_pushes_owed_users
      gauge parley_pushes_oldest_seconds
      gauge parley_webhooks state
      counter parley_webhook_deliveries_total result
      gauge parley_webhook_failures
      gauge parley_webhook_positions_behind
      gauge parley_webhook_failing_seconds
      counter parley_before_send_total result
      counter parley_code_deliveries_total transport result
      counter parley_uploads_total result
      counter parley_upload_bytes_total
      gauge parley_downloads
      counter parley_downloads_cut_total
      gauge parley_federation_streams direction auth
      counter parley_federation_connects_total result
      histogram parley_federation_handshake_seconds
      counter parley_federation_stanzas_total direction kind
      gauge parley_federation_outbox_rows
      gauge parley_federation_outbox_oldest_seconds
      histogram parley_federation_taken_seconds
      counter parley_federation_bounced_total condition
      counter parley_federation_refused_total reason
      counter parley_federation_dialback_total result
      gauge parley_federation_residents
      counter parley_federation_strangers_total verdict
      gauge parley_certificate_expiry_time_seconds
      gauge parley_certificate_failing_seconds
      counter parley_trace_spans_total result
      gauge process_resident_memory_bytes
      counter process_cpu_seconds_total
      gauge process_open_fds
      gauge process_max_fds
      gauge process_start_time_seconds
      """
    let present = Metrics().all.map { ([$0.kind.rawValue, $0.name] + $0.labels).joined(separator: " ") }
    #expect(Set(present).symmetricDifference(published.split(separator: "\n").map(String.init)) == [])
  }

  /// Cells are found by the number of the case.
  @Test func casesAreNumberedFromZero() {
    func check<S: Series>(_ type: S.Type) {
      #expect(S.allCases.map(\.rawValue) == Array(0..<S.allCases.count), "\(type)")
      #expect(Set(S.allCases.map(\.values)).count == S.allCases.count, "\(type)")
      #expect(S.allCases.allSatisfy { $0.values.count == S.labels.count }, "\(type)")
    }
    check(MessageDoor.self)
    check(SessionKind.self)
    check(ClientDoor.self)
    check(LoginMechanism.self)
    check(LoginResult.self)
    check(StanzaFlow.self)
    check(ReadKind.self)
    check(RefusingRate.self)
    check(HeldMemory.self)
    check(SendingBound.self)
    check(PushProvider.self)
    check(SendingResult.self)
    check(HookState.self)
    check(BeforeSendResult.self)
    check(CodeWay.self)
    check(UploadResult.self)
    check(TLSPort.self)
    check(SecureVersion.self)
    check(StreamDirection.self)
    check(PeerVerification.self)
    check(ConnectResult.self)
    check(BounceReason.self)
    check(StreamRefusal.self)
    check(DialbackResult.self)
    check(StrangerVerdict.self)
  }

  @Test func countersAddFromAllThreads() async {
    let metrics = Metrics()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { for _ in 0..<1_000 { metrics.stanzas.add(.messageIn) } } }
    }
    #expect(
      lines("parley_stanzas_total{direction=\"in\",kind=\"message\"}", metrics) == [
        "parley_stanzas_total{direction=\"in\",kind=\"message\"} 8000"
      ])
  }
}
