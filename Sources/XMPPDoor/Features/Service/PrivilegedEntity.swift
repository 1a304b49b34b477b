import Addresses
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0356: components that act in the name of users, as the operator grants it (`Dialogs.Privileges`). The core
/// checks the grant for everything that is written; this file checks it for what is only read or passed on.
struct PrivilegedEntity: Feature {
  static let xep = XEP(
    356, "0.4.1", "Privileged Entity",
    note: "Presence of contacts (7.2) only as far as an online user receives it. No archive queries in IQs (6).")

  private static let privilege = Name("privilege", NS.privilege)
  private static let perm = Name("perm", NS.privilege)
  private static let namespace = Name("namespace", NS.privilege)
  static let request = Name("privileged_iq", NS.privilege)

  func register(in table: inout FeatureTable) {
    for type in [IQType.get, .set] { table.iq(type, Self.request, to: [.user], Self.ask) }
  }

  // MARK: Privileges (4.2, 5.2, 6.2, 7.2)

  /// Writes a component's privileges, including those that have been withdrawn.
  static func advertise(
    _ now: Privileges, before: Privileges, from home: Realm, to component: BareJID, into writer: inout ElementWriter
  ) {
    writer.element(.message) { writer in
      writer.attribute("from", home.domain)
      writer.attribute("to", component.description)
      writer.attribute("id", DoorContext.randomID())
      writer.element(privilege) { writer in
        func write(_ access: StaticString, _ type: String?, _ content: (inout ElementWriter) -> Void = { _ in }) {
          writer.element(perm) { writer in
            writer.attribute("access", access)
            writer.attribute("type", type)
            content(&writer)
          }
        }
        if now.roster != .none || before.roster != .none {
          let push: StaticString = now.isToldOfRosters ? "true" : "false"
          write("roster", now.roster.rawValue) { $0.attribute("push", push) }
        }
        if now.speaks || before.speaks { write("message", now.speaks ? "outgoing" : "none") }
        let names = Set(now.requests.keys).union(before.requests.keys).sorted()
        if !names.isEmpty {
          write("iq", nil) { writer in
            for name in names {
              writer.element(namespace) { writer in
                writer.attribute("ns", name)
                writer.attribute("type", (now.requests[name] ?? .none).rawValue)
              }
            }
          }
        }
        if now.presence != .none || before.presence != .none { write("presence", now.presence.rawValue) }
      }
    }
  }

  // MARK: Messages (5)

  /// Handles a message to the server that contains another one in the name of a user or of the server.
  static func message(_ stanza: Stanza, from: JID, _ link: ComponentLink) throws(StanzaError) {
    let said = try ForwardedMessage(stanza, domain: link.home.domain)
    guard from.bare == link.party.address else { throw StanzaError(.forbidden) }
    let door = link.door
    let draft = try Inbound.draft(of: said.stanza, door.table)
    let extras = said.stanza.extras(link.loopContext) {
      StanzaIDs.isStripped($0, domain: link.home.domain) || StanzaIDs.isInvitation($0)
    }
    let type = said.stanza.messageType
    let intent: Intent
    if said.user.local != nil, type == .chat || type == .normal, draft.isPosted {
      intent = Inbound.post(
        said.stanza, draft, from: nil, to: said.to, extras: extras, links: door.parley.blobs?.policy.links)
    } else {
      // The core sets the author.
      let relayed = RelayedStanza(
        name: .message(Envelope.MessageType(type)), from: link.party, fromResource: nil, to: said.to.bare,
        toResource: said.to.resource, id: said.stanza.id, language: said.stanza.language, extras: extras,
        typing: draft.typing, isPrivate: draft.isUncopied)
      intent = .signal(.stanza(relayed), to: .user(said.to.bare, resource: said.to.resource))
    }
    link.post(intent, by: link.party, for: stanza, behalf: Behalf(said.user, by: .speak))
  }

  /// Returns whether a message contains such a message.
  static func isForwarding(_ stanza: Stanza) -> Bool { stanza.element.first(privilege) != nil }

  /// The message inside a message to the server.
  struct ForwardedMessage {
    /// The author: a user, or the server itself.
    let user: BareJID
    let to: JID
    let stanza: Stanza

    init(_ outer: Stanza, domain: String) throws(StanzaError) {
      guard let forwarded = outer.element.first(privilege)?.first(.forwarded),
        let inner = Stanza(forwarded: forwarded, language: outer.language),
        inner.kind == .message, let to = try inner.to()
      else { throw StanzaError(.badRequest, "one message with 'to' is to be forwarded") }
      guard let from = try inner.from(), from.isBare, from.domain == domain else {
        throw StanzaError(.forbidden, "the forwarded message is from a bare address of \(domain) (XEP-0356 5)")
      }
      user = from.bare
      self.to = to
      stanza = inner
    }
  }

  // MARK: IQs (6)

  private static func ask(_ turn: Turn, _ element: Element) throws(StanzaError) {
    guard let user = turn.to?.bare else { throw StanzaError(.forbidden) }
    let request = try EncapsulatedRequest(turn.stanza, element, of: user)
    // A request with more than one stanza as its answer cannot be encapsulated.
    if request.namespace == "\(NS.mam)" { throw StanzaError(.featureNotImplemented) }
    let right = Right.request(request.namespace, isSet: request.isSet)
    try act(turn, by: right, answer: answer(turn)) { (inner) throws(StanzaError) in
      guard let to = request.to, !to.isBare || inner.session.isRemote(to.domain) else {
        return try Inbound.iq(Turn(session: inner.session, stanza: request.stanza, to: request.to))
      }
      try relay(Turn(session: inner.session, stanza: request.stanza, to: to), to)
    }
  }

