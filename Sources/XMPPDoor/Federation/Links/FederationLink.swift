import Addresses
import Dialogs
import NIOCore
import Synchronization
import XMLStream
import XMPP

/// The link of a pair of domains: for the hub it is one live session for all users of the remote domain. It exists from its
/// first use on, with or without a stream; `LinkDriver` does its work.
final class FederationLink: RemoteLink {
  let id = SessionID(.random(in: .min ... .max))
  let pair: DomainPair
  let party: Party
  /// The local domain, from which the server sends its own requests.
  let localAddress: BareJID
  let home: Realm
  let door: DoorContext
  let mounted: MountedLoop
  unowned let federation: Federation
  private let box: NIOLoopBoundBox<LinkDriver?>
  /// The attempts that had failed before the server was restarted.
  private let failures: Int
  /// The present use of the link (`LinkUse`).
  private let use = Atomic<UInt8>(LinkUse.busy.rawValue)
  private let retired = Atomic<Bool>(false)
  private let admitted = Atomic<Bool>(true)

  /// Creates a link, on any thread.
  init(
    _ pair: DomainPair, _ addresses: (local: BareJID, remote: BareJID), home: Realm, door: DoorContext,
    on mounted: MountedLoop, failures: Int,
    _ federation: Federation
  ) {
    self.pair = pair
    self.home = home
    self.door = door
    self.mounted = mounted
    self.federation = federation
    self.failures = failures
    localAddress = addresses.local
    party = Party(remote: addresses.remote, realm: door.parley.federatedRealm(of: home.id).id)
    box = .makeEmptyBox(eventLoop: mounted.loop)
  }

  var lane: Lane { mounted.lane }

  /// Runs `body` on the link's loop, at once if that is the current one.
  func run(_ body: @escaping @Sendable (LinkDriver) -> Void) {
    if mounted.loop.inEventLoop { return body(driver) }
    lane.run { body(self.driver) }
  }

  /// Returns the result of `body` on the link's loop.
  func ask<Answer: Sendable>(_ body: @escaping @Sendable (LinkDriver) -> Answer) async -> Answer {
    await withCheckedContinuation { continuation in run { continuation.resume(returning: body($0)) } }
  }

  /// Whether the operator admits the domain.
  var isAdmitted: Bool { admitted.load(ordering: .relaxed) }
  /// Returns whether this has changed.
  func setAdmitted(_ isAdmitted: Bool) -> Bool { admitted.exchange(isAdmitted, ordering: .relaxed) != isAdmitted }

  /// Stops with the server. The future ends with the link's streams, or after this time.
  func stop(within time: TimeAmount) -> EventLoopFuture<Void> {
    let end = mounted.loop.makePromise(of: Void.self)
    run { $0.stop(end, within: time) }
    return end.futureResult
  }

  // MARK: Being forgotten

  /// Notes the present use of the link. It is called for each event, and usually changes nothing.
  func note(_ use: LinkUse) {
    if self.use.exchange(use.rawValue, ordering: .relaxed) != use.rawValue { federation.note(self, use) }
  }

  /// Whether the link is forgotten: later deliveries are for the next link of its pair.
  var isRetired: Bool { retired.load(ordering: .relaxed) }
  func retire() { retired.store(true, ordering: .relaxed) }

  // MARK: Used on the loop

  var driver: LinkDriver {
    if let driver = box.value { return driver }
    let driver = LinkDriver(self, failures: failures)
    box.value = driver
    return driver
  }

  func receive(_ delivery: Delivery) { driver.receive(delivery) }
  func batchEnded() { driver.flush() }

  // MARK: RemoteLink

  var realm: RealmID { party.realm }
  var loopContext: LoopContext { mounted.loopContext.value }
  var work: LinkWork? { driver.work }
  func speaksFor(_ domain: String) -> Bool { domain == pair.local }
  var isWritable: Bool { driver.isWritable }
  func write(_ body: (inout ElementWriter) -> Void) {
    var writer = loopContext.takeWriter()
    body(&writer)
    let bytes = Array(writer.buffer.readableBytesView)
    loopContext.give(writer)
    if !bytes.isEmpty { driver.send(.bytes(bytes)) }
  }
  func flush() { driver.flush() }
}
