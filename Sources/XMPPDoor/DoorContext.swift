public import Accounts
import Addresses
import Basics
public import Commands
import Dialogs
public import Logging
import NIOCore
public import Peers
public import PushServices
import ServerMetrics
import Synchronization
import XMLStream
import XMPP

/// The context that all sessions of this door share. It is immutable except for its in-memory registries.
public final class DoorContext: Sendable {
  public struct Options: Sendable {
    /// The served domains, the default one first.
    public var domains: [String]
    /// Whether clients may authenticate without TLS; set for loopback listeners only.
    public var allowsPlaintext: Bool
    /// Whether anyone may register an account (XEP-0077).
    public var allowsRegistration: Bool
    /// The pages where people create accounts in a browser, by served domain; a domain without an entry has none.
    public var signUpPages: [String: String]
    /// The time for which a disconnected session can be resumed, in seconds; 0 disables resumption.
    public var resumptionSeconds: UInt32
    /// The server's version as shown by XEP-0092.
    public var version: String
    /// The ad-hoc commands for users and admins (XEP-0050), in the order in which they are listed.
    public var commands: [AdHocCommand]
    /// The domain of the upload service, by served domain; a domain without an entry has none.
    public var uploads: [String: String]
    /// The contact URIs of the server's operators, by role (`abuse`, `admin`: XEP-0157 3).
    public var contacts: [String: [String]]
    /// The addresses of the file that tells of outages (XEP-0455).
    public var outageAddresses: [String]
    /// The components by their domain (XEP-0114); each is a remote domain of the core.
    public var components: [String: Component]
    /// The parts of a message that a push notification reveals.
    public var pushContent: PushContent
    /// The time for which a disconnected session with push enabled can be resumed, in seconds; never less than
    /// `resumptionSeconds`.
    public var pushResumptionSeconds: UInt32

    public struct Component: Sendable, Hashable {
      public let secret: String
      /// The served domain that the component is attached to.
      public let home: String
      /// The namespaces whose requests the component answers in place of the server.
      public let delegated: [Delegation]

      public init(secret: String, home: String, delegated: [Delegation] = []) {
        self.secret = secret
        self.home = home
        self.delegated = delegated
      }
    }

    public init(
      domains: [String], allowsPlaintext: Bool = false, allowsRegistration: Bool = false,
      signUpPages: [String: String] = [:], resumptionSeconds: UInt32 = 300, version: String,
      commands: [AdHocCommand] = [], uploads: [String: String] = [:],
      contacts: [String: [String]] = [:], outageAddresses: [String] = [], components: [String: Component] = [:],
      pushContent: PushContent = .none, pushResumptionSeconds: UInt32 = 0
    ) {
      self.pushContent = pushContent
      self.pushResumptionSeconds = pushResumptionSeconds
      self.commands = commands
      self.uploads = uploads
      self.allowsRegistration = allowsRegistration
      self.signUpPages = signUpPages
      self.domains = domains
      self.allowsPlaintext = allowsPlaintext
      self.resumptionSeconds = resumptionSeconds
      self.version = version
      self.contacts = contacts
      self.outageAddresses = outageAddresses
      self.components = components
    }
  }

  let accounts: Accounts
  let parley: Parley
  let options: Options
  let logger: Logger
  let refusals: RefusalLog
  let table: FeatureTable
  let commands: AdHocCommandList
  let started: Timestamp
  private let policies: Mutex<StreamPolicies>
  private let makePolicies: @Sendable (Set<SCRAMHash>) -> StreamPolicies
  let resumption: ResumptionPolicy
  let binding = BindPolicy(resourcesMax: Limits.sessionsPerUserMax)
  let suspended = SuspendedSessions()
  let capabilities = ClientCapabilities()
  let questions = Questions()
  let delegations: Delegations
  let nested = NestedDiscovery()
  let infoAnswers = InfoAnswers()
  let memberLists = EncodedMemberLists()
  private let ourDomains: Set<String>

