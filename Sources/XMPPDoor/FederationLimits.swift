import NIOCore

/// The bounds of federation. Each states its number, its reason and what happens at it.
enum FederationLimits {
  // Streams.
  /// The inbound streams of the whole server that are not verified yet, each of which costs some kilobytes. At the bound the
  /// network that has the most of them gives up its oldest to a newcomer of a network that has fewer.
  static let unverifiedMax = 1_000
  /// The same of one address (IPv4) or one network of 64 bits (IPv6): a server opens a stream for each pair of domains. A newcomer
  /// takes the place of the oldest one that has had the time below, in which nearly all are verified, and is refused otherwise. So a
  /// server behind the address of a host whose streams say nothing does not keep its neighbours out.
  static let unverifiedPerAddressMax = 20
  static let unverifiedUndisturbed: Duration = .seconds(10)
  /// The time from the connection to a verified stream; then `connection-timeout`. A callback of dialback fits.
  static let negotiation: TimeAmount = .seconds(30)
  /// The time from one check of a peer's signature over a handshake to the next on a loop. Each takes up to a millisecond, with the
  /// largest key that is checked (`PeerLimits.keyBytesMax`) as with the curve P-384. So the twenty streams of an address wait 80 ms at
  /// most, and the peers of a restarted server come back at 250 a second and loop. As many wait as streams are negotiated; one whose
  /// peer has left takes no time.
  static let peerCheckPause: TimeAmount = .milliseconds(4)
  /// The bytes of a stanza before the stream is verified, and after (XEP-0478); a longer one is `policy-violation`.
  static let unverifiedStanzaBytesMax = 10 * 1024
  static let stanzaBytesMax = 256 * 1024
  /// The streams that one domain elsewhere may open; the newest are closed. A server opens one for each of our domains.
  static let streamsPerDomainMax = 8
  /// The same of all domains of one zone (`DomainZone`), as subdomains cost nothing, and verified streams are closed for nobody. It
  /// is more than those of all owners below a public suffix open: 128 domains with all their streams. Beyond it only domains with
  /// acquaintances here open streams, so that nobody keeps them out who has domains below the same suffix; up to twice as many, a
  /// tenth of `linksMax`, as an account here makes subdomains known by writing to them.
  static let streamsPerZoneMax = 1_024
  static let streamsPerKnownZoneMax = 2_048
  /// The pairs of domains that one stream is verified for; further ones are refused with `policy-violation`.
  static let pairsPerStreamMax = 32
  /// The bytes that may wait for a domain that reads none; then its stream is closed. What must arrive is in the outbox.
  static let unreadBytesMax = 8 * 1024 * 1024
  /// The judgements of servers that are under way, some of which wait for the DNS: each has two questions or more. Others wait in
  /// turn (`JudgementTurns`).
  static let judgementsMax = 256
  /// The same of one address (IPv4) or one network of 64 bits (IPv6): most take a tenth of a second, and name servers that do not answer
  /// hold them up for ten.
  /// Domains with acquaintances here have as many of their own, so that they do not wait for those that nobody here knows.
  static let judgementsPerNetworkMax = 8
  /// The same of one zone in a network: one server without name servers leaves the most to its neighbours behind the same address, and
  /// twenty a second are judged of a host whose domains are in one zone.
  static let judgementsPerNetworkZoneMax = 2
  /// The same of one zone (`DomainZone`), an eighth of all.
  static let judgementsPerZoneMax = judgementsMax / 8
  /// The judgements that wait or are under way, of all networks and of one, some hundred bytes each: one network has those of a few
  /// seconds, for all the domains of a large host. At a bound the next stream, or dialback key, gets `resource-constraint`, except that
  /// at the bound of all a network with fewer than `judgementsPerNetworkMax` still adds one.
  static let judgementsHeldMax = 16_384
  static let judgementsHeldPerNetworkMax = 256
  /// The callbacks of dialback that are under way, for all domains and for one, and the share of one zone (`DomainZone`); further ones
  /// get `resource-constraint`.
  static let callbacksMax = 256
  static let callbacksPerDomainMax = 4
  static let callbacksZoneShare = 8

