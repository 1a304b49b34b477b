import Testing

@testable import Administration

@Suite struct StatsTests {
  private typealias Metric = ServerStats.Metric
  private typealias Series = ServerStats.Series

  private func stats(_ metrics: Metric...) -> ServerStats.Output { ServerStats.Output(metrics: metrics) }
  private func counter(_ name: String, _ values: [String: Double]) -> Metric {
    Metric(
      name: name, kind: "counter", help: "",
      series: values.sorted { $0.key < $1.key }.map { Series(labels: ["door": $0.key], value: $0.value) })
  }
  /// A histogram of times up to 0.1 s, up to 1 s, and longer ones.
  private func times(_ counts: (Int, Int, Int), sum: Double) -> Metric {
    let (short, long) = (counts.0, counts.0 + counts.1)
    return Metric(
      name: "parley_commit_seconds", kind: "histogram", help: "",
      series: [
        Series(
          labels: [:], value: sum,
          buckets: [
            .init(upTo: 0.1, count: short), .init(upTo: 1, count: long), .init(upTo: nil, count: long + counts.2),
          ])
      ])
  }

  @Test func ratesAreBetweenTwoMoments() {
    let numbers = StatsNumbers(
      stats(counter("m", ["app": 30, "xmpp": 15])), after: stats(counter("m", ["app": 10, "xmpp": 15])), seconds: 4)
    #expect(numbers.value("m") == 45 && numbers.value("m", ["door": "app"]) == 30)
    #expect(numbers.rate("m") == 5 && numbers.rate("m", ["door": "xmpp"]) == 0)
    #expect(numbers.rates("m", by: "door").map(\.label) == ["app"])
  }

  @Test func oneMomentHasNoRates() {
    let numbers = StatsNumbers(stats(counter("m", ["app": 30])))
    #expect(numbers.rate("m") == nil && numbers.value("m") == 30)
    #expect(numbers.value("missing") == nil && numbers.observed("missing") == nil)
  }

  /// A server that was restarted has counted anew.
  @Test func aCounterThatBeganAnewHasNoNegativeRate() {
    #expect(
      StatsNumbers(stats(counter("m", ["app": 3])), after: stats(counter("m", ["app": 10])), seconds: 1).rate("m") == 0)
  }

  @Test func quantilesAreEstimatedWithinTheirBucket() throws {
    let observed = try #require(
      StatsNumbers(stats(times((10, 10, 0), sum: 7)), after: stats(times((0, 10, 0), sum: 5)), seconds: 1)
        .observed("parley_commit_seconds"))
    #expect(observed.count == 10 && observed.mean == 0.2)
    #expect(observed.quantile(0.5) == 0.05 && observed.quantile(1) == 0.1)
    let all = try #require(StatsNumbers(stats(times((10, 10, 5), sum: 7))).observed("parley_commit_seconds"))
    #expect(all.quantile(0.4) == 0.1)
    // Longer than all bounds.
    #expect(all.quantile(0.99) == 1)
    #expect(StatsNumbers(stats(times((0, 0, 0), sum: 0))).observed("parley_commit_seconds")?.quantile(0.5) == nil)
  }

  @Test(arguments: [
    (0.0, "0"), (0.0005, "500 us"), (0.0015, "1.5 ms"), (0.25, "250 ms"), (1.5, "1.5 s"), (90, "90 s"), (600, "10 min"),
    (7_260, "2 h 1 min"), (90_000, "1 d 1 h"),
  ])
  func durationsAsText(seconds: Double, text: String) { #expect(StatsText.duration(seconds) == text) }

  @Test(arguments: [(0.0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (40_000_000, "40 MB"), (2_500_000_000, "2.5 GB")])
  func bytesAsText(bytes: Double, text: String) { #expect(StatsText.bytes(bytes) == text) }

  /// The names end as Prometheus has them for points in time.
  @Test func pointsInTimeAreDates() {
    let text = StatsText.table(stats(counter("parley_certificate_expiry_time_seconds", ["tls": 1_800_000_000])))
    #expect(text.contains("2027-01-15T08:00:00.000Z"))
  }

  @Test func theTableLeavesOutWhatIsZero() {
    let text = StatsText.table(stats(counter("parley_m", ["app": 30, "xmpp": 0]), times((10, 0, 0), sum: 0.2)))
    #expect(
      text == """
        METRIC                 LABELS    VALUE
        parley_m               door=app  30
        parley_commit_seconds            10 times, mean 20 ms, p50 50 ms, p99 99 ms
        """)
  }

  private func status(webhooks: Int = 0, failing: Int = 0, failures: Int = 0, behind: Int64 = 0) -> ServerStatus.Output
  {
    ServerStatus.Output(
      version: "1.2", uptimeSeconds: 90_000, domains: ["example.org"], users: 3, usersOnline: 2, sessions: 2,
      position: 7,
      accepting: true, isReady: false, problem: .init(code: "stopping", text: "The server is stopping."),
      webhooks: webhooks, webhooksDisabled: 0, webhooksFailing: failing, webhookFailures: failures,
      webhookBehind: behind,
      lastBackupAt: nil, backupFailure: nil, replicationFailure: nil, beforeSendFailure: nil, unserved: nil,
      lostSecondFactors: nil)
  }

  @Test(
    arguments: [
      (0, 0, 0, 0, nil), (2, 0, 0, 0, "2 (0 disabled, 0 failed events)"),
      (1, 0, 1, 0, "1 (0 disabled, 1 failed event)"),
      // Events of users have no position.
      (2, 1, 0, 0, "2 (0 disabled, 0 failed events, 1 FAILING: parley webhook list)"),
      (2, 1, 0, 1, "2 (0 disabled, 0 failed events, 1 FAILING and 1 position behind: parley webhook list)"),
      (2, 2, 0, 3_000, "2 (0 disabled, 0 failed events, 2 FAILING and 3,000 positions behind: parley webhook list)"),
    ] as [(Int, Int, Int, Int64, String?)])
  func aWebhookThatFailsIsNamedAsSuch(webhooks: Int, failing: Int, failures: Int, behind: Int64, text: String?) {
    #expect(status(webhooks: webhooks, failing: failing, failures: failures, behind: behind).webhookState == text)
  }

  @Test func theScreenFitsTheTerminal() {
    let view = TopView(StatsNumbers(stats(counter("parley_messages_total", ["app": 30]))), status(), time: "12:00")
    let lines = view.lines(width: 200, height: 60)
    #expect(lines[0] == "Parley 1.2  example.org  up 1 d 1 h  12:00  NOT READY: The server is stopping.")
    #expect(lines.contains { $0.hasPrefix("Messages") } && lines.contains { $0.hasPrefix("Federation") })
    let small = view.lines(width: 30, height: 10)
    #expect(small.count == 10 && small.allSatisfy { $0.count <= 30 })
    #expect(view.lines(width: 0, height: 0) == [""])
  }
}