  public init(accounts: Accounts, options: Options, logger: Logger) {
    self.accounts = accounts
    let parley = accounts.parley
    self.parley = parley
    self.options = options
    self.logger = logger
    refusals = RefusalLog(logger)
    started = parley.clock.now
    ourDomains = Set(
      options.domains + options.uploads.values + options.components.keys
        + parley.realms.flatMap { [$0.rooms] + [parley.pubsub.service(of: $0.id)?.address.domain].compactMap { $0 } })
    // XEP-0172 4.2: a subscription request carries the requester's nickname.
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
    @Sendable func policy(_ authentication: AuthenticationPolicy) -> StreamPolicy {
      StreamPolicy(
        domains: Set(options.domains), defaultDomain: options.domains.first,
        tls: options.allowsPlaintext ? .optional : .required, authentication: authentication,
        // The capabilities hash is computed once; with delegated namespaces it could change, so it is not offered.
        features: Features.streamFeatures(
          table, authentication, registers: options.allowsRegistration, hasCapabilities: delegations.isEmpty),
        // The holder of an invitation may always register.
        allowsRegistration: true, guestDomains: Set(options.domains.filter(accounts.takesGuests)))
    }
    let makePolicies: @Sendable (Set<SCRAMHash>) -> StreamPolicies = { hashes in
      var authentication = AuthenticationPolicy(
        mechanisms: SASLMechanism.all.filter { $0.scram.map { hashes.contains($0.hash) } ?? true },
        allowsUnsecured: options.allowsPlaintext, allowsUnsecuredPlain: options.allowsPlaintext,
        decoy: SCRAMDecoy(secret: accounts.decoySecret, iterations: AccountLimits.scramIterations))
      let streams = policy(authentication)
      authentication.offersBearer = false
      return StreamPolicies(hashes: hashes, streams: streams, webStreams: policy(authentication))
    }
    self.makePolicies = makePolicies
    policies = Mutex(makePolicies(accounts.commonHashes))
  }

  /// Logs an error that a stanza is answered with, with the stanza's id, which the sender knows, as a request's id is
  /// (`HTTPContext.refuse`).
  ///
  /// - Parameters:
  ///   - code: The code of the problem behind it; nil for the error's condition.
  ///   - sender: What the line has of the sender, by its key.
  func log(_ error: StanzaError, of stanza: Stanza, code: String? = nil, _ sender: [String: String]) {
    let isFault = error.condition == .internalServerError
    guard isFault || stanza.mayBeAnswered else { return }
    // A client chooses these.
    let values = sender.merging(["stanza": stanza.id ?? ""]) { own, _ in own }
      .mapValues { String(decoding: $0.utf8.prefix(Limits.loggedIDBytesMax), as: UTF8.self) }
    refusals.note(
      "a stanza", code ?? "\(error.condition.text)", isFault: isFault, isProbe: stanza.iqType == .get, values)
  }

  /// Counts and logs a connection that was closed or refused because of the bound of those before login.
  func lost(_ network: String, _ code: String) {
    parley.metrics.refusals.add(.connections)
    refusals.note("a connection", code, isFault: false, ["network": network])
  }

  /// The policies of new streams, for the hashes of which every account has keys: a client takes the strongest mechanism
  /// that is offered, and many give up if that fails.
  private struct StreamPolicies {
    let hashes: Set<SCRAMHash>
    let streams: StreamPolicy
    /// The stream policy of WebSocket and BOSH.
    let webStreams: StreamPolicy
  }

  private func current() -> StreamPolicies {
    let hashes = accounts.commonHashes
    return policies.withLock { policies in
      if policies.hashes != hashes { policies = makePolicies(hashes) }
      return policies
    }
  }

  var streams: StreamPolicy { current().streams }
  var webStreams: StreamPolicy { current().webStreams }

  /// Returns whether an address is of a domain of this server, or of one below it: of users, rooms, services or
  /// components.
  func isOurs(_ jid: JID) -> Bool {
    var domain = Substring(jid.domain)
    while true {
      if ourDomains.contains(String(domain)) { return true }
      guard let dot = domain.firstIndex(of: ".") else { return false }
      domain = domain[domain.index(after: dot)...]
    }
  }

  /// Returns a random id of 128 bits for a stream, resource or resumption.
  static func randomID() -> String {
    PublicID.random().description
  }
}