  // Links.
  /// The links of the whole server; a quarter of the limit of open files, if that is less. At the bound those that were idle
  /// longest are forgotten. When the last eighth of them is reached, links for which no rows wait become idle, those of the zone with the
  /// most first (`DomainZone`): their stanzas that are stored nowhere fail.
  static let linksMax = 20_000
  static let linksSpareShare = 8
  /// The posts of all domains of one zone (`DomainZone`) whose outcomes are awaited: those of 16 links, a sixteenth of
  /// `Limits.inboxPostsMax`, or of one if it may have more. Beyond it a link of the zone is not read while it has a post under way;
  /// those of domains with acquaintances here are, up to a quarter of the inbox, so that the others do not hold them up.
  static let postsPerZoneMax = 1_024
  static let postsPerKnownZoneMax = 4_096
  /// The links that are being opened at once, as a burst of new domains costs look-ups and handshakes; others wait. Half of them are
  /// for domains with acquaintances here.
  static let openingMax = 64
  /// The same of the domains of one zone, twice where some have acquaintances here: servers of one owner that do not answer take the
  /// slots of nobody else, and those of another zone wait for a few of them.
  static let openingPerZoneMax = 4
  /// The pause before a domain that could not be reached is tried again. It doubles to the maximum, and each pause is
  /// longer or shorter by up to a fifth, so that domains do not come back in step.
  static let retryFirst: TimeAmount = .seconds(5)
  static let retryMax: TimeAmount = .seconds(600)
  static let retrySpread = 0.2
  /// The life of a stream from which on its end counts as an accident and not as a refusal: it is opened again at once.
  static let settled: TimeAmount = .seconds(60)
  /// The stanzas and bytes that are stored nowhere and wait for a stream that is being opened; further ones fail. A roster with a
  /// thousand contacts at one domain has two for each, a presence and the question for theirs, and after a restart more users come at
  /// the same time.
  static let waitingMax = 4_096
  static let waitingBytesMax = 4 * 1024 * 1024
  /// The time for which they wait, which is how long people wait for an answer; then they fail.
  static let waitingTime: TimeAmount = .seconds(20)
  /// The same of presence, and of everything that waits beside it then: after a restart it takes minutes until a thousand domains,
  /// some of which do not answer, have had a slot. People of a domain that is not reached in this time see those here as offline.
  static let presenceWaitingTime: TimeAmount = .minutes(10)
  /// The waiting stanzas that a stream is given at once, a third of a millisecond; the rest follows when the event loop has served others.
  static let liveAtOnce = 128
  /// The bytes that such a stanza is counted with beside what its sender has chosen.
  static let waitingStanzaBytes = 256
  /// The rows of the outbox that a link reads at once.
  static let rowsAtOnce = 64
  /// The rows written and not taken at which a link stops writing, a few dozen bytes each: those of a quarter of a second
  /// at 4,000 a second, which is as far away as a server is. What is committed meanwhile is read from the store again,
  /// which costs more than a tenth of what a message costs.
  static let rowsUntakenMax = 1_024
  /// The time in which rows that were taken are gathered while others are under way, as each removal is a commit. After
  /// a crash of this server they are sent again, as those under way are.
  static let takenGathered: TimeAmount = .milliseconds(10)
  /// A domain that does not acknowledge stanzas (XEP-0198) is pinged after so many rows, after so much quiet, or so long
  /// after a row: what no ping has followed is sent again after a crash of either server.
  static let rowsPerBarrier = 64
  static let barrierQuiet: TimeAmount = .milliseconds(200)
  static let barrierDelayMax: TimeAmount = .seconds(1)
  /// The time after which it is pinged again, as rows wait for the answer: a server that comes back accepts streams before
  /// it opens the one that its answers take.
  static let barrierRepeat: TimeAmount = .seconds(5)
  /// The time in which a domain has to acknowledge rows, or to answer a ping behind them; then the stream is dead if
  /// nothing else came from it.
  static let proofTime: TimeAmount = .seconds(30)
  /// The pings left unanswered in a row, on different streams of a domain that is heard, after which rows count as taken
  /// when they are written.
  static let barriersUnansweredMax = 2
  /// The requests to a domain whose answer is awaited; the oldest is forgotten, and its requester waits in vain.
  static let requestsMax = 1_024
  /// The age of an entry from which on it is sent with the time of its commit (XEP-0203).
  static let delayedAfter: Duration = .seconds(10)
  /// The stanzas under way between two realms of this process at which rows wait in the outbox; at twice as many the
  /// stream ends, as live stanzas wait nowhere.
  static let loopbackStanzasMax = 1_024
  /// The links that are forgotten, or become idle, together when there are too many: finding the zone with the most looks at all zones.
  static let linksRetiredAtOnce = 256
  // Strangers.
  /// The people elsewhere who are remembered as anonymous (XEP-0489); at the bound all are forgotten, and known again with
  /// their next message.
  static let anonymousMax = 10_000
  // Block lists.
  /// The entries of one list, of some 100 bytes of memory each; a longer list is not read, and stays as it was.
  static let blocklistEntriesMax = 100_000
  /// The entries that are asked for at once, and the pages of a list; with more it counts as too long.
  static let blocklistPage = 200
  static let blocklistPagesMax = 1_000
  /// The entries that one transaction stores.
  static let blocklistWrittenAtOnce = 500
  /// The time in which a service has to answer, and those until a list is read again: in case a notification was lost,
  /// or after a failure.
  static let blocklistAnswer: Duration = .seconds(30)
  static let blocklistReadAgain: Duration = .seconds(6 * 3_600)
  static let blocklistRetry: Duration = .seconds(600)
  // Reports.
  /// The bytes of the reporter's text and the quoted messages of a forwarded report, so that escaped it is below what
  /// servers take; further messages are left out. A few show what it is about.
  static let forwardedReportBytesMax = 32 * 1024
  /// The time in which a domain has to answer where it takes reports; then it is asked again later.
  static let reportAnswer: Duration = .seconds(30)
  /// The time that streams have at the stop of the server to hand over what is written.
  static let drain: TimeAmount = .seconds(5)
}

/// The bounds of the links of a server.
struct LinkLimits {
  var links = FederationLimits.linksMax
  var retiredAtOnce = FederationLimits.linksRetiredAtOnce
  var opening = FederationLimits.openingMax
  var openingPerZone = FederationLimits.openingPerZoneMax
  var drain = FederationLimits.drain
}

/// The bounds of a block list.
struct BlocklistLimits {
  var entries = FederationLimits.blocklistEntriesMax
  var pages = FederationLimits.blocklistPagesMax
}

/// The bounds of the users of one link in rooms here.
struct ResidentLimits {
  var all = DoorLimits.residentsMax
  var inRoom = DoorLimits.residentsPerRoomMax
  var ofUser = DoorLimits.residentsPerUserMax

  /// Returns whether one more may enter a room.
  ///
  /// - Parameters:
  ///   - residents: The number of those who are in any room.
  ///   - inRoom: The number of those who are in this one.
  ///   - ofUser: The number of those of the same user; `nil` for a component's, which have no such bound.
  ///   - isResident: Whether the one who enters is in another room.
  func admit(residents: Int, inRoom: Int, ofUser: Int?, isResident: Bool) -> Bool {
    (residents < all && (ofUser ?? 0) < self.ofUser || isResident) && inRoom < self.inRoom
  }
}
