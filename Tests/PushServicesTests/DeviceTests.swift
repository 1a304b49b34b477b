import Addresses
import Basics
import Crypto
import DialogsFixtures
import Synchronization
import Testing

@testable import Accounts
@testable import Dialogs
@testable import PushServices

/// Devices of apps: valid registrations, their owner and lifetime, and their notifications.
@Suite struct DeviceTests {
  private static let policy = PushPolicy(
    providers: Set(PushDevice.Provider.allCases), topics: ["org.example.chat", "b"])
  private static let point = Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)

  private static func device(_ id: String, _ change: (inout PushDevice) -> Void = { _ in }) -> PushDevice {
    var device = PushDevice(id: id, provider: .fcm, token: "token-\(id)", registeredAt: Timestamp(milliseconds: 0))
    change(&device)
    return device
  }

  private func stage() throws -> Stage { try Stage(pushes: Self.policy) }

  private func logIn(_ user: Party, _ device: String, _ stage: Stage) async throws -> Accounts.Caller {
    let row = try #require(try await stage.parley.read { try $0.user(user.id) })
    let login = try await stage.accounts.logIn(row, device: device, client: nil)
    return try await stage.accounts.caller(accessToken: login.accessToken)
  }

  private func owed(_ user: Party, _ stage: Stage) async throws -> [OwedPush] {
    try await stage.parley.read { try $0.pushesOwed(to: user.id, limit: 1_000) }
  }

  // MARK: Accepted registrations

  struct Wrong: Sendable, CustomStringConvertible {
    let description: String
    let field: String
    let device: PushDevice
    init(_ name: String, _ field: String, _ change: (inout PushDevice) -> Void) {
      (description, self.field, device) = (name, field, DeviceTests.device("a", change))
    }
  }

  private static func subscription(_ endpoint: String, _ keys: PushDevice.Keys?) -> (inout PushDevice) -> Void {
    {
      $0.provider = .webpush
      $0.token = endpoint
      $0.keys = keys
    }
  }
  private static let keys = PushDevice.Keys(agreement: point, secret: [UInt8](repeating: 7, count: 16))

  @Test(arguments: [
    Wrong("no token", "push.token") { $0.token = "" },
    Wrong("a token with a line break", "push.token") { $0.token = "a\r\nb" },
    Wrong("a token that is too long", "push.token") {
      $0.token = String(repeating: "a", count: Limits.pushTokenBytesMax + 1)
    },
    Wrong("a path as a token of Apple's", "push.token") {
      $0.provider = .apns
      $0.token = "../../3/device"
    },
    Wrong("another app", "push.appId") {
      $0.provider = .apns
      $0.token = "ab"
      $0.appID = "org.example.other"
    },
    Wrong("keys beside a token", "push.subscription") { $0.keys = keys },
    Wrong("a platform of two words", "platform") { $0.platform = "i os" },
    Wrong("a locale that is too long", "locale") { $0.locale = String(repeating: "a", count: 201) },
    Wrong("no keys", "push.subscription.keys", subscription("https://push.example.org/a", nil)),
    Wrong(
      "a point that is on no curve", "push.subscription.keys",
      subscription(
        "https://push.example.org/a",
        PushDevice.Keys(agreement: [4] + [UInt8](repeating: 1, count: 64), secret: keys.secret))),
    Wrong(
      "a short secret", "push.subscription.keys",
      subscription("https://push.example.org/a", PushDevice.Keys(agreement: point, secret: [1]))),
    Wrong("no TLS", "push.subscription.endpoint", subscription("http://push.example.org/a", keys)),
    Wrong("a file", "push.subscription.endpoint", subscription("file:///etc/passwd", keys)),
    Wrong("a user in the URL", "push.subscription.endpoint", subscription("https://a@push.example.org/", keys)),
    Wrong("no host", "push.subscription.endpoint", subscription("https:///a", keys)),
  ])
  func aTargetThatCannotBeWokenIsNoDevice(wrong: Wrong) {
    do {
      _ = try Self.policy.checked(wrong.device)
      Issue.record("it is taken")
    } catch {
      #expect(error.field == wrong.field && error.kind == .malformed)
    }
  }

  @Test func anUnservedPlatformIsRefused() {
    for provider in PushDevice.Provider.allCases {
      #expect(throws: Problem.self) { try PushPolicy.none.checked(Self.device("a") { $0.provider = provider }) }
    }
    #expect(throws: Problem.self) { try Self.policy.checked(Self.device("a b")) }
  }

  @Test func theFirstAppIsMeantWhereNoneIsNamed() throws {
    let device = try Self.policy.checked(
      Self.device("a") {
        $0.provider = .apns
        $0.token = "AB12"
      })
    #expect(device.appID == "org.example.chat" && device.token == "ab12")
  }

  // MARK: Owners of devices

  @Test func aDeviceIsReplacedByItsIdAndByItsAddress() async throws {
    let stage = try stage()
    let juliet = try await stage.user("juliet")
    let caller = try await logIn(juliet, "phone", stage)
    #expect(try await stage.register(Self.device("a"), by: caller).isNew)
    #expect(try await !stage.register(Self.device("a") { $0.locale = "fr" }, by: caller).isNew)
    // The app was installed anew and has forgotten how it called itself.
    #expect(try await stage.register(Self.device("b") { $0.token = "token-a" }, by: caller).isNew)
    #expect(try await Devices(stage.parley).all(of: juliet.id).map(\.device.id) == ["b"])
    // Another account on the same phone.
    let nurse = try await stage.user("nurse")
    let other = try await logIn(nurse, "phone", stage)
    #expect(try await stage.register(Self.device("b") { $0.token = "token-a" }, by: other).isNew)
    #expect(try await Devices(stage.parley).all(of: juliet.id).count == 1)
    try await Devices(stage.parley).unregister("b", of: juliet)
    #expect(!stage.parley.registries.pushes.has(juliet.id) && stage.parley.registries.pushes.has(nurse.id))
    await #expect(throws: Problem.self) { try await Devices(stage.parley).unregister("b", of: juliet) }
  }

  @Test func theOldestOfTooManyDevicesGoes() async throws {
    let stage = try stage()
    let juliet = try await stage.user("juliet")
    let caller = try await logIn(juliet, "phone", stage)
    for number in 0...Limits.pushRegistrationsMax {
      _ = try await stage.register(Self.device("d\(number)"), by: caller)
    }
    let ids = try await Devices(stage.parley).all(of: juliet.id).map(\.device.id)
    #expect(ids.count == Limits.pushRegistrationsMax && !ids.contains("d0"))
  }

  @Test func aDeviceEndsWithItsLogin() async throws {
    let stage = try stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let (phone, tablet) = (try await logIn(juliet, "phone", stage), try await logIn(juliet, "tablet", stage))
    _ = try await stage.register(Self.device("a"), by: phone)
    _ = try await stage.register(Self.device("b"), by: tablet)
    try await stage.accounts.logOut(grant: phone.grant, of: juliet.id)
    #expect(try await Devices(stage.parley).all(of: juliet.id).map(\.device.id) == ["b"])
    // The request was on its way.
    await #expect(throws: Problem.self) { try await stage.register(Self.device("a"), by: phone) }
    try await stage.accounts.logOut(grant: tablet.grant, of: juliet.id)
    // The publisher finds no device, and the pending push is removed.
    _ = try await stage.say("one", from: romeo, to: juliet)
    #expect(try await owed(juliet, stage).count == 1)
    let pusher = Pusher(parley: stage.parley, route: PushTests.Service([.taken]), pause: { _ in })
    let running = Task { await pusher.run() }
    while stage.parley.registries.pushes.has(juliet.id) { await Task.yield() }
    #expect(try await owed(juliet, stage) == [])
    running.cancel()
    await running.value
  }

  // MARK: Pushes to devices

  @Test func someMutedMessagesAreToldSilently() async throws {
    let stage = try stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let room = try await stage.room(by: romeo, with: [(juliet, .member), (nurse, .member)])
    for (user, isSilent) in [(juliet, true), (nurse, false)] {
      let caller = try await logIn(user, "phone", stage)
      _ = try await stage.register(Self.device("a") { $0.hearsSilently = isSilent }, by: caller)
      try await stage.parley.post(.settings(room.dialog, DialogSettingsDraft(alerts: .never)), by: user)
    }
    _ = try await stage.say("one", in: room, by: romeo)
    #expect(try await owed(juliet, stage).map(\.kind) == [.silent])
    #expect(try await owed(nurse, stage) == [])
    try await stage.parley.post(
      .room(.members(.dialog(room.dialog), [MemberDraft(address: juliet.address, affiliation: Affiliation.none)])),
      by: romeo)
    _ = try await stage.say("two", in: room, by: romeo)
    #expect(try await owed(juliet, stage).count == 1)
  }

  /// The events of which each device is notified, and how.
  private func told(
    _ kind: OwedPush.Kind, isCall: Bool = false, _ device: PushDevice?, rings: Set<Int64?> = [],
    isAttended: Bool = false
  ) throws -> Bool {
    let target = try device.map { PushTarget.device($0) } ?? .service(JID("push.localhost"), node: "", options: nil)
    let registration = PushRegistration(
      user: UserID(1), target: target, resource: "r", grant: 1, pushed: .zero, enabled: .zero)
    return Pushes.isFor(registration, kind, isCall: isCall, rings: rings, isAttended: isAttended)
  }

  @Test func whichDeviceIsToldOfWhat() throws {
    let alert = Self.device("a")
    let silent = Self.device("a") { $0.hearsSilently = true }
    let voip = Self.device("a") { $0.kind = .voip }
    // Messages.
    #expect(try told(.alert, nil) && told(.alert, alert) && !told(.alert, voip))
    #expect(try !told(.alert, nil, isAttended: true) && !told(.alert, alert, isAttended: true))
    #expect(try !told(.silent, nil) && !told(.silent, alert) && told(.silent, silent) && !told(.silent, voip))
    // Calls: an address for them is enough for its login, and rings whoever looks elsewhere.
    #expect(try told(.alert, isCall: true, nil) && told(.alert, isCall: true, alert))
    #expect(try told(.alert, isCall: true, voip) && told(.alert, isCall: true, voip, isAttended: true))
    #expect(try !told(.alert, isCall: true, alert, rings: [1]) && told(.alert, isCall: true, alert, rings: [2]))
    #expect(try !told(.alert, isCall: true, alert, isAttended: true))
    #expect(try told(.callEnd, isCall: true, voip, isAttended: true) && !told(.callEnd, isCall: true, nil))
    #expect(try !told(.callEnd, isCall: true, alert, rings: [1]))
  }

  @Test func anAppInTheBackgroundIsNotThere() async throws {
    let stage = try stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let caller = try await logIn(juliet, "phone", stage)
    _ = try await stage.register(Self.device("a"), by: caller)
    let session = try await stage.session(juliet, "app-phone", door: .app)
    _ = try await stage.say("seen", from: romeo, to: juliet)
    stage.parley.hub.setPresence(
      Presence(from: juliet, resource: "app-phone", availability: .away, time: stage.clock.now), of: session)
    let unseen = try await stage.say("unseen", from: romeo, to: juliet).position
    #expect(try await owed(juliet, stage).map(\.position) == [unseen])
  }

  /// Tells what notices it got.
  final class Phone: PushRoute {
    let got: AsyncStream<[PushNotice]>
    private let tell: AsyncStream<[PushNotice]>.Continuation
    private let outcomes: Mutex<[PushOutcome]>

    init(_ outcomes: [PushOutcome] = [.taken]) {
      self.outcomes = Mutex(outcomes)
      (got, tell) = AsyncStream.makeStream()
    }

    func publish(_ summary: PushSummary, to registration: PushRegistration, of user: Party) async -> PushOutcome {
      tell.yield(summary.notices)
      return outcomes.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }
  }

  /// Push services that users have given, and one of the operator's: which were asked. The first outcome is that of the first request.
  private final class Endpoints: PushRoute {
    private let state: Mutex<(asked: [String], outcomes: [PushOutcome])>
    init(_ outcomes: [PushOutcome] = [.taken]) { state = Mutex((asked: [], outcomes: outcomes)) }
    var asked: [String] { state.withLock { $0.asked } }

    func publish(_ summary: PushSummary, to registration: PushRegistration, of user: Party) async -> PushOutcome {
      state.withLock { state in
        state.asked.append(registration.target.device?.token ?? "")
        return state.outcomes.count > 1 ? state.outcomes.removeFirst() : state.outcomes[0]
      }
    }
  }

  private func pushedCount(_ user: Party, upTo position: Position, _ stage: Stage) async throws -> Int {
    try await stage.parley.read { try $0.pushRegistrations(of: user.id).count { $0.pushed >= position } }
  }

  @Test(arguments: [true, false]) func onePublicationHasFewEndpointsThatTheUserHasGiven(isFirst: Bool) async throws {
    let stage = try stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let caller = try await logIn(juliet, "phone", stage)
    let most = PushLimits.givenAtOnceMax
    for number in 0..<most + 2 {
      _ = try await stage.register(
        Self.device("w\(number)", Self.subscription("https://push\(number).example/x", Self.keys)), by: caller)
    }
    _ = try await stage.register(Self.device("a"), by: caller)
    let said = try await stage.say("one", from: romeo, to: juliet)
    let endpoints = Endpoints()
    // Where time does not go on, there is one publication; otherwise the other endpoints follow.
    let pusher = Pusher(parley: stage.parley, route: endpoints) { _ in
      if isFirst { for await _ in AsyncStream<Void>.makeStream().stream {} }
    }
    let running = Task { await pusher.run() }
    let count = isFirst ? most + 1 : most + 3
    while try await pushedCount(juliet, upTo: said.position, stage) < count { await Task.yield() }
    #expect(endpoints.asked.count == count && endpoints.asked.contains("token-a"))
    running.cancel()
    await running.value
  }

  @Test func aNewRegistrationAtTheOriginOfAFailedOneRestsWithIt() async throws {
    let stage = try stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let caller = try await logIn(juliet, "phone", stage)
    func register(_ endpoint: String) async throws {
      _ = try await stage.register(Self.device("w", Self.subscription(endpoint, Self.keys)), by: caller)
    }
    try await register("https://push.example/1")
    _ = try await stage.say("one", from: romeo, to: juliet)
    let endpoints = Endpoints([.failed, .taken])
    // Who rests, rests until the end.
    let pusher = Pusher(parley: stage.parley, route: endpoints) { wait in
      if wait != PushLimits.interval { for await _ in AsyncStream<Void>.makeStream().stream {} }
    }
    let running = Task { await pusher.run() }
    while try await stage.parley.read({ try $0.pushRegistrations(of: juliet.id).first?.failures }) != 1 {
      await Task.yield()
    }
    try await register("https://push.example/2")
    _ = try await stage.register(Self.device("a"), by: caller)
    let second = try await stage.say("two", from: romeo, to: juliet)
    while try await pushedCount(juliet, upTo: second.position, stage) < 1 { await Task.yield() }
    #expect(endpoints.asked == ["https://push.example/1", "token-a"])
    try await register("https://other.example/3")
    let third = try await stage.say("three", from: romeo, to: juliet)
    while try await pushedCount(juliet, upTo: third.position, stage) < 2 { await Task.yield() }
    #expect(endpoints.asked.contains("https://other.example/3") && !endpoints.asked.contains("https://push.example/2"))
    running.cancel()
    await running.value
  }

  /// The rests that have not ended.
  private final class Rests: Sendable {
    private let count = Mutex(0)
    var now: Int { count.withLock { $0 } }

    /// Waits until its task is cancelled.
    func rest() async {
      count.withLock { $0 += 1 }
      for await _ in AsyncStream<Void>.makeStream().stream {}
      count.withLock { $0 -= 1 }
    }
  }

  /// A user whose service asks for a long rest each time, and who registers again at another origin, leaves few rests behind.
  @Test(.timeLimit(.minutes(1))) func restsOfFormerRegistrationsAreFew() async throws {
    let stage = try stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let caller = try await logIn(juliet, "phone", stage)
    let (endpoints, rests) = (Endpoints([.unavailable(seconds: 86_400)]), Rests())
    let pusher = Pusher(parley: stage.parley, route: endpoints) { wait in
      if wait != PushLimits.interval { await rests.rest() }
    }
    let running = Task { await pusher.run() }
    let count = 3 * PushLimits.formerRestsMax
    for number in 1...count {
      let subscription = Self.subscription("https://push\(number).example/x", Self.keys)
      _ = try await stage.register(Self.device("w", subscription), by: caller)
      _ = try await stage.say("one", from: romeo, to: juliet)
      while endpoints.asked.count < number { await Task.yield() }
    }
    // Those of former registrations, and those of the last two, which may not have been looked at.
    while rests.now > PushLimits.formerRestsMax + 2 { await Task.yield() }
    running.cancel()
    await running.value
  }

  @Test func eachDialogIsOneNoticeWithItsLastMessageAndAllThatIsUnread() async throws {
    let stage = try stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let caller = try await logIn(juliet, "phone", stage)
    _ = try await stage.register(Self.device("a"), by: caller)
    var settings = RoomSettings.group
    settings.name = "Verona"
    let room = try await stage.room(by: romeo, settings, with: [(juliet, .member)])
    for text in ["one", "two"] { _ = try await stage.say(text, from: romeo, to: juliet) }
    let said = try await stage.say("three", in: room, by: romeo)
    let last = try await stage.say("four", from: nurse, to: juliet)
    let phone = Phone([.failed, .taken])
    let pusher = Pusher(parley: stage.parley, route: phone, pause: { _ in })
    let running = Task { await pusher.run() }
    var got = phone.got.makeAsyncIterator()
    let notices = try #require(await got.next())
    #expect(notices.map(\.text) == ["two", "three", "four"])
    #expect(notices.map(\.count) == [2, 1, 1])
    #expect(notices.allSatisfy { $0.unread == 4 && $0.user == "juliet" && $0.kind == .message })
    #expect(notices.map(\.dialogName) == [nil, "Verona", nil])
    #expect(notices.map(\.senderID) == ["romeo", "romeo", "nurse"])
    #expect(notices[1].message == said.entry?.id && notices[2].message == last.entry?.id)
    #expect(Set(notices.map(\.collapse)).count == 3)
    // A repeated push is the same, including the id by which the provider knows it.
    let again = try #require(await got.next())
    #expect(again == notices)
    #expect(again.map { $0.id(for: Self.device("a")) } == notices.map { $0.id(for: Self.device("a")) })
    #expect(Set(notices.map { $0.id(for: Self.device("a")) }).count == 3)
    running.cancel()
    await running.value
  }

  @Test func namesAreAsTheyAreShown() async throws {
    let stage = try stage()
    let (romeo, juliet, nurse) = (
      try await stage.user("romeo"), try await stage.user("juliet"), try await stage.user("nurse")
    )
    let caller = try await logIn(juliet, "phone", stage)
    _ = try await stage.register(Self.device("a"), by: caller)
    try await stage.parley.post(.profile(ProfileDraft(displayName: "Ro\u{202e}meo\n\u{200b}M")), by: romeo)
    try await stage.parley.post(.profile(ProfileDraft(displayName: "\u{3164}")), by: nurse)
    var settings = RoomSettings.group
    settings.name = "\u{2067}Verona"
    let room = try await stage.room(by: romeo, settings, with: [(juliet, .member)])
    _ = try await stage.say("one", from: romeo, to: juliet)
    _ = try await stage.say("two", from: nurse, to: juliet)
    _ = try await stage.say("three", in: room, by: romeo)
    let phone = Phone()
    let pusher = Pusher(parley: stage.parley, route: phone, pause: { _ in })
    let running = Task { await pusher.run() }
    var got = phone.got.makeAsyncIterator()
    let notices = try #require(await got.next())
    #expect(notices.map(\.text) == ["one", "two", "three"])
    #expect(notices.prefix(2).map(\.senderName) == ["Romeo M", "nurse"])
    #expect(notices.map(\.dialogName) == [nil, nil, "Verona"])
    running.cancel()
    await running.value
  }

  @Test func aCallThatHasEndedIsTakenBackWhereItRang() async throws {
    let stage = try stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let caller = try await logIn(juliet, "phone", stage)
    _ = try await stage.register(Self.device("a") { $0.kind = .voip }, by: caller)
    func call() async throws -> Receipt {
      try await stage.parley.post(
        .message(
          MessageDraft(
            to: juliet.address, content: Content(kind: .none), envelope: Envelope(type: .chat),
            traits: [.archived, .rings], key: nil)), by: romeo)
    }
    func end(_ ring: Receipt) async throws {
      let position = try await stage.say("that was short", from: juliet, to: romeo).position
      let dialog = try #require(ring.entry?.dialog)
      try await stage.parley.work { writer in
        try writer.owePush(
          OwedPush(position: position, dialog: dialog, kind: .callEnd, subject: ring.position), to: juliet.id)
      }
      stage.parley.registries.pushes.wake(for: juliet.id)
    }
    // Over before anybody was told: nothing is.
    try await end(try await call())
    let phone = Phone()
    let pusher = Pusher(parley: stage.parley, route: phone, pause: { _ in })
    let running = Task { await pusher.run() }
    var got = phone.got.makeAsyncIterator()
    while try await !owed(juliet, stage).isEmpty { await Task.yield() }
    let ring = try await call()
    #expect(try #require(await got.next()).map(\.kind) == [.call])
    while try await !owed(juliet, stage).isEmpty { await Task.yield() }
    try await end(ring)
    let ended = try #require(await got.next())
    #expect(ended.map(\.kind) == [.callEnd])
    #expect(ended.map(\.message) == [ring.entry?.id])
    running.cancel()
    await running.value
  }

  @Test func aProviderThatIsDownTakesNobodysDevices() async throws {
    let stage = try stage()
    let (romeo, juliet) = (try await stage.user("romeo"), try await stage.user("juliet"))
    let caller = try await logIn(juliet, "phone", stage)
    _ = try await stage.register(Self.device("a"), by: caller)
    let said = try await stage.say("one", from: romeo, to: juliet).position
    for _ in 0...2 * Limits.pushFailuresMax {
      try await stage.parley.post(
        .push(.settled(.device("a"), upTo: said, .unavailable(seconds: nil))), by: juliet)
    }
    #expect(try await Devices(stage.parley).all(of: juliet.id).count == 1)
    #expect(try await owed(juliet, stage).count == 1)
    try await stage.parley.post(.push(.settled(.device("a"), upTo: said, .refused)), by: juliet)
    #expect(try await Devices(stage.parley).all(of: juliet.id).isEmpty)
  }
}
