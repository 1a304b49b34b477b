import Addresses
import Dialogs
import NIOCore
import Peers
import XMLStream
import XMPP

/// XEP-0355: passes IQs of a namespace to the component that the operator has delegated it to.
struct NamespaceDelegation: Feature {
  static let xep = XEP(355, "0.5", "Namespace Delegation", note: "Granted by the operator only (4), not by users (5).")

  private static let delegation = Name("delegation", NS.delegation)
  private static let delegated = Name("delegated", NS.delegation)
  private static let attribute = Name("attribute", NS.delegation)

  func register(in table: inout FeatureTable) {}

  static func offer(in table: inout FeatureTable, _ parley: Parley, _ options: DoorContext.Options) {
    if options.components.values.contains(where: { !$0.delegated.isEmpty }) {
      table.advertise("\(NS.delegation)", on: [.server])
    }
  }

  // MARK: A component connects (4.2)

  /// Tells the component its namespaces, and queries its discovery information.
  static func attached(_ link: ComponentLink, _ door: DoorContext, _ write: ((inout ElementWriter) -> Void) -> Void) {
    let mine = door.delegations.all(of: link.home.domain).filter { $0.component == link.party.address.domain }
    if mine.isEmpty { return }
    write { writer in
      writer.element(.message) { writer in
        writer.attribute("from", link.home.domain)
        writer.attribute("to", link.party.address.description)
        writer.attribute("id", DoorContext.randomID())
        writer.element(delegation) { writer in
          for delegation in mine {
            writer.element(delegated) { writer in
              writer.attribute("namespace", delegation.namespace)
              for name in delegation.attributes { writer.element(attribute) { $0.attribute("name", name) } }
            }
          }
        }
      }
    }
    discover(mine.filter { !$0.isOfNodes }.map(\.namespace), at: link, door)
  }

  /// Queries the component (7.2.1, 7.2.2), once per connection, since clients ask often.
  private static func discover(_ namespaces: [String], at link: ComponentLink, _ door: DoorContext) {
    guard let server = BareJID(parsing: link.home.domain) else { return }
    let asker = Party(id: UserID(0), realm: link.home.id, address: server)
    let (component, id) = (link.party.address, link.id)
    door.nested.begin(component.domain, id)
    @Sendable func ask(_ node: String) async -> Capabilities? {
      var writer = StreamFraming.writer()
      writer.element(.discoInfo) { $0.attribute("node", node) }
      let answer = await door.questions.ask(
        .get, Array(writer.buffer.readableBytesView), of: JID(component), from: asker,
        within: DoorLimits.delegationAnswer, door.parley.hub)
      guard let answer, !answer.isError, let query = answer.element.first(.discoInfo) else { return nil }
      return try? Capabilities(query)
    }
    Task {
      for namespace in namespaces {
        if let information = await ask("\(NS.delegation)::\(namespace)") {
          door.nested.add(component.domain, id) { $0.server.add(information) }
        }
        if let information = await ask("\(NS.delegation):bare:\(namespace)") {
          door.nested.add(component.domain, id) { $0.account.add(information) }
        }
      }
    }
  }

  // MARK: Requests (4.3)

  /// Passes a request on to the managing component. Returns `false` if the server answers.
  static func pass(_ turn: Turn, _ payload: Element, _ target: FeatureTable.Target) -> Bool {
    let door = turn.session.door
    if door.delegations.isEmpty { return false }
    switch target {
    case .account, .server, .user: break
    case .session, .rooms, .room, .uploads, .pubsub: return false
    }
    guard let manager = door.delegations.manager(of: payload, in: turn.addressed.domain), manager.passes(turn) else {
      return false
    }
    // A session that has requested its roster gets pushes, whichever side answers (RFC 6121 2.2).
    if target == .account, payload.is(.roster), turn.session.impersonated == nil { _ = try? Roster.interest(turn) }
    forward(turn, to: manager)
    return true
  }

  static func forward(_ turn: Turn, to manager: Delegation) {
    let account = turn.addressed
    guard account.local != nil, account != turn.party.address else { return ask(turn, manager) }
    // A blocked requester, and a request to an unknown user, get the usual error.
    let (viewer, jid) = (turn.party, turn.jid)
    turn.fetch {
      if case .none = try $0.presenceAccess(to: account, for: viewer, at: jid.jid) { false } else { true }
    } reply: { (isThere) throws(StanzaError) in
      guard isThere else { throw StanzaError(.serviceUnavailable) }
      ask(turn, manager)
    }
  }

