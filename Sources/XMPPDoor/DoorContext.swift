public import Dialogs
public import Logging
import NIOCore
import XMLStream
import XMPP

/// What all sessions of this door share. Immutable but for the registry of
/// suspended sessions.
public final class DoorContext: Sendable {
  public struct Options: Sendable {
    /// Domains served, the default first.
    public var domains: [String]
    /// Authentication without TLS; only ever set for loopback listeners.
    public var allowsPlaintext: Bool
    /// Whether strangers may make accounts (XEP-0077).
    public var allowsRegistration: Bool
    /// How long a broken session waits to be resumed, in seconds; 0: never.
    public var resumptionSeconds: UInt32
    /// Shown by XEP-0092.
    public var version: String
    /// What users and admins can do in band (XEP-0050), in the order in which it is listed.
    public var commands: [AdHocCommand]
    /// The domain of each served domain's upload service; of those without there is none.
    public var uploads: [String: String]
    /// Whom to write to about the server: URIs by role (`abuse`, `admin`: XEP-0157 3).
    public var contacts: [String: [String]]
    /// By domain (XEP-0114). All of them are remote domains of the core.
    public var components: [String: Component]
    /// How much pushes say.
    public var pushContent: PushContent
    /// How long a session waits that has asked for pushes, in seconds; never less than `resumptionSeconds`.
    public var pushResumptionSeconds: UInt32

    public struct Component: Sendable, Hashable {
      public let secret: String
      /// The served domain that it is attached to.
      public let home: String
      /// What it answers in place of the server.
      public let delegated: [Delegation]

      public init(secret: String, home: String, delegated: [Delegation] = []) {
        self.secret = secret
        self.home = home
        self.delegated = delegated
      }
    }

    public init(
      domains: [String], allowsPlaintext: Bool = false, allowsRegistration: Bool = false,
      resumptionSeconds: UInt32 = 300, version: String, commands: [AdHocCommand] = [], uploads: [String: String] = [:],
      contacts: [String: [String]] = [:], components: [String: Component] = [:], pushContent: PushContent = .none,
      pushResumptionSeconds: UInt32 = 0
    ) {
      self.pushContent = pushContent
      self.pushResumptionSeconds = pushResumptionSeconds
      self.commands = commands
      self.uploads = uploads
      self.allowsRegistration = allowsRegistration
      self.domains = domains
      self.allowsPlaintext = allowsPlaintext
      self.resumptionSeconds = resumptionSeconds
      self.version = version
      self.contacts = contacts
      self.components = components
    }
  }

  let parley: Parley
  let options: Options
  let logger: Logger
  let table: FeatureTable
  let commands: AdHocCommandList
  let started: Dialogs.Timestamp
  let streams: StreamPolicy
  /// Of WebSocket and BOSH.
  let webStreams: StreamPolicy
  let resumption: ResumptionPolicy
  let binding = BindPolicy(resourcesMax: Dialogs.Limits.sessionsPerUserMax)
  let suspended = SuspendedSessions()
  let capabilities = ClientCapabilities()
  let questions = Questions()
  let delegations: Delegations
  let nested = NestedDiscovery()
  let memberLists = EncodedMemberLists()

  public init(parley: Parley, options: Options, logger: Logger) {
    self.parley = parley
    self.options = options
    self.logger = logger
    started = parley.clock.now
    // XEP-0172 4.2: who asks says what they are called.
    parley.hub.introduction.set { name in
      var writer = ElementWriter()
      UserNickname.write(name, into: &writer)
      return Array(writer.buffer.readableBytesView)
    }
    let table = Features.table(parley, options)
    self.table = table
    let delegations = Delegations(
      Dictionary(grouping: options.components.sorted { $0.key < $1.key }.map(\.value), by: \.home)
        .mapValues { $0.flatMap(\.delegated) })
    self.delegations = delegations
    commands = AdHocCommandList(options.commands)
    resumption = ResumptionPolicy(
      allowsResumption: options.resumptionSeconds > 0, secondsMax: options.resumptionSeconds)
    var authentication = AuthenticationPolicy(
      allowsUnsecured: options.allowsPlaintext, allowsUnsecuredPlain: options.allowsPlaintext,
      decoy: SCRAMDecoy(secret: parley.decoySecret, iterations: Dialogs.Limits.scramIterations))
    func policy(_ authentication: AuthenticationPolicy) -> StreamPolicy {
      StreamPolicy(
        domains: Set(options.domains), defaultDomain: options.domains.first,
        tls: options.allowsPlaintext ? .optional : .required, authentication: authentication,
        // What components say is no part of a hash that is made once.
        features: Features.streamFeatures(
          table, authentication, registers: options.allowsRegistration, hasCapabilities: delegations.isEmpty),
        // Whoever has an invitation may, always.
        allowsRegistration: true, guestDomains: Set(options.domains.filter(parley.takesGuests)))
    }
    streams = policy(authentication)
    authentication.offersBearer = false
    webStreams = policy(authentication)
  }

  /// A random id for streams, resources and resumptions: 128 bits.
  static func randomID() -> String {
    PublicID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)).description
  }
}
