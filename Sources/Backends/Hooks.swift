import Basics
public import Dialogs
import WebClient

/// The webhooks of the app's backend: their management, for operators and keys.
public struct Hooks: Sendable {
  let parley: Parley
  let rendering: any HookRendering

  public init(_ parley: Parley, rendering: any HookRendering) {
    self.parley = parley
    self.rendering = rendering
  }

  /// Creates a hook for events from now on, and returns its secret this once.
  ///
  /// - Parameter isTrusted: whether the operator set the URL; otherwise it may lead to public addresses only.
  /// - Throws: `.malformed`, also for an address in the URL to which deliveries would be refused; `.tooLarge` at
  ///   `BackendLimits.hooksMax`.
  public func add(
    url: String, events: [String], isTrusted: Bool, in realm: RealmID
  ) async throws(Problem) -> (hook: Hook, secret: String) {
    try Self.check(url: url)
    if !isTrusted { try Self.check(url: url, within: parley.options.addresses) }
    try check(events: events)
    let now = parley.clock.now
    let secret = WebhookSigner.makeKey()
    let hook: Hook = try await change { writer in
      guard try writer.hooks().count(where: { $0.realm == realm }) < BackendLimits.hooksMax else {
        throw Problem(
          .tooLarge, "too-many-webhooks", "There are at most \(BackendLimits.hooksMax) webhooks; remove one first.")
      }
      let hook = Hook(
        id: .random(in: 1 << 32..<1 << 53), realm: realm, url: url, events: events, secret: secret,
        isTrusted: isTrusted, createdAt: now,
        progress: Hook.Progress(position: try writer.head().position, outboxEvent: try writer.lastOutboxEvent()))
      try writer.put(keepingProgress: hook)
      return hook
    }
    return (hook, WebhookSigner.secret(secret))
  }

  /// Changes a hook; `nil` leaves a field unchanged. With `isActive` it continues at its position, at once.
  public func update(
    _ id: Int64, in realm: RealmID, url: String? = nil, events: [String]? = nil, isActive: Bool? = nil
  ) async throws(Problem) -> Hook {
    if let url { try Self.check(url: url) }
    if let events { try check(events: events) }
    let addresses = parley.options.addresses
    return try await change { writer in
      var hook = try Self.hook(id, in: realm, writer)
      if let url {
        if !hook.isTrusted { try Self.check(url: url, within: addresses) }
        hook.url = url
      }
      if let events { hook.events = events }
      try writer.put(keepingProgress: hook)
      if let isActive {
        hook.progress = Hook.Progress(position: hook.progress.position, outboxEvent: hook.progress.outboxEvent)
        if !isActive { hook.progress.state = .disabled }
        try writer.setProgress(hook.progress, of: id)
      }
      return hook
    }
  }

  /// Replaces the secret, and returns it this once. The previous one also signs for `BackendLimits.hookSecretOverlap`.
  public func rotateSecret(_ id: Int64, in realm: RealmID) async throws(Problem) -> (hook: Hook, secret: String) {
    let secret = WebhookSigner.makeKey()
    let until = parley.clock.now + BackendLimits.hookSecretOverlap
    let hook: Hook = try await change { writer in
      var hook = try Self.hook(id, in: realm, writer)
      (hook.previousSecret, hook.previousUntil) = (hook.secret, until)
      hook.secret = secret
      try writer.put(keepingProgress: hook)
      return hook
    }
    return (hook, WebhookSigner.secret(secret))
  }

  public func remove(_ id: Int64, in realm: RealmID) async throws(Problem) {
    try await change { writer in
      _ = try Self.hook(id, in: realm, writer)
      try writer.removeHook(id)
    }
  }

  /// Returns the realm's hooks by id, each with its number of failures.
  public func all(in realm: RealmID) async throws(Problem) -> [(hook: Hook, failures: Int)] {
    try await parley.read { reader in
      try reader.hooks().filter { $0.realm == realm }.map { ($0, try reader.hookFailureCount(of: $0.id)) }
    }
  }

  public func find(_ id: Int64, in realm: RealmID) async throws(Problem) -> (hook: Hook, failures: Int) {
    try await parley.read { (try Self.hook(id, in: realm, $0), try $0.hookFailureCount(of: id)) }
  }

  public func failures(
    of id: Int64, in realm: RealmID, after: Int64, limit: Int
  ) async throws(Problem) -> [HookFailure] {
    try await parley.read { reader in
      _ = try Self.hook(id, in: realm, reader)
      return try reader.hookFailures(of: id, after: after, limit: limit)
    }
  }