  private static func ask(_ turn: Turn, _ manager: Delegation) {
    let door = turn.session.door
    guard let component = JID(parsing: manager.component), let server = BareJID(parsing: turn.addressed.domain),
      let realm = turn.parley.realm(domain: turn.addressed.domain)
    else { return turn.fail(StanzaError(.serviceUnavailable)) }
    var writer = StreamFraming.writer()
    write(turn.stanza, from: turn.session.answered, into: &writer)
    let payload = Array(writer.buffer.readableBytesView)
    let asker = Party(id: UserID(0), realm: realm.id, address: server)
    let initial = Initial(turn)
    turn.await {
      await door.questions.ask(
        .set, payload, of: component, from: asker, within: DoorLimits.delegationAnswer, door.parley.hub)
    } then: { result in
      guard case .success(let answer?) = result, let content = initial.content(of: answer) else {
        return turn.fail(StanzaError(.serviceUnavailable))
      }
      turn.reply { $0.children(of: content) }
    }
  }

  /// Writes the request as it came, with the requester as its sender.
  static func write(_ stanza: Stanza, from: String, into writer: inout ElementWriter) {
    writer.element(delegation) { writer in
      writer.element(.forwarded) { writer in
        writer.element(.iq) { writer in
          writer.attribute("from", from)
          writer.attribute("to", stanza.element["to"])
          writer.attribute("id", stanza.id)
          writer.attribute("type", stanza.iqType?.text ?? "")
          if let language = stanza.language { writer.attribute("xml:lang", language) }
          writer.children(of: stanza.element)
        }
      }
    }
  }

  /// The request that the answer must match (4.3).
  struct Initial: Sendable, Hashable {
    let id: String?
    let from: JID?
    let to: JID?

    init(id: String?, from: JID?, to: JID?) {
      self.id = id
      self.from = from
      self.to = to
    }

    fileprivate init(_ turn: Turn) {
      self.init(id: turn.stanza.id, from: JID(parsing: turn.session.answered), to: turn.to)
    }

    /// Returns the result for the requester; `nil` if it is none, or another user's. A result without 'from' is taken
    /// to come from the addressee, as in the XEP's examples.
    func content(of answer: Stanza) -> Element? {
      guard answer.iqType == .result, let forwarded = answer.element.first(delegation)?.first(.forwarded),
        let inner = Stanza(forwarded: forwarded), inner.kind == .iq, inner.iqType == .result, inner.id == id
      else { return nil }
      guard let addressee = try? inner.to(), addressee == from else { return nil }
      do throws(StanzaError) {
        if let sender = try inner.from(), sender != (to ?? from.map { JID($0.bare) }) { return nil }
      } catch {
        return nil
      }
      return inner.element
    }
  }
}

extension Delegation {
  /// Returns whether a request is passed on: those of the managing component itself are the server's to answer (4.4).
  fileprivate func passes(_ turn: Turn) -> Bool { turn.session.impersonated?.link.party.address.domain != component }

  /// Returns the delegation of nodes that the server does not know, if there is one (7.2.3, 7.2.4).
  static func ofNodes(_ namespace: String, _ turn: Turn) -> Delegation? {
    let delegations = turn.session.door.delegations
    guard !delegations.isEmpty, let manager = delegations.manager(ofNodes: namespace, in: turn.addressed.domain),
      manager.passes(turn)
    else { return nil }
    return manager
  }
}

extension Turn {
  /// The account that an IQ is for, without 'to' the user's own.
  var addressed: BareJID { to?.bare ?? party.address }
}

extension DoorContext {
  /// Returns the disco#info of a target. At the server, and at a domain's accounts, features of delegated namespaces are replaced by
  /// those of their components (XEP-0355 7.2).
  func info(of target: FeatureTable.Target, in domain: String) -> InfoAnswers.Answer {
    let delegations = delegations.all(of: domain)
    guard !delegations.isEmpty, target == .server || target == .account else {
      return infoAnswers.answer(of: target) { table.capabilities(of: target) }
    }
    return infoAnswers.answer(of: target, in: domain, version: nested.version) {
      var capabilities = table.capabilities(of: target, without: Set(delegations.map(\.namespace)))
      for component in Set(delegations.map(\.component)).sorted() {
        guard let information = nested.information(by: component) else { continue }
        capabilities.add(target == .server ? information.server : information.account)
      }
      return capabilities
    }
  }
}
