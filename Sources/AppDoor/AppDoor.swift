public import Accounts
import Basics
public import Dialogs
import HTTPPort
public import Logging
public import NIOCore

/// The app protocol's door: REST and WebSocket over one list of operations.
/// Shared by all its listeners.
public final class AppDoor: Sendable {
  public struct Settings: Sendable {
    /// The server's version, for `GET /v1/info`.
    public var version: String
    /// Whether anyone may register (`POST /v1/users`).
    public var registration: Bool
    /// The public base URL, such as `https://chat.example:8443`; `nil` to use the address of each request.
    public var publicURL: String?
    public var rates: AppRates
    /// The version of the terms that users must accept; `nil` if there are none.
    public var terms: String?
    /// The page with the terms, for `GET /v1/info`; `nil` if there is none.
    public var termsURL: String?

    public init(
      version: String, registration: Bool, publicURL: String?, rates: AppRates = AppRates(), terms: String? = nil,
      termsURL: String? = nil
    ) {
      self.terms = terms
      self.termsURL = termsURL
      self.version = version
      self.registration = registration
      self.publicURL = publicURL
      self.rates = rates
    }
  }

  public let accounts: Accounts
  public let parley: Parley
  public let settings: Settings
  let refusals: RefusalLog
  let loops: any EventLoopGroup
  let lane: @Sendable (any EventLoop) -> Lane
  let nextSessionID: @Sendable () -> SessionID
  let dialogs: DialogResolver
  let limiters: Limiters
  let underWay: RequestsUnderWay
  /// The open server-sent event streams.
  let streams = OpenStreams()
  let readPlaces = ReadPlaces()
  /// The places of requests with large pictures, from before their bodies are read until the pictures are stored.
  let picturePlaces = ReadPlaces(
    max: AppLimits.picturesMax(memory: AllowedMemory.bytes), perUserMax: AppLimits.picturesPerUserMax)

  /// The most bytes of the pictures that requests have in memory, on a machine with so many bytes.
  public static func pictureBytes(memory: Int) -> Int {
    AppLimits.picturesMax(memory: memory) * Limits.avatarSourceBytesMax
  }

  struct Limiters: Sendable {
    let others: RateLimiter<UserID>
    let anonymous: RateLimiter<String>
    let customs: RateLimiter<UserID>
    let signals: RateLimiter<UserID>
  }

  /// The features of the server beyond the first version of the protocol.
  static let features = [
    "contacts", "blocks", "groups", "markers", "typing", "presence", "sync", "edits", "deletions", "reactions",
    "replies", "avatars", "second-factor", "content.location", "content.contact", "content.sticker", "content.custom",
    "search", "drafts", "scheduled", "custom", "events", "nearby", "contactMatches",
    "calls",
  ]

  var features: [String] {
    // The kinds of address that codes can be sent to, and those by which unknown users can get an account.
    let codes = Identity.reachable.filter(accounts.reaches.contains).flatMap { issuer in
      let kind = issuer == .email ? "email" : "phone"
      return ["codes.\(kind)"] + (accounts.newcomers.contains(issuer) ? ["signup.\(kind)"] : [])
    }
    return Self.features + (parley.blobs == nil ? [] : ["attachments", "exports"])
      + (parley.options.pushes.providers.isEmpty ? [] : ["devices"]) + codes
  }

  /// Creates the door.
  ///
  /// - Parameters:
  ///   - loops: the event loops where `GET /v1/sync` waits.
  ///   - lane: returns the one lane of an event loop, shared with the other door.
  ///   - nextSessionID: returns an id unique in the process, shared with the other door.
  public init(
    accounts: Accounts, settings: Settings, loops: any EventLoopGroup,
    lane: @escaping @Sendable (any EventLoop) -> Lane,
    nextSessionID: @escaping @Sendable () -> SessionID, logger: Logger
  ) {
    self.accounts = accounts
    parley = accounts.parley
    self.settings = settings
    self.loops = loops
    self.lane = lane
    self.nextSessionID = nextSessionID
    refusals = RefusalLog(logger)
    dialogs = DialogResolver(parley: parley)
    underWay = RequestsUnderWay(metrics: parley.metrics)
    let rates = settings.rates
    limiters = Limiters(
      others: RateLimiter(
        rates.others, policy: "requests", code: "requests-too-fast", text: "You ask too often. Wait a little.",
        metrics: parley.metrics),
      anonymous: RateLimiter(
        rates.anonymous, policy: "address", code: "requests-too-fast",
        text: "Too many requests from your address. Wait a little.",
        metrics: parley.metrics),
      customs: RateLimiter(
        rates.customs, policy: "events", code: "events-too-fast", text: "You send events too fast. Wait a little.",
        metrics: parley.metrics),
      signals: RateLimiter(
        rates.signals, policy: "signals", code: "signals-too-fast", text: "You say too much in calls. Wait a little.",
        metrics: parley.metrics))
  }

  /// Returns the realm of a request: by its Host, else the first.
  func realm(host: String?) -> Realm {
    if let host {
      // Without the port; IPv6 literals name no realm.
      let name = host.prefix { $0 != ":" }.lowercased()
      if let realm = parley.realm(domain: name) { return realm }
    }
    return parley.realms[0]  // the core refuses to start without one
  }

  func realm(_ id: RealmID) -> Realm { parley.realms.first { $0.id == id } ?? parley.realms[0] }
}

extension AppDoor {
  func rendering(_ user: User) -> Rendering { Rendering(parley: parley, realm: user.realm) }
}
