import Addresses
import Basics
import Dialogs
import Logging
import NIOCore
import XMLStream
import XMPP

/// A component's TCP connection (XEP-0114): the stream machine on a `RemoteConnection`. There is no TLS: the component
/// runs on this machine or in a trusted network. Reading also pauses at the maximum of posts in flight.
final class ComponentConnection: RemoteConnection {
  private var machine: ComponentMachine
  private(set) var link: ComponentLink?
  /// The component's posts and requests; `nil` before it is connected.
  private(set) var work: LinkWork?
  private var deadline: Scheduled<Void>?
  /// The privileges that the component has been told (XEP-0356).
  private var privileges = Privileges.none
  /// The users whose presence the component is still to be sent.
  private var unshown: ArraySlice<UserID> = []
  /// The time of the last whitespace, at first that of the beginning.
  private var keptAliveAt = NIODeadline.now()

  init(door: DoorContext, loopContext: LoopContext, peer: String) {
    machine = ComponentMachine(secrets: door.options.components.mapValues(\.secret))
    super.init(
      door: door, loopContext: loopContext, peer: peer, contentNamespace: NS.component,
      unreadBytesMax: DoorLimits.componentUnreadBytesMax)
  }

  // MARK: The connection's events

  override var readerLimits: ReaderLimits { link == nil ? .unauthenticated : .authenticated }
  override var isHeldUp: Bool { work?.isFull == true }
  override var isClosed: Bool { machine.phase == .closed }

  override func began() {
    loopContext.add(component: self)
    let me = NIOLoopBound(self, eventLoop: loopContext.loop)
    deadline = loopContext.loop.scheduleTask(in: DoorLimits.negotiation) {
      if me.value.link == nil { me.value.fail(StreamError(.connectionTimeout)) }
    }
  }

  override func failed(_ error: any Error) {
    door.logger.debug("a component's connection failed", metadata: ["peer": "\(peer)", "error": "\(error)"])
  }

  override func writabilityChanged() {
    if isWritable { work?.resumeReading() }
    showPresences()
  }

  override func received(_ event: consuming ReaderEvent) {
    switch event {
    case .opened(let header): perform(machine.opened(header, id: DoorContext.randomID()))
    case .element(let element):
      countElement()
      perform(machine.received(element))
    case .closed: perform(machine.closed())
    case .whitespace: break
    case .violation(let violation): perform(machine.violated(violation, id: DoorContext.randomID()))
    }
  }

  private func perform(_ output: ComponentMachine.Output) {
    switch output {
    case .nothing: break
    case .open(let response): write { response.write(framing: .document, into: &$0) }
    case .attach(let domain): attach(domain)
    case .stanza(let stanza):
      guard let link else { return }
      ComponentInbound.received(stanza, from: link)
    case .unaddressed(let stanza):
      guard stanza.mayBeAnswered, let domain = machine.domain else { return }
      let error = StanzaError(.badRequest, "a stanza of a component needs 'from' and 'to'")
      door.log(error, of: stanza, ["from": domain])
      write { error.writeReply(to: stanza, into: &$0, from: link?.home.domain, to: domain) }
    case .refuse(let response, let error):
      door.logger.warning(
        "a component's stream was ended",
        metadata: ["peer": "\(peer)", "component": "\(machine.domain ?? "")", "error": "\(error.condition)"])
      write { writer in
        response?.write(framing: .document, into: &writer)
        error.write(into: &writer)
        StreamFraming.document.writeClose(into: &writer)
      }
      closeChannel()
    case .finish:
      write { StreamFraming.document.writeClose(into: &$0) }
      closeChannel()
    }
  }

