import Dialogs
import XMLStream
import XMPP

/// One XEP (or one part of an RFC): one file under `Features/`, one line in
/// `Features.swift`.
///
/// A feature registers what it understands; it holds no state of its own
/// (what it keeps about a session lies in the session's typed slots) and sees
/// no channel, no lock and no store. Handlers run on the session's lane, one
/// stanza at a time, and must not block.
protocol Feature: Sendable {
  static var xep: XEP { get }
  init()
  func register(in table: inout FeatureTable)
  /// What is offered only where the configuration has something to offer.
  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options)
}

extension Feature {
  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options) {}
}

/// What `docs/xeps.md` says of a feature.
public struct XEP: Sendable, Hashable {
  public let number: Int
  /// The version of the specification that was read.
  public let version: String
  public let title: String
  /// What is left out, in a few words; nil: nothing.
  public let note: String?

  /// `number` 0: a part of an RFC, named in `title`.
  public init(_ number: Int, _ version: String, _ title: String, note: String? = nil) {
    self.number = number
    self.version = version
    self.title = title
    self.note = note
  }
}

/// Compiled dispatch: features register at start, sessions look up by the hash
/// of a child's name. A stanza pays for its own children, never for the number
/// of features.
struct FeatureTable: Sendable {
  /// Whom a stanza addresses, seen from the session that sends it.
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
  }
  typealias IQHandler = @Sendable (Turn, Element) throws(StanzaError) -> Void
  typealias ChildReader = @Sendable (Element, inout Draft) throws(StanzaError) -> Void
  typealias Gate = @Sendable (Turn) throws(StanzaError) -> Void
  typealias SessionHook = @Sendable (XMPPSession) -> Void

  private struct IQKey: Hashable {
    let hash: UInt64
    let isSet: Bool
    let target: Target
  }
  private var iqs: [IQKey: (name: Name, handler: IQHandler)] = [:]
  /// The feature that registers just now, and which one has registered what: the payloads it answers, and what it says.
  var registrant = 0
  private var answering: [String: Set<Int>] = [:]
  private var readers: [UInt64: (name: Name, read: ChildReader)] = [:]
  private var elements: [UInt64: (name: Name, hook: SessionHook)] = [:]
  private var inlines: [UInt64: (name: Name, hook: SessionHook)] = [:]
  private(set) var inlineFeatures: [String] = []
  private(set) var bound: [SessionHook] = []
  private(set) var ended: [SessionHook] = []
  /// disco#info features by target, in the order of registration.
  private var features: [Target: [(feature: String, of: Int)]] = [:]
  private var identities: [Target: [(identity: Identity, of: Int)]] = [:]
  /// Extended information (XEP-0128) in disco#info.
  private var forms: [Target: [(form: DataForm, of: Int)]] = [:]

  struct Identity: Sendable, Hashable {
    let category: String
    let type: String
    let name: String?
  }

  // MARK: Registration: the whole surface of a feature

  /// A feature string in disco#info of these targets (XEP-0030 3).
  mutating func advertise(_ features: String..., on targets: [Target] = [.server, .account]) {
    for target in targets { self.features[target, default: []] += features.map { ($0, registrant) } }
  }

  mutating func identify(_ identity: Identity, on target: Target) {
    identities[target, default: []].append((identity, registrant))
  }

  mutating func describe(_ form: DataForm, on target: Target) {
    forms[target, default: []].append((form, registrant))
  }

  /// An IQ request whose payload is `name`. The handler replies through the
  /// turn, now or later, or throws what goes back as the error.
  mutating func iq(_ type: IQType, _ name: Name, to targets: [Target], _ handler: @escaping IQHandler) {
    precondition(type.isRequest, "only requests are dispatched")
    answering["\(name.namespace)", default: []].insert(registrant)
    for target in targets {
      iqs[IQKey(hash: name.hash, isSet: type == .set, target: target)] = (name, handler)
    }
  }

  /// A message's child: it adds its meaning to the draft.
  mutating func read(_ name: Name, _ reader: @escaping ChildReader) { readers[name.hash] = (name, reader) }

  /// What a session can begin with (XEP-0386 3.1): switched on before it is told anything. `feature` is what the offer calls
  /// it.
  mutating func inline(_ name: Name, feature: String, _ hook: @escaping SessionHook) {
    inlines[name.hash] = (name, hook)
    inlineFeatures.append(feature)
  }

  /// An element beside the stanzas of a bound stream.
  mutating func element(_ name: Name, _ hook: @escaping SessionHook) { elements[name.hash] = (name, hook) }

  /// A session has bound its resource (not: resumed).
  mutating func onBound(_ hook: @escaping SessionHook) { bound.append(hook) }
  /// A session ends for good.
  mutating func onEnded(_ hook: @escaping SessionHook) { ended.append(hook) }

  // MARK: Discovery

  /// The feature strings of a target, in the order of registration.
  func advertised(on target: Target) -> [String] { features(of: target).map(\.feature) }
  func features(of target: Target) -> [(feature: String, of: Int)] { features[target] ?? [] }
  func identities(of target: Target) -> [(identity: Identity, of: Int)] { identities[target] ?? [] }
  func forms(of target: Target) -> [(form: DataForm, of: Int)] { forms[target] ?? [] }
  /// The features that answer payloads of these namespaces.
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

  /// False: nobody knows the element.
  func received(_ element: Element, _ session: XMPPSession) -> Bool {
    guard let found = elements[element.nameHash], element.is(found.name) else { return false }
    found.hook(session)
    return true
  }

  /// Switches on what a session wants to begin with; what nobody knows is ignored.
  func begin(_ session: XMPPSession, with wish: Element) {
    guard let found = inlines[wish.nameHash], wish.is(found.name) else { return }
    found.hook(session)
  }

  func read(_ child: Element, into draft: inout Draft) throws(StanzaError) {
    guard let found = readers[child.nameHash], child.is(found.name) else { return }
    try found.read(child, &draft)
  }
}
