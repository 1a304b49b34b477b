import Basics

/// The screen of `parley top`, as text: a value of the numbers and of the terminal's size.
package struct TopView {
  let numbers: StatsNumbers
  let status: ServerStatus.Output
  let time: String

  package init(_ numbers: StatsNumbers, _ status: ServerStatus.Output, time: String) {
    self.numbers = numbers
    self.status = status
    self.time = time
  }

  /// Returns the lines, cut to the terminal's size.
  package func lines(width: Int, height: Int) -> [String] {
    Array((head + clients + traffic + latencies + queues + store + federation).prefix(max(1, height)))
      .map { $0.cut(to: width) }
  }

  /// Returns the screen of a server that does not answer.
  package static func absent(_ reason: String, time: String, width: Int) -> [String] {
    ["Parley  \(time)".cut(to: width), "", reason.cut(to: width), "Trying again. Press q to quit."]
  }

  private var head: [String] {
    let state = status.isReady ? "ready" : "NOT READY: \(status.problem?.text ?? "unknown")"
    return [
      "Parley \(status.version)  \(status.domains.joined(separator: ", "))  up "
        + StatsText.duration(Double(status.uptimeSeconds)) + "  \(time)  \(state)",
      "",
    ]
  }

  private var clients: [String] {
    func sessions(_ door: String, _ transports: [(String, String)]) -> String {
      transports.map { transport, text in
        "\(text) " + StatsText.count(numbers.value("parley_sessions", ["door": door, "transport": transport]))
      }.joined(separator: "  ")
    }
    return [
      row(
        "Sessions", total("parley_sessions"),
        "users \(total("parley_users_online"))  lagging \(total("parley_sessions_lagging"))"),
      row(
        "  XMPP", total("parley_sessions", ["door": "xmpp"]),
        sessions(
          "xmpp", [("tcp", "tcp"), ("websocket", "websocket"), ("bosh", "bosh"), ("none", "suspended")])),
      row(
        "  app", total("parley_sessions", ["door": "app"]),
        sessions(
          "app", [("websocket", "websocket"), ("events", "events"), ("poll", "poll"), ("none", "away")])),
      row(
        "Logins", per("parley_logins_total", ["result": "success"]),
        "failed \(per("parley_logins_total", ["result": "failure"]))"),
      "",
    ]
  }

  private var traffic: [String] {
    func stanzas(_ direction: String) -> String {
      ["message", "presence", "iq"].map { kind in
        "\(kind) " + per("parley_stanzas_total", ["direction": direction, "kind": kind])
      }.joined(separator: "  ")
    }
    return [
      row(
        "Messages", per("parley_messages_total"),
        ["xmpp", "app", "remote"].map { "\($0) " + per("parley_messages_total", ["door": $0]) }.joined(separator: "  ")),
      row("Stanzas in", per("parley_stanzas_total", ["direction": "in"]), stanzas("in")),
      row("Stanzas out", per("parley_stanzas_total", ["direction": "out"]), stanzas("out")),
      row(
        "Refused", per("parley_refusals_total"),
        numbers.rates("parley_refusals_total", by: "rate").prefix(4)
          .map { "\($0.label) \(StatsText.count($0.rate))/s" }.joined(separator: "  ")),
      "",
    ]
  }

  private var latencies: [String] {
    func latency(_ title: String, _ name: String, _ labels: [String: String] = [:]) -> String {
      let observed = numbers.observed(name, labels)
      func text(_ share: Double) -> String {
        StatsText.duration(observed?.quantile(share)).padded(to: 10, .right)
      }
      let count = observed.map { ProgressBar.grouped($0.count) } ?? "-"
      return title.padded(to: 14) + text(0.5) + text(0.99) + count.padded(to: 10, .right)
    }
    return [
      "Latency".padded(to: 14) + "p50".padded(to: 10, .right) + "p99".padded(to: 10, .right)
        + "count".padded(to: 10, .right),
      latency("  commit", "parley_commit_seconds"),
      latency("  sync", "parley_sync_seconds"),
      latency("  archive", "parley_read_seconds", ["kind": "archive"]),
      latency("  search", "parley_read_seconds", ["kind": "search"]),
      latency("  event loop", "parley_event_loop_lag_seconds"),
      "",
    ]
  }

  private var queues: [String] {
    let age = { (name: String) in StatsText.duration(numbers.value(name)) }
    return [
      row("Queues", "", "inbox \(total("parley_inbox_posts"))"),
      row(
        "  pushes", total("parley_pushes_owed_users"),
        "oldest \(age("parley_pushes_oldest_seconds"))  sent \(per("parley_pushes_total", ["result": "sent"]))"
          + "  failed \(per("parley_pushes_total", ["result": "failed"]))"),
      row(
        "  webhooks", total("parley_webhook_positions_behind"),
        "failing for \(age("parley_webhook_failing_seconds"))"
          + "  sent \(per("parley_webhook_deliveries_total", ["result": "sent"]))"
          + "  failed \(per("parley_webhook_deliveries_total", ["result": "failed"]))"),
    ]
  }

  private var store: [String] {
    [
      row(
        "Log", total("parley_log_position"),
        "\(per("parley_log_position"))  database \(StatsText.bytes(numbers.value("parley_database_bytes")))"
          + "  write-ahead log \(StatsText.bytes(numbers.value("parley_wal_bytes")))"),
      row(
        "Process", StatsText.bytes(numbers.value("process_resident_memory_bytes")),
        "CPU \(StatsText.count(numbers.rate("process_cpu_seconds_total").map { $0 * 100 })) %"
          + "  descriptors \(total("process_open_fds")) of \(total("process_max_fds"))"),
    ]
  }

  private var federation: [String] {
    [
      row(
        "Federation", total("parley_federation_streams"),
        "waiting \(total("parley_federation_outbox_rows"))"
          + "  oldest \(StatsText.duration(numbers.value("parley_federation_outbox_oldest_seconds")))"
          + "  in \(per("parley_federation_stanzas_total", ["direction": "in"]))"
          + "  out \(per("parley_federation_stanzas_total", ["direction": "out"]))")
    ]
  }

  private func total(_ name: String, _ labels: [String: String] = [:]) -> String {
    StatsText.count(numbers.value(name, labels))
  }

  private func per(_ name: String, _ labels: [String: String] = [:]) -> String {
    StatsText.count(numbers.rate(name, labels)) + "/s"
  }

  private func row(_ title: String, _ value: String, _ rest: String) -> String {
    title.padded(to: 14) + value.padded(to: 12, .right) + "  " + rest
  }
}

extension String {
  fileprivate enum Side { case left, right }

  /// Returns the text with spaces behind it, or before it for `right`, so that it has so many characters.
  fileprivate func padded(to width: Int, _ side: Side = .left) -> String {
    let spaces = String(repeating: " ", count: max(0, width - count))
    return side == .left ? self + spaces : spaces + self
  }

  /// Returns as much of the text as so many columns hold, without control characters.
  fileprivate func cut(to width: Int) -> String { String(Line.safe(self).prefix(max(0, width))) }
}