  /// Returns a handler that encapsulates the answer in one to the component (6.3).
  private static func answer(_ turn: Turn) -> (StanzaError?, (inout ElementWriter) -> Void) -> Void {
    { error, body in
      turn.session.answer(error) { writer in
        turn.stanza.openReply(
          type: (error == nil ? IQType.result : .error).text, into: &writer, to: turn.session.answered)
        writer.element(privilege) { writer in
          writer.element(.forwarded) { body(&$0) }
        }
        // An error has one (RFC 6120 8.3.1): the same.
        error?.write(into: &writer)
        writer.close()
      }
    }
  }

  /// Passes a request on to an addressee outside this server.
  private static func relay(_ turn: Turn, _ to: JID) throws(StanzaError) {
    let stanza = turn.stanza
    if turn.session.contactSnapshot?.blocks(to) == true {
      throw StanzaError(Problem(.blocked, "you-block-this-user", "The user has blocked this address."))
    }
    let domain = turn.party.address.domain
    let payload = stanza.extras(turn.session.loopContext) { StanzaIDs.isStripped($0, domain: domain) }
    let type: IQType = stanza.iqType == .set ? .set : .get
    let (door, party) = (turn.session.door, turn.party)
    turn.await {
      await door.questions.ask(
        type, payload, of: to, from: party, within: DoorLimits.delegationAnswer, door.parley.hub)
    } then: {
      guard case .success(let answer?) = $0 else { return turn.fail(StanzaError(.serviceUnavailable)) }
      let error = StanzaError(reportedBy: answer)
      turn.session.answer(error) { writer in
        stanza.openReply(type: answer.iqType?.text, into: &writer, to: turn.session.answered)
        writer.children(of: answer.element)
        writer.close()
      }
    }
  }

  /// An IQ inside another one.
  struct EncapsulatedRequest {
    let stanza: Stanza
    let to: JID?
    let isSet: Bool
    /// The namespace of the inner request.
    let namespace: String

    /// Reads a request; every broken rule is `forbidden` (6.3).
    init(_ outer: Stanza, _ element: Element, of user: BareJID) throws(StanzaError) {
      var children = element.children.makeIterator()
      guard let child = children.next(), children.next() == nil, child.is(.iq),
        let inner = Stanza(child, streamLanguage: outer.language), let type = inner.iqType, type.isRequest,
        type == outer.iqType
      else { throw StanzaError(.forbidden, "one IQ of jabber:client of the same type (XEP-0356 6.3)") }
      if let from = try inner.from(), from != JID(user) {
        throw StanzaError(.forbidden, "the IQ is from \(user), or does not say so (XEP-0356 6.3)")
      }
      try inner.validate()
      stanza = inner
      to = try inner.to()
      isSet = type == .set
      namespace = inner.payload?.namespace ?? ""
    }
  }

  // MARK: Impersonation

  /// Carries out a component's request to a user's account as that user, if it is allowed.
  ///
  /// - Parameter answer: takes the result; if `nil`, the result is the answer.
  static func act(
    _ turn: Turn, by right: Right, answer: ((StanzaError?, (inout ElementWriter) -> Void) -> Void)? = nil,
    _ body: @escaping (Turn) throws(StanzaError) -> Void
  ) throws(StanzaError) {
    guard let link = turn.session.impersonated?.component, let address = turn.to?.bare,
      address.domain == link.home.domain, turn.parley.privileges[link.realm].allows(right)
    else { throw StanzaError(.forbidden) }
    let hub = turn.parley.hub
    turn.fetch { reader -> (Party, ContactSnapshot)? in
      guard let user = try reader.user(address), user.state == .active else { return nil }
      let contactSnapshot =
        try hub.contactSnapshot(of: user.id) ?? ContactSnapshot(of: user, in: hub.contactGroups, reader)
      return (Party(id: user.id, realm: user.realm, address: user.address), contactSnapshot)
    } reply: { (found) throws(StanzaError) in
      guard let (user, contactSnapshot) = found, link.work != nil else { throw StanzaError(.forbidden) }
      let answer = answer ?? { error, body in turn.session.answer(error, body) }
      guard
        let impersonated = try? ImpersonatedSession(
          user, contactSnapshot, by: right, at: link, answered: answered(turn, right), answer)
      else {
        throw StanzaError(.jidMalformed)
      }
      ImpersonatedSession.handle(turn.stanza, to: turn.to, as: impersonated, body)
    }
  }

  /// Returns the addressee of the result: the user for an encapsulated request, otherwise the component.
  private static func answered(_ turn: Turn, _ right: Right) -> String {
    if case .request = right { return turn.to?.bare.description ?? "" }
    return turn.session.answered
  }
}

extension Stanza {
  /// Reads the stanza in `<forwarded/>` (XEP-0297). Libraries for components leave it in the namespace of their stream,
  /// which is read as that of clients.
  ///
  /// - Parameter language: that of the stanza around it, which is its default (XML 1.0 2.12).
  init?(forwarded: Element, language: String? = nil) {
    guard let child = forwarded.children.first(where: { !$0.is(.delay) }) else { return nil }
    self.init(child, streamLanguage: language)
  }

  /// Returns the children as they will be written again.
  func extras(_ loopContext: LoopContext, except isLeftOut: (Element) -> Bool) -> [UInt8] {
    var writer = loopContext.takeWriter()
    writer.children(of: element, except: isLeftOut)
    let bytes = Array(writer.buffer.readableBytesView)
    loopContext.give(writer)
    return bytes
  }
}