  /// Sends failures, or all of them, once more. Returns their number.
  public func redriveFailures(_ ids: [Int64]?, of id: Int64, in realm: RealmID) async throws(Problem) -> Int {
    try await change { writer in
      _ = try Self.hook(id, in: realm, writer)
      return try writer.setHookFailuresDue(ids, of: id)
    }
  }

  /// Removes failures, or all of them. Returns their number.
  public func removeFailures(_ ids: [Int64]?, of id: Int64, in realm: RealmID) async throws(Problem) -> Int {
    try await change { writer in
      _ = try Self.hook(id, in: realm, writer)
      return try writer.removeHookFailures(ids, of: id)
    }
  }

  /// Sends `webhook.test` now, independently of other events. If it is taken, those that wait for the next attempt are sent at
  /// once as well.
  public func test(_ id: Int64, in realm: RealmID, by route: any HookRoute) async throws(Problem) -> HookOutcome {
    let hook = try await parley.read { try Self.hook(id, in: realm, $0) }
    let event = HookEvent(
      id: "evt_\(PublicID(bytes: WebhookSigner.makeKey()))", name: "webhook.test", body: rendering.test(),
      position: .zero, outboxEvent: 0, lane: 0)
    let outcome = await route.deliver(HookDelivery(event, to: hook, now: parley.clock.now))
    guard outcome == .taken else { return outcome }
    try await change { writer in
      guard var progress = try writer.hook(id)?.progress, progress.next != nil else { return }
      progress.next = nil
      try writer.setProgress(progress, of: id)
    }
    return outcome
  }

  /// Returns the numbers of hooks, of disabled ones, of those whose last attempt failed, and of failures, and how far the last hook is
  /// behind.
  public func counts() async throws(Problem) -> (
    hooks: Int, disabled: Int, failing: Int, failures: Int, behind: Int64
  ) {
    try await parley.read { reader in
      let hooks = try reader.hooks()
      let head = try reader.head().position.number
      let active = hooks.filter { $0.progress.state == .active }
      let failing = active.filter { $0.progress.failures > 0 }
      return (
        hooks.count, hooks.count - active.count, failing.count,
        try hooks.reduce(0) { $0 + (try reader.hookFailureCount(of: $1.id)) },
        // Progress without events is stored only now and then.
        failing.map { head - $0.progress.position.number }.max() ?? 0
      )
    }
  }

  private func change<Value: Sendable>(
    _ body: @escaping @Sendable (any StoreWriter) throws -> Value
  ) async throws(Problem) -> Value {
    let (value, all) = try await parley.work(keepingCaches: true) { writer in (try body(writer), try writer.hooks()) }
    parley.registries.hooks.set(all)
    return value
  }

  private static func hook(_ id: Int64, in realm: RealmID, _ reader: any StoreReader) throws -> Hook {
    guard let hook = try reader.hook(id), hook.realm == realm else {
      throw Problem(.missing, "webhook-unknown", "There is no such webhook.", field: "id")
    }
    return hook
  }

  private static func check(url: String) throws(Problem) {
    let rest = url.hasPrefix("https://") ? url.dropFirst(8) : url.hasPrefix("http://") ? url.dropFirst(7) : ""
    let isPlain = url.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    guard let first = rest.first, first != "/", isPlain, url.utf8.count <= BackendLimits.hookURLBytesMax else {
      throw Problem(
        .malformed, "url-malformed",
        "url is an http or https URL of at most \(BackendLimits.hookURLBytesMax) bytes.", field: "url")
    }
    // A user name would be shown to everyone who lists webhooks.
    guard !rest.prefix(while: { $0 != "/" && $0 != "?" }).contains("@") else {
      throw Problem(.malformed, "url-malformed", "url has no user name in it.", field: "url")
    }
  }

  /// Refuses a URL whose address deliveries would refuse.
  private static func check(url: String, within addresses: PublicAddresses) throws(Problem) {
    guard addresses.allows(url: url) else {
      throw Problem(
        .malformed, "url-not-public",
        "The URL leads to an address that is not public. The operator can allow its network (outgoing.networks).",
        field: "url")
    }
  }

  private func check(events: [String]) throws(Problem) {
    let all = rendering.events + OutboxEvent.Kind.allCases.map(\.event)
    guard (1...BackendLimits.hookEventsMax).contains(events.count) else {
      throw Problem(
        .malformed, "events-malformed", "events has 1 to \(BackendLimits.hookEventsMax) names.", field: "events")
    }
    for event in events where !all.contains(where: { Hook.covers(event, $0) }) {
      throw Problem(
        .malformed, "event-unknown",
        "There is no event \(String(event.prefix(64)).debugDescription). Events are \(all.sorted().joined(separator: ", ")); "
          + "message.* is all of one kind, * is all.", field: "events")
    }
  }
}