  private func attach(_ domain: String) {
    guard let realm = door.parley.remote(domain: domain), let address = BareJID(parsing: domain),
      let home = door.parley.realms.first(where: { $0.id == door.parley.home(of: realm.id) })
    else { return perform(machine.fail(StreamError(.hostUnknown), id: "")) }
    let link = ComponentLink(domain: address, realm: realm.id, home: home, self)
    guard door.parley.hub.attach(link, domain: domain) else {
      return perform(machine.fail(StreamError(.conflict, "the component is connected already"), id: ""))
    }
    self.link = link
    sending = door.parley.sending.budget(of: .component(domain), now: door.parley.clock.now)
    work = LinkWork(link) { [weak self] in self?.goOn() }
    machine.accepted()
    deadline?.cancel()
    door.logger.info("component connected", metadata: ["component": "\(domain)", "peer": "\(peer)"])
    write { $0.raw("<handshake/>") }
    NamespaceDelegation.attached(link, door) { write($0) }
    privilegesChanged()
  }

  // MARK: Privileges (XEP-0356)

  /// Tells the component its privileges, if they have changed.
  func privilegesChanged() {
    guard let link else { return }
    let now = door.parley.privileges[link.party.realm]
    guard now != privileges else { return }
    write { PrivilegedEntity.advertise(now, before: privileges, from: link.home, to: link.party.address, into: &$0) }
    flush()
    let sees = now.presence != .none && privileges.presence == .none
    privileges = now
    // 7: as if it had been connected before they came online.
    if sees {
      unshown = door.parley.hub.users(in: link.home.id)[...]
      showPresences()
    } else if now.presence == .none {
      unshown = []
    }
  }

  /// Sends presence as the component takes it. Changes in between are sent beside it.
  private func showPresences() {
    guard let link, !unshown.isEmpty, isWritable else { return }
    for _ in 0..<DoorLimits.presencesShownAtOnce {
      guard let user = unshown.popFirst() else { break }
      if door.parley.hub.contactSnapshot(of: user)?.blocks(JID(link.party.address)) != false { continue }
      for presence in door.parley.hub.presences(of: user) {
        write { Outbound.write(presence, to: link.party.address, into: &$0) }
      }
    }
    flush()
    let me = NIOLoopBound(self, eventLoop: loopContext.loop)
    if !unshown.isEmpty { loopContext.loop.execute { me.value.showPresences() } }
  }

  /// Sends a user's roster push (4.3).
  func told(_ change: ContactChange, of owner: Party) {
    guard change.push, let link else { return }
    let version = door.parley.cursor(change.contact.version, in: owner.realm)
    let name = door.parley.hub.contactGroups.name(of: change.contact.address, seenBy: owner.id)
    write {
      Roster.writePush(
        change, sharedName: name, version: version, id: DoorContext.randomID(), to: link.party.address.description,
        from: owner.address.description, into: &$0)
    }
  }

  // MARK: Time

  /// Called every `LoopContext.tick`. What is sent to a machine that is gone is not acknowledged, and ends the connection in
  /// time (`DoorLimits.componentKeepAlive`).
  func tick(_ now: NIODeadline) {
    guard link != nil else { return }
    countUnread(atTick: true)
    guard isStanzaInTime(now) else { return fail(.lateStanza) }
    guard now > keptAliveAt + DoorLimits.componentKeepAlive else { return }
    keptAliveAt = now
    // RFC 6120 4.6.1.
    write { $0.raw(" ") }
    flush()
  }

  // MARK: Writing

  func write(_ body: (inout ElementWriter) -> Void) { append(body) }

  override func fail(_ error: StreamError) { perform(machine.fail(error, id: DoorContext.randomID())) }

  override func ended() {
    deadline?.cancel()
    loopContext.remove(component: self)
    if let link, let domain = machine.domain {
      door.logger.info("component gone", metadata: ["component": "\(domain)"])
      door.parley.hub.detach(link, domain: domain, time: door.parley.clock.now)
      door.questions.gone(domain)
      door.nested.end(domain, link.id)
    }
    link = nil
    work?.end()
    work = nil
    unshown = []
  }
}
