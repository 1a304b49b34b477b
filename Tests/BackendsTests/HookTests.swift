import Accounts
import Basics
import Dialogs
import DialogsFixtures
import Logging
import Synchronization
import Testing

@testable import Backends

/// The state of a hook after attempts. It loses no event, repeats none under another id, and delays nothing else.
@Suite struct HookTests {
  // MARK: The machine

  private let start = Timestamp(milliseconds: 1_000_000)

  @Test func waitsDoubleUpToTheBoundAndEndWithSuccess() {
    var progress = Hook.Progress(position: Position(3), outboxEvent: 0)
    var waits: [Int64] = []
    for _ in 0..<11 {
      let isOver = progress.refused(Hook.Progress.Refusal("no"), now: start, jitter: 0)
      #expect(!isOver)
      waits.append(((progress.next?.milliseconds ?? 0) - start.milliseconds) / 1_000)
    }
    #expect(waits == [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600])
    // The twelfth attempt is the event's last; the hook's waits go on.
    let isOver = progress.refused(Hook.Progress.Refusal("no"), now: start, jitter: 0)
    #expect(isOver && progress.attempts == 0 && progress.failures == 12)
    #expect(progress.next == start + BackendLimits.hookRetryMax && progress.failingSince == start)
    progress.took(upTo: Position(4), outboxEvent: 1)
    #expect(progress == Hook.Progress(position: Position(4), outboxEvent: 1))
  }

  @Test func aRequestedWaitCountsUpToTheBound() {
    var progress = Hook.Progress(position: .zero, outboxEvent: 0)
    _ = progress.refused(Hook.Progress.Refusal("busy", retryAfter: 60), now: start, jitter: 0)
    #expect(progress.next == start + .seconds(60))
    _ = progress.refused(Hook.Progress.Refusal("busy", retryAfter: 1_000_000), now: start, jitter: 0)
    #expect(progress.next == start + BackendLimits.hookRetryMax)
  }

  @Test(arguments: [true, false]) func aHookThatIsGoneOrAcceptsNothingForDaysIsDisabled(isGone: Bool) {
    var progress = Hook.Progress(position: Position(7), outboxEvent: 0)
    if !isGone { _ = progress.refused(Hook.Progress.Refusal("no"), now: start, jitter: 0) }
    let now = isGone ? start : start + BackendLimits.hookPatience
    let isOver = progress.refused(Hook.Progress.Refusal("no", isGone: isGone), now: now, jitter: 0)
    #expect(!isOver && progress.state == .disabled && progress.next == nil && progress.position == Position(7))
  }

