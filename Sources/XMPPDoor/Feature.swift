import Dialogs
import XMLStream
import XMPP

/// One XEP (or one part of an RFC): one file under `Features/`, one line in `Features.swift`.
///
/// A feature registers the payloads it handles. It holds no state of its own (its state of a session lies in the
/// session's typed slots) and sees no channel, no lock and no store. Handlers run on the session's lane, one stanza at
/// a time, and must not block.
///
///     struct Ping: Feature {
///         static let xep = XEP(199, "2.0.1", "XMPP Ping")
///         func register(in table: inout FeatureTable) {
///             table.advertise("\(NS.ping)")
///             table.iq(.get, .ping, to: [.server, .account]) { turn, _ in turn.reply() }
///         }
///     }
protocol Feature: Sendable {
  static var xep: XEP { get }
  init()
  func register(in table: inout FeatureTable)
  /// Registers what is offered only where the configuration asks for it.
  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options)
}

extension Feature {
  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options) {}
}

/// The entry of a feature in `docs/xeps.md`.
public struct XEP: Sendable, Hashable {
  public let number: Int
  /// The version of the specification that was implemented.
  public let version: String
  public let title: String
  /// The parts that are left out, in a few words; `nil` if none.
  public let note: String?

  /// Creates an entry; `number` 0 stands for a part of an RFC, named in `title`.
  public init(_ number: Int, _ version: String, _ title: String, note: String? = nil) {
    self.number = number
    self.version = version
    self.title = title
    self.note = note
  }
}

/// The compiled dispatch: features register at start, sessions look handlers up by the hash of a child's name. A
/// stanza's cost depends on its own children, never on the number of features.
struct FeatureTable: Sendable {
  /// The addressee of a stanza, as seen from the session that sends it.
  enum Target: Sendable, Hashable {
    /// The user's own account: no `to`, or their bare JID.
    case account
    /// The server's domain.
    case server
    /// Another user's bare JID: the server answers for them (RFC 6120 10.5.3).
    case user
    /// An app's session, which speaks no XMPP: the server answers for it.
    case session
    /// The domain where rooms live (XEP-0045 6.1).
    case rooms
    /// A room's bare JID.
    case room
    /// The domain of the upload service (XEP-0363 4).
    case uploads
    /// The domain of the pubsub service (XEP-0060).
    case pubsub
  }
  typealias IQHandler = @Sendable (Turn, Element) throws(StanzaError) -> Void
  typealias ChildReader = @Sendable (Element, inout Draft) throws(StanzaError) -> Void
  typealias SessionHook = @Sendable (XMPPSession) -> Void

  private struct IQKey: Hashable {
    let hash: UInt64
    let isSet: Bool
    let target: Target
  }
  private var iqs: [IQKey: (name: Name, handler: IQHandler)] = [:]
  /// The index of the feature that is registering. Its payloads and its disco#info are recorded under it.
  var registrant = 0
  private var answering: [String: Set<Int>] = [:]
  private var readers: [UInt64: (name: Name, read: ChildReader)] = [:]
  private var elements: [UInt64: (name: Name, hook: SessionHook)] = [:]
  private var inlines: [UInt64: (name: Name, hook: SessionHook)] = [:]
  private(set) var inlineFeatures: [String] = []
  private(set) var bound: [SessionHook] = []
  /// The disco#info features by target, in the order of registration.
  private var features: [Target: [(feature: String, of: Int)]] = [:]
  private var identities: [Target: [(identity: Identity, of: Int)]] = [:]
  /// The extended information (XEP-0128) in disco#info.
  private var forms: [Target: [(form: DataForm, of: Int)]] = [:]

  struct Identity: Sendable, Hashable {
    let category: String
    let type: String
    let name: String?
  }

  // MARK: Registration: the whole surface of a feature

  /// Adds features to disco#info of these targets (XEP-0030 3).
  mutating func advertise(_ features: String..., on targets: [Target] = [.server, .account]) {
    for target in targets { self.features[target, default: []] += features.map { ($0, registrant) } }
  }

  mutating func identify(_ identity: Identity, on target: Target) {
    identities[target, default: []].append((identity, registrant))
  }

  mutating func describe(_ form: DataForm, on target: Target) {
    forms[target, default: []].append((form, registrant))
  }

  /// Registers the handler of IQ requests whose payload is `name`. The handler replies through the turn, now or later,
  /// or throws the error to reply with.
  mutating func iq(_ type: IQType, _ name: Name, to targets: [Target], _ handler: @escaping IQHandler) {
    precondition(type.isRequest, "only requests are dispatched")
    answering["\(name.namespace)", default: []].insert(registrant)
    for target in targets {
      iqs[IQKey(hash: name.hash, isSet: type == .set, target: target)] = (name, handler)
    }
  }

  /// Registers the reader of a message's child, which adds the child's meaning to the draft.
  mutating func read(_ name: Name, _ reader: @escaping ChildReader) { readers[name.hash] = (name, reader) }

  /// Registers a feature that a session can begin with (XEP-0386 3.1): it is switched on before the session is sent
  /// anything. `feature` is its name in the offer.
  mutating func inline(_ name: Name, feature: String, _ hook: @escaping SessionHook) {
    inlines[name.hash] = (name, hook)
    inlineFeatures.append(feature)
  }

  /// Registers the handler of an element that is no stanza, on a bound stream.
  mutating func element(_ name: Name, _ hook: @escaping SessionHook) { elements[name.hash] = (name, hook) }

  /// Registers a hook that runs when a session has bound (not resumed) its resource.
  mutating func onBound(_ hook: @escaping SessionHook) { bound.append(hook) }

  // MARK: Discovery

  /// Returns the feature strings of a target, in the order of registration.
  func advertised(on target: Target) -> [String] { features(of: target).map(\.feature) }
  func features(of target: Target) -> [(feature: String, of: Int)] { features[target] ?? [] }
  func identities(of target: Target) -> [(identity: Identity, of: Int)] { identities[target] ?? [] }
  func forms(of target: Target) -> [(form: DataForm, of: Int)] { forms[target] ?? [] }
  /// Returns the features that answer payloads of these namespaces.
  func registrants(answering namespaces: Set<String>) -> Set<Int> {
    namespaces.reduce(into: []) { $0.formUnion(answering[$1] ?? []) }
  }

  // MARK: Dispatch

  func iqHandler(_ payload: Element, isSet: Bool, target: Target) -> IQHandler? {
    guard let found = iqs[IQKey(hash: payload.nameHash, isSet: isSet, target: target)], payload.is(found.name) else {
      return nil
    }
    return found.handler
  }

  /// Handles an element that is no stanza. Returns `false` if no feature knows it.
  func received(_ element: Element, _ session: XMPPSession) -> Bool {
    guard let found = elements[element.nameHash], element.is(found.name) else { return false }
    found.hook(session)
    return true
  }

  /// Switches on a feature that a session begins with; an unknown one is ignored.
  func begin(_ session: XMPPSession, with wish: Element) {
    guard let found = inlines[wish.nameHash], wish.is(found.name) else { return }
    found.hook(session)
  }

  func read(_ child: Element, into draft: inout Draft) throws(StanzaError) {
    guard let found = readers[child.nameHash], child.is(found.name) else { return }
    try found.read(child, &draft)
  }
}
