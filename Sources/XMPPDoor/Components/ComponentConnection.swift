import Addresses
import Basics
import Dialogs
import Logging
import NIOCore
import XMLStream
import XMPP

/// A component's TCP connection (XEP-0114): bytes in and out, and the stream machine. There is no TLS: the component
/// runs on this machine or in a trusted network.
///
/// Reading pauses at the maximum of posts in flight, while the component does not read, and for the rest of a time
/// slice in which it has sent its maximum: TCP then pushes back.
final class ComponentConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  let door: DoorContext
  let loopContext: LoopContext
  private let peer: String
  private var context: ChannelHandlerContext?
  private var machine: ComponentMachine
  private var reader: ElementReader? = ElementReader(limits: .unauthenticated)
  private var writer: ElementWriter?
  private(set) var link: ComponentLink?
  private var isOver = false

  private var backlog = ByteBuffer()
  private var isProcessing = false
  private var wantsRead = false
  /// The stanzas of the posts whose outcome is awaited, in order.
  private var inFlight: [Stanza] = []
  private var inFlightHead = 0
  /// The work that waits until so many posts are settled.
  private var waiting: [(after: Int, run: () -> Void)] = []
  private var postedCount = 0
  private var settledCount = 0
  /// The posts that found the inbox full.
  private var unsent: [Post] = []
  private var sliceCount = 0
  private var isSliceOver = false
  private var deadline: Scheduled<Void>?
  /// The impersonated sessions, until their request is answered.
  private var impersonated: [ObjectIdentifier: XMPPSession] = [:]
  /// The privileges that the component has been told (XEP-0356).
  private var privileges = Privileges.none
  /// The users whose presence the component is still to be sent.
  private var unshown: ArraySlice<UserID> = []

  init(door: DoorContext, loopContext: LoopContext, peer: String) {
    self.door = door
    self.loopContext = loopContext
    self.peer = peer
    machine = ComponentMachine(secrets: door.options.components.mapValues(\.secret))
  }

  // MARK: The channel's events

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    loopContext.add(component: self)
    let me = NIOLoopBound(self, eventLoop: loopContext.loop)
    deadline = loopContext.loop.scheduleTask(in: DoorLimits.negotiation) {
      if me.value.link == nil { me.value.fail(StreamError(.connectionTimeout)) }
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { over() }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    readOn()
  }

  func channelInactive(context: ChannelHandlerContext) {
    over()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    door.logger.debug("a component's connection failed", metadata: ["peer": "\(peer)", "error": "\(error)"])
    context.close(promise: nil)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    flush()
    showPresences()
    goOn()
    context.fireChannelWritabilityChanged()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    if isPaused || backlog.readableBytes > 0 {
      backlog.writeBuffer(&bytes)
    } else {
      process(&bytes)
      if bytes.readableBytes > 0 { backlog.writeBuffer(&bytes) }
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    flush()
    readOn()
    context.fireChannelReadComplete()
  }

  private var isPaused: Bool {
    inFlight.count - inFlightHead >= DoorLimits.postsInFlightMax || waiting.count >= DoorLimits.waitingTurnsMax
      || !unsent.isEmpty || isSliceOver || impersonated.count >= DoorLimits.waitingTurnsMax
      || context?.channel.isWritable == false
  }

  /// Reads if nothing pauses: the channel reads only on request.
  private func readOn() {
    if isOver { return }
    if isPaused { wantsRead = true } else { context?.read() }
  }

  /// Continues if nothing pauses any more.
  private func goOn() {
    guard !isPaused, !isProcessing, !isOver else { return }
    if backlog.readableBytes > 0 {
      var bytes = backlog
      backlog = ByteBuffer()
      process(&bytes)
      if bytes.readableBytes > 0 { backlog.writeBuffer(&bytes) }
      flush()
    }
    if wantsRead, !isPaused {
      wantsRead = false
      context?.read()
    }
  }

  private func process(_ bytes: inout ByteBuffer) {
    isProcessing = true
    defer { isProcessing = false }
    while bytes.readableBytes > 0, !isPaused, !isOver, machine.phase != .closed {
      guard var reader = reader.take() else { preconditionFailure("a reader is in use while it is taken") }
      let read = bytes.withUnsafeReadableBytes { raw in reader.feed(raw) { event in handle(event) } }
      bytes.moveReaderIndex(forwardBy: read)
      if link != nil { reader.limits = .authenticated }
      self.reader = consume reader
    }
    if isOver || machine.phase == .closed { bytes.clear() }
  }

  private func handle(_ event: consuming ReaderEvent) -> ReaderVerdict {
    let before = machine.phase
    switch event {
    case .opened(let header): perform(machine.opened(header, id: DoorContext.randomID()))
    case .element(let element): perform(machine.received(element))
    case .closed: perform(machine.closed())
    case .whitespace: break
    case .violation(let violation): perform(machine.violated(violation, id: DoorContext.randomID()))
    }
    return machine.phase == before && !isPaused && !isOver ? .proceed : .stop
  }

  private func perform(_ output: ComponentMachine.Output) {
    switch output {
    case .nothing: break
    case .open(let response): write { response.write(framing: .document, into: &$0) }
    case .attach(let domain): attach(domain)
    case .stanza(let stanza):
      count()
      guard let link else { return }
      ComponentInbound.received(stanza, from: link, self)
    case .unaddressed(let stanza):
      count()
      guard stanza.mayBeAnswered, let domain = machine.domain else { return }
      let error = StanzaError(.badRequest, "a stanza of a component needs 'from' and 'to'")
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
      close()
    case .finish:
      write { StreamFraming.document.writeClose(into: &$0) }
      close()
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
    guard let link, !unshown.isEmpty, context?.channel.isWritable == true else { return }
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
    write {
      Roster.writePush(
        change, version: version, id: DoorContext.randomID(), to: link.party.address.description,
        from: owner.address.description, into: &$0)
    }
  }

  // MARK: Requests

  /// Holds an impersonated session until `ended`.
  func began(_ session: XMPPSession) { impersonated[ObjectIdentifier(session)] = session }

  func ended(_ session: XMPPSession) {
    impersonated[ObjectIdentifier(session)] = nil
    goOn()
  }

  /// Counts a stanza: a component that sends more than a server full of users would waits until the slice is over.
  private func count() {
    if sliceCount == 0 {
      let me = NIOLoopBound(self, eventLoop: loopContext.loop)
      loopContext.loop.scheduleTask(in: DoorLimits.componentSlice) {
        me.value.sliceCount = 0
        me.value.isSliceOver = false
        me.value.goOn()
      }
    }
    sliceCount += 1
    if sliceCount >= DoorLimits.componentStanzasPerSlice { isSliceOver = true }
  }

  // MARK: Posts

  /// Queues a post of one of the component's users; if it is refused, `stanza` is answered with the error.
  func post(_ intent: Intent, by author: Party, for stanza: Stanza, behalf: Behalf? = nil) {
    guard let link else { return }
    inFlight.append(stanza)
    postedCount += 1
    let post = Post(author: author, intent: intent, completion: .session(link, token: 1), behalf: behalf)
    if !unsent.isEmpty || !door.parley.submit(post) {
      unsent.append(post)
      if unsent.count == 1 { submitWhenRoom() }
    }
  }

  /// Runs work once all posts so far are done, so that nothing overtakes them.
  func afterPosts(_ run: @escaping () -> Void) {
    if settledCount == postedCount { return run() }
    waiting.append((postedCount, run))
  }

  private func submitWhenRoom() {
    let me = NIOLoopBound(self, eventLoop: loopContext.loop)
    let loop = loopContext.loop
    door.parley.whenRoom { loop.execute { me.value.submitUnsent() } }
  }

  private func submitUnsent() {
    while let post = unsent.first {
      guard door.parley.submit(post) else { return submitWhenRoom() }
      unsent.removeFirst()
    }
    goOn()
  }

  /// Handles the outcome of a post; outcomes come in the order of the posts.
  func settled(_ result: Result<Receipt, Problem>) {
    guard inFlightHead < inFlight.count else { return }
    let stanza = inFlight[inFlightHead]
    inFlightHead += 1
    if inFlightHead == inFlight.count {
      inFlight.removeAll(keepingCapacity: true)
      inFlightHead = 0
    }
    settledCount += 1
    if case .failure(let problem) = result { refuse(stanza, StanzaError(problem)) }
    while let next = waiting.first, next.after <= settledCount {
      waiting.removeFirst()
      next.run()
    }
    goOn()
  }

  func refuse(_ stanza: Stanza, _ error: StanzaError) {
    guard stanza.mayBeAnswered else { return }
    write { error.writeReply(to: stanza, into: &$0) }
  }

  // MARK: Writing

  func write(_ body: (inout ElementWriter) -> Void) {
    guard !isOver else { return }
    var writer = writer.take() ?? loopContext.takeWriter()
    body(&writer)
    self.writer = writer
  }

  func flush() {
    guard let context, let writer = writer.take() else { return }
    guard context.channel.isWritable else {
      let count = writer.buffer.readableBytes
      self.writer = consume writer
      // It does not read: stanzas for its users are lost, as they would be with the connection.
      if count > DoorLimits.componentUnreadBytesMax { context.close(mode: .all, promise: nil) }
      return
    }
    if writer.buffer.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(writer.buffer), promise: nil) }
    loopContext.give(writer)
  }

  func fail(_ error: StreamError) { perform(machine.fail(error, id: DoorContext.randomID())) }

  private func close() {
    flush()
    context?.close(mode: .all, promise: nil)
  }

  private func over() {
    guard !isOver else { return }
    isOver = true
    deadline?.cancel()
    loopContext.remove(component: self)
    context = nil
    if let link, let domain = machine.domain {
      door.logger.info("component gone", metadata: ["component": "\(domain)"])
      door.parley.hub.detach(link, domain: domain, time: door.parley.clock.now)
      door.questions.gone(domain)
      door.nested.end(domain, link.id)
    }
    link = nil
    waiting = []
    // Their requests are carried out; there is no connection to answer on.
    for session in impersonated.values { session.handle.ended() }
    impersonated = [:]
    unshown = []
  }
}