  @Test(arguments: [
    ("*", "message.created", true), ("message.*", "message.created", true), ("message.*", "messages.created", false),
    ("message.created", "message.created", true), ("message.created", "message.deleted", false),
    ("message", "message.created", false),
  ])
  func patterns(pattern: String, event: String, covers: Bool) { #expect(Hook.covers(pattern, event) == covers) }

  // MARK: The follower

  /// Renders the text of an event and its author.
  private struct Words: HookRendering {
    let events = ["message.created"]
    func event(
      _ entry: Entry, in realm: RealmID, _ reader: any StoreReader
    ) throws -> (name: String, body: [UInt8])? {
      guard case .message(let message) = entry.fact else { return nil }
      return ("message.created", Array(message.content.text.utf8))
    }
    func event(_ outboxEvent: OutboxEvent, _ reader: any StoreReader) throws -> (name: String, body: [UInt8])? {
      (outboxEvent.kind.event, Array("user \(outboxEvent.user.number)".utf8))
    }
    func question(_ question: BeforeSendQuestion) -> [UInt8] { [] }
    func test() -> [UInt8] { [] }
  }

  /// A backend: what it has got, and what it refuses.
  private final class Backend: HookRoute {
    struct Got: Sendable, Hashable {
      let id: String
      let body: String
    }
    private struct State {
      var got: [Got] = []
      var refused: [Got] = []
      /// Whether the backend refuses an event, by its content and the number of earlier refusals.
      var refuses: @Sendable (String, Int) -> Bool = { _, _ in false }
      var waiting: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())

    func refuse(_ body: @escaping @Sendable (String, Int) -> Bool) { state.withLock { $0.refuses = body } }
    var got: [Got] { state.withLock { $0.got } }
    var refused: [Got] { state.withLock { $0.refused } }

    /// Returns once so many requests have come in all.
    func attempts(_ count: Int) async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.got.count + state.refused.count >= count { return true }
          state.waiting.append((count, continuation))
          return false
        }
        if isThere { continuation.resume() }
      }
    }

    func deliver(_ delivery: HookDelivery) async -> HookOutcome {
      let id = delivery.headers.first { $0.name == "webhook-id" }?.value ?? ""
      let got = Got(id: id, body: String(decoding: delivery.body, as: UTF8.self))
      let (isRefused, woken) = state.withLock { state in
        let isRefused = state.refuses(got.body, state.refused.count)
        if isRefused { state.refused.append(got) } else { state.got.append(got) }
        let count = state.got.count + state.refused.count
        let woken = state.waiting.filter { $0.count <= count }
        state.waiting.removeAll { $0.count <= count }
        return (isRefused, woken)
      }
      for (_, continuation) in woken { continuation.resume() }
      return isRefused ? .refused(Hook.Progress.Refusal("no")) : .taken
    }
  }

  /// A stage whose hooks are followed while `body` runs. A wait moves the clock on and is over.
  private func following(
    _ stage: Stage, _ backends: Backend, logger: Logger = Logger(label: "hooks"), _ body: () async throws -> Void
  ) async throws {
    let clock = stage.clock
    let runner = HookRunner(
      hooks(stage), route: backends, logger: logger,
      pause: { wait in
        clock.set((clock.now + wait).milliseconds + 1)
        await Task.yield()
      })
    let task = Task { await runner.run() }
    defer { task.cancel() }
    try await body()
  }

  private func hooks(_ stage: Stage) -> Hooks { Hooks(stage.parley, rendering: Words()) }

  private func add(_ stage: Stage, _ events: [String] = ["*"]) async throws -> Hook {
    try await hooks(stage).add(
      url: "https://backend.example/hook", events: events, isTrusted: true, in: stage.parley.realms[0].id
    ).hook
  }

  @Test func messagesAreToldInTheOrderOfEachDialog() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    _ = try await stage.say("before", from: romeo, to: juliet)
    _ = try await add(stage)
    let backend = Backend()
    try await following(stage, backend) {
      for number in 0..<100 { _ = try await stage.say("a\(number)", from: romeo, to: number % 2 == 0 ? juliet : nurse) }
      await backend.attempts(100)
    }
    let bodies = backend.got.map(\.body)
    #expect(Set(bodies).count == 100 && !bodies.contains("before"))
    for remainder in [0, 1] {
      let numbers = bodies.compactMap { Int($0.dropFirst()) }.filter { $0 % 2 == remainder }
      #expect(numbers == numbers.sorted())
    }
  }

  /// The events of a dialog that are left out are sent behind those of others, all of them, once and in order.
  @Test func aDialogWithManyEventsDelaysNoOther() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let hook = try await add(stage)
    for number in 0..<200 { _ = try await stage.say("a\(number)", from: romeo, to: juliet) }
    _ = try await stage.say("other", from: romeo, to: nurse)
    let backend = Backend()
    try await following(stage, backend) {
      await backend.attempts(201)
      // What comes while the dialog is behind, or later, is sent behind that.
      for number in 200..<220 { _ = try await stage.say("a\(number)", from: romeo, to: juliet) }
      await backend.attempts(221)
      while try await !stage.parley.read({ try $0.hookLanes(of: hook.id) }).isEmpty { await Task.yield() }
    }
    let bodies = backend.got.map(\.body)
    #expect(try #require(bodies.firstIndex(of: "other")) <= BackendLimits.hookDialogPage)
    #expect(bodies.filter { $0 != "other" } == (0..<220).map { "a\($0)" })
  }

  /// Its progress is stored, and so is that of a dialog behind it: neither loses or repeats what was delivered.
  @Test func aRestartGoesOnWithADialogThatIsBehind() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let hook = try await add(stage)
    for number in 0..<100 {
      _ = try await stage.say("a\(number)", from: romeo, to: juliet)
      if number % 20 == 0 { _ = try await stage.say("b\(number)", from: romeo, to: nurse) }
    }
    let backend = Backend()
    backend.refuse { body, _ in body == "a30" }
    func follow() async {
      let follower = HookFollower(
        hook.id, hooks(stage), backend, logger: Logger(label: "hooks"), pause: { _ in }, wake: {})
      await follower.goOn()
    }
    await follow()
    #expect(backend.refused.count == 1 && backend.got.count == 35)
    #expect(backend.got.filter { $0.body.hasPrefix("b") }.map(\.body) == ["b0", "b20", "b40", "b60", "b80"])
    #expect(try await stage.parley.read { try $0.hookLanes(of: hook.id) }.count == 1)
    // As often as an event is tried: it is a failure, and the dialog goes on behind it.
    for _ in 1..<BackendLimits.hookAttemptsMax {
      stage.clock.set((stage.clock.now + BackendLimits.hookRetryMax * 2).milliseconds)
      await follow()
    }
    #expect(backend.refused.count == BackendLimits.hookAttemptsMax && backend.got.count == 35)
    stage.clock.set((stage.clock.now + BackendLimits.hookRetryMax * 2).milliseconds)
    await follow()
    #expect(backend.got.count == 104 && Set(backend.got).count == 104)
    let bodies = backend.got.map(\.body).filter { $0.hasPrefix("a") }
    #expect(bodies == (0..<100).filter { $0 != 30 }.map { "a\($0)" })
    #expect(try await stage.parley.read { try $0.hookLanes(of: hook.id) }.isEmpty)
    #expect(try await hooks(stage).all(in: hook.realm).map(\.failures) == [1])
  }

  /// A dialog that the page leaves behind has its position as soon as the hook's progress is behind its entries.
  @Test func aRefusedEventLosesNoneThatItsPageHasLeftOut() async throws {
    let stage = try Stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let hook = try await add(stage)
    for number in 0..<20 {
      _ = try await stage.say("a\(number)", from: romeo, to: juliet)
      if number == 11 { _ = try await stage.say("b", from: romeo, to: nurse) }
    }
    let backend = Backend()
    backend.refuse { body, count in body == "b" && count < 2 }
    let follower = HookFollower(
      hook.id, hooks(stage), backend, logger: Logger(label: "hooks"), pause: { _ in }, wake: {})
    for _ in 0..<3 {
      await follower.goOn()
      stage.clock.set((stage.clock.now + BackendLimits.hookRetryMax * 2).milliseconds)
    }
    let bodies = backend.got.map(\.body)
    #expect(bodies.filter { $0 != "b" } == (0..<20).map { "a\($0)" } && bodies.count == 21)
    #expect(try await stage.parley.read { try $0.hookLanes(of: hook.id) }.isEmpty)
  }

  /// A backend during whose request the hook is disabled.
  private struct Disabling: HookRoute {
    let hooks: Hooks
    let hook: Hook
    func deliver(_ delivery: HookDelivery) async -> HookOutcome {
      _ = try? await hooks.update(hook.id, in: hook.realm, isActive: false)
      return .taken
    }
  }

  @Test func aHookThatIsDisabledDuringARequestStaysDisabled() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let hook = try await add(stage)
    _ = try await stage.say("one", from: romeo, to: juliet)
    let follower = HookFollower(
      hook.id, hooks(stage), Disabling(hooks: hooks(stage), hook: hook), logger: Logger(label: "hooks"),
      pause: { _ in }, wake: {})
    await follower.goOn()
    let progress = try await hooks(stage).find(hook.id, in: hook.realm).hook.progress
    #expect(progress.state == .disabled && progress.position > hook.progress.position)
  }

  @Test func aHookThatIsDownGetsAllOfItLaterUnderTheSameIds() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    _ = try await add(stage)
    let backend = Backend()
    backend.refuse { _, refused in refused < 4 }
    try await following(stage, backend) {
      for text in ["1", "2", "3"] { _ = try await stage.say(text, from: romeo, to: juliet) }
      await backend.attempts(7)
      // Behind this, what was taken before is noted.
      _ = try await stage.say("4", from: romeo, to: juliet)
      await backend.attempts(8)
    }
    #expect(backend.got.map(\.body) == ["1", "2", "3", "4"])
    #expect(Set(backend.refused.map(\.body)) == ["1"])
    #expect(Set(backend.refused.map(\.id)) == [backend.got[0].id])
    #expect(try await hooks(stage).all(in: stage.parley.realms[0].id).map(\.failures) == [0])
  }

  @Test func aTestThatIsTakenEndsTheWaitForTheNextAttempt() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (hooks, realm) = (hooks(stage), stage.parley.realms[0].id)
    let hook = try await add(stage)
    let backend = Backend()
    backend.refuse { _, _ in true }
    // The clock stands, so that no wait ends by itself.
    let runner = HookRunner(hooks, route: backend, logger: Logger(label: "hooks"))
    let task = Task { await runner.run() }
    defer { task.cancel() }
    _ = try await stage.say("one", from: romeo, to: juliet)
    while try await hooks.find(hook.id, in: realm).hook.progress.next == nil { await Task.yield() }
    #expect(try await hooks.test(hook.id, in: realm, by: backend) != .taken)
    #expect(try await hooks.find(hook.id, in: realm).hook.progress.next != nil)
    backend.refuse { _, _ in false }
    #expect(try await hooks.test(hook.id, in: realm, by: backend) == .taken)
    // Two were refused: the event, and a test.
    await backend.attempts(4)
    #expect(backend.got.map(\.body) == ["", "one"])
  }

  @Test func theFirstFailureIsLoggedAndAHookThatFailsNowAndThenDoesNotFillTheLog() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    _ = try await add(stage)
    let (backend, lines) = (Backend(), LogLines())
    // Each is refused once.
    backend.refuse { body, refused in Int(body) == refused + 1 }
    try await following(stage, backend, logger: lines.logger) {
      for number in 1...5 {
        _ = try await stage.say("\(number)", from: romeo, to: juliet)
        await backend.attempts(2 * number)
      }
    }
    #expect(backend.got.map(\.body) == ["1", "2", "3", "4", "5"])
    #expect(
      lines.all == [
        "warning | a webhook has not taken an event, which is sent again | no", "notice | a webhook takes events again",
      ])
  }

  @Test func anEventThatIsNeverAcceptedIsAFailureAndIsSentAgainWhenAsked() async throws {
    let stage = try Stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let realm = stage.parley.realms[0].id
    let hook = try await add(stage)
    let backend = Backend()
    backend.refuse { body, _ in body == "bad" }
    try await following(stage, backend) {
      _ = try await stage.say("bad", from: romeo, to: juliet)
      _ = try await stage.say("good", from: romeo, to: juliet)
      await backend.attempts(BackendLimits.hookAttemptsMax + 1)
      let failures = try await hooks(stage).failures(of: hook.id, in: realm, after: 0, limit: 10)
      #expect(failures.map(\.event) == ["message.created"] && failures.first?.reason == "no")
      #expect(backend.got.map(\.body) == ["good"])
      backend.refuse { _, _ in false }
      #expect(try await hooks(stage).redriveFailures(nil, of: hook.id, in: realm) == 1)
      await backend.attempts(BackendLimits.hookAttemptsMax + 2)
      // Behind this it is forgotten.
      _ = try await stage.say("more", from: romeo, to: juliet)
      await backend.attempts(BackendLimits.hookAttemptsMax + 3)
    }
    #expect(backend.got.map(\.body) == ["good", "bad", "more"])
    #expect(Set(backend.refused.map(\.id)) == [backend.got[1].id])
    #expect(try await hooks(stage).failures(of: hook.id, in: realm, after: 0, limit: 10).isEmpty)
  }

  @Test func usersWhoComeAndGoAreTold() async throws {
    let stage = try Stage()
    let realm = stage.parley.realms[0]
    _ = try await add(stage, ["user.*"])
    let backend = Backend()
    try await following(stage, backend) {
      let user = try await stage.accounts.provision(Accounts.Provision(name: "tybalt"), in: realm)
      await backend.attempts(1)
      try await stage.accounts.setState(of: user.id, .deleted)
      await backend.attempts(2)
      #expect(backend.got.map(\.body) == ["user \(user.id.number)", "user \(user.id.number)"])
    }
    #expect(Set(backend.got.map(\.id)).count == 2)
  }

  @Test func hooksAreTheirRealmsAlone() async throws {
    let stage = try Stage()
    let (hooks, realm) = (hooks(stage), stage.parley.realms[0].id)
    let hook = try await add(stage)
    let other = RealmID(77)
    let attempts: [@Sendable () async throws -> Void] = [
      { _ = try await hooks.find(hook.id, in: other) },
      { try await hooks.remove(hook.id, in: other) },
      { _ = try await hooks.rotateSecret(hook.id, in: other) },
      { _ = try await hooks.failures(of: hook.id, in: other, after: 0, limit: 1) },
    ]
    for attempt in attempts {
      await #expect { try await attempt() } throws: { ($0 as? Problem)?.code == "webhook-unknown" }
    }
    for (url, events, code) in [
      ("ftp://a.example", ["*"], "url-malformed"), ("https://u:p@a.example/", ["*"], "url-malformed"),
      ("https:///x", ["*"], "url-malformed"), ("https://a.example/a b", ["*"], "url-malformed"),
      ("http://127.0.0.1:9000/hook", ["*"], "url-not-public"), ("https://[::1]/", ["*"], "url-not-public"),
      ("https://a.example", [], "events-malformed"), ("https://a.example", ["nonsense"], "event-unknown"),
    ] {
      await #expect {
        _ = try await hooks.add(url: url, events: events, isTrusted: false, in: realm)
      } throws: { ($0 as? Problem)?.code == code }
    }
    // The operator's may lead anywhere, and one that a key has made stays at public addresses.
    for isTrusted in [true, false] {
      let made = try await hooks.add(url: "https://a.example", events: ["*"], isTrusted: isTrusted, in: realm).hook
      let update = { @Sendable in try await hooks.update(made.id, in: realm, url: "http://10.0.0.1/").url }
      if isTrusted {
        #expect(try await update() == "http://10.0.0.1/")
      } else {
        await #expect { _ = try await update() } throws: { ($0 as? Problem)?.field == "url" }
      }
      try await hooks.remove(made.id, in: realm)
    }
    for _ in 1..<BackendLimits.hooksMax { _ = try await add(stage) }
    await #expect { _ = try await add(stage) } throws: { ($0 as? Problem)?.code == "too-many-webhooks" }
  }

  @Test func aSecretThatWasReplacedSignsForADay() async throws {
    let stage = try Stage()
    let hook = try await add(stage)
    let (now, _) = try await hooks(stage).rotateSecret(hook.id, in: hook.realm)
    #expect(now.secrets(at: stage.clock.now) == [now.secret, hook.secret] && now.secret != hook.secret)
    #expect(now.secrets(at: stage.clock.now + BackendLimits.hookSecretOverlap) == [now.secret])
  }
}
