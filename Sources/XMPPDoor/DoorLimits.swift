import NIOCore

/// Every bound of this door: its number, why, and what happens at it.
enum DoorLimits {
  /// From the connection to a bound resource; then `connection-timeout`. Slow
  /// phones need several round trips over bad networks.
  static let negotiation: TimeAmount = .seconds(60)
  /// From our closing tag to theirs; then the connection is closed.
  static let closing: TimeAmount = .seconds(5)
  /// Silence after which a client is asked for a sign of life, and how long it
  /// has to give one. Mobile networks drop mappings after some minutes.
  static let silence: TimeAmount = .seconds(300)
  static let answer: TimeAmount = .seconds(60)
  /// A WebSocket is pinged so often: proxies close what is silent for a minute.
  static let webSocketPing: TimeAmount = .seconds(30)
  /// Pieces of one WebSocket message; at the bound the stream ends with `policy-violation`. Browsers send one.
  static let fragmentsMax = 64
  /// Bytes of the `<body/>` of a BOSH request beside what is in it.
  static let bodyOverheadBytes = 4_096
  /// Bytes that wait for the next request of a BOSH client: it then counts as one that does not read, until as few wait.
  static let bodyWaitingBytesMax = 256 * 1024
  static let bodyWaitingBytesLow = 32 * 1024
  /// Posts of one session that wait for their commit: then its socket is not
  /// read, and TCP pushes back on the client.
  static let postsInFlightMax = 64
  /// Questions of one session to the store that are under way; then its socket is not read. A page of an archive is a quarter
  /// of a megabyte, and what fits one read of the socket asks for hundreds of pages.
  static let lookupsMax = 4
  /// Bytes that wait for a client which takes none: its session lags as soon as
  /// the channel is full (its messages wait in the log, its requests unread), and
  /// from here on it loses presence updates.
  static let waitingBytesMax = 1024 * 1024
  /// At so many it is cut off: what is in no log, as the presences of rooms,
  /// still came. Its session can be resumed.
  static let unreadBytesMax = 4 * 1024 * 1024
  /// Stanzas a client may leave unacknowledged (XEP-0198) before its session
  /// lags: what is said from then on it reads from the log, once it has
  /// acknowledged half of them. A quarter of what is kept at all, so that what
  /// does not wait in the log (presence, answers) has room. A connected client
  /// that owes so many for `answer` is cut off; its session can be resumed.
  static let unacknowledgedMax = 512
  /// Messages that a session is told before its offline messages, which are left out of those: a client that is available with
  /// a negative priority for long. At the bound the oldest is forgotten, and told again when the priority rises.
  static let earlyMessagesMax = 1_000
  /// Connections that have not yet authenticated, of the whole server: the
  /// newest are refused. Each costs some kilobytes.
  static let unauthenticatedMax = 10_000
  /// Stanzas that wait for an earlier answer of the same session; further ones
  /// are refused with `resource-constraint`.
  static let waitingTurnsMax = 256
  /// Suspended sessions kept, of the whole server: the oldest go first.
  static let suspendedMax = 100_000
  // Components (XEP-0114).
  /// Stanzas that a component may send in a slice of time; then it is not read until the slice is over, and TCP pushes back:
  /// 2,000 a second, more than a gateway's users say and far less than what would keep others waiting.
  static let componentStanzasPerSlice = 200
  static let componentSlice: TimeAmount = .milliseconds(100)
  /// Bytes that wait for a component which takes none; then the connection is closed, and it connects again.
  static let componentUnreadBytesMax = 8 * 1024 * 1024
  /// Connections that may be components, of the whole server: each component once, and some that are wrong. Above it the
  /// newest are closed.
  static let componentConnectionsMax = 64
  /// Users whose presence a component is told at one go when it comes (XEP-0356 7); others have their turn in between.
  static let presencesShownAtOnce = 256
  /// How long a component has to answer what it was passed on (XEP-0355); then whoever asked is told `service-unavailable`.
  /// Clients wait about as long.
  static let delegationAnswer: Duration = .seconds(30)
  /// Questions of the server to components and push services that wait, of the whole server; further ones are as if nobody
  /// had answered. Each costs a kilobyte; a busy server asks some hundred a second.
  static let questionsWaitingMax = 10_000

  // The archive (XEP-0313).
  /// Results of one page where the client names no number; the most it can ask
  /// for is `XMPPLimits.resultSetPageMax`.
  static let archivePageDefault = 50
  /// Bytes of one page, so that a page of large messages neither fills memory
  /// nor what stream management may hold unacknowledged (1 MiB): it ends early,
  /// with at least one result, and the client reads on.
  static let archivePageBytesMax = 256 * 1024
  /// What a result weighs beside its payload, addresses of common length included.
  static let archiveResultBytes = 512

  /// Bytes of what an archive is searched for; more is `policy-violation`. A sentence fits.
  static let fullTextBytesMax = 1_024

  // The inbox (XEP-0430).
  /// Conversations in one answer, whatever is asked for.
  static let inboxMax = 1_000
  /// Bytes of one answer, so that it stays below what stream management holds
  /// unacknowledged (1 MiB): it ends early, and the client reads on.
  static let inboxBytesMax = 960 * 1024
  /// What a conversation weighs beside its message: a thousand fit, with 375 bytes of payload in the mean.
  static let inboxEntryBytes = 96

  // Publish-subscribe (XEP-0060) and entity capabilities (XEP-0115).
  /// Items that one request names; more is refused with `policy-violation`.
  static let itemsNamedMax = 256
  /// Bytes of one answer, half of what stream management may hold unacknowledged
  /// (1 MiB): of more items the newest are given, and that there are others is
  /// said (6.5.4). The last items that are told at once stay below it, too.
  static let itemsBytesMax = 512 * 1024
  /// Items read from the store at once, so that of a node of large ones no more is
  /// read than is told.
  static let itemsReadAtOnce = 32
  /// Requests to subscribe that a session is told of when it comes; the others when
  /// these are answered and another comes.
  static let pendingSubscriptionsTold = 100
  /// People that one change of affiliations or subscriptions names; more is refused
  /// with `policy-violation`.
  static let nodePeopleNamedMax = 256
  /// Of one contact's last items; what is beyond can be asked for. What is small
  /// enough to be pushed to everybody fits: an avatar's metadata, a list of devices.
  static let contactItemsBytesMax = 64 * 1024
  /// Contacts whose last items are looked up at once, so that a roster of thousands
  /// leaves the store's readers to others in between.
  static let lastItemsContacts = 64
  /// Bytes of last items of contacts after which the client has to take them before
  /// more are looked up.
  static let lastItemsBytesMax = 128 * 1024
  /// Bytes unacknowledged, a quarter of what is held at all, up to which more is sent
  /// of what comes by and by.
  static let unacknowledgedBytesPaced = 256 * 1024
  /// What an item weighs beside its id and its payload.
  static let itemOverheadBytes = 128
  /// Forms of one picture that metadata lists at its data node (XEP-0084 4.2.1); more
  /// is refused with `payload-too-big`. Each is a look into the store.
  static let avatarFormsMax = 16
  /// Capability hashes whose interests are known, of the whole server; at the
  /// bound the list begins anew, and clients are asked again. Each costs a
  /// kilobyte or two; a busy server meets some hundred kinds of clients.
  static let knownCapabilitiesMax = 1_000
  /// Nodes that one client is interested in; the rest is ignored. Clients name
  /// about ten.
  static let interestsMax = 64
  /// Bytes of a capabilities node with its hash; longer is ignored.
  static let capabilitiesNodeBytesMax = 1_024
  /// Questions of the server that one client has not answered; at the bound the
  /// oldest is given up.
  static let questionsMax = 8

  // Rooms (XEP-0045).
  /// Messages of history for who enters and names no number: a screen. Most
  /// clients read the archive and ask for none.
  static let historyDefault = 20
  /// The most a client can ask for; asking for more gets this many. What lies
  /// further back is in the archive.
  static let historyMax = 100
  /// Bytes of history, as with a page of the archive: older messages are left
  /// out.
  static let historyBytesMax = 256 * 1024
  /// Bytes of member lists that are kept encoded, of the whole server: some of
  /// rooms of 5,000 (half a megabyte each). At the bound all are encoded anew.
  static let memberListBytesMax = 8 * 1024 * 1024
  /// People invited by one stanza, each a post of its own; more is refused with
  /// `policy-violation`. A chat that becomes a room invites one or two (7.9).
  static let invitationsMax = 32
  /// People that one message of a member list names (XEP-0463): some 20 kB, of which
  /// clients take any number. A longer list takes several.
  static let memberListItemsMax = 250
  /// Rooms in one page of search results where the client names no number, and the
  /// most it can ask for (XEP-0433): some 100 kB.
  static let channelPageDefault = 50
  static let channelPageMax = 100
  /// Listed rooms that one search looks at, by address: a tenth of a second of one
  /// reader. What lies further back is found by address only, page by page.
  static let channelsSearchedMax = 10_000
  /// Of these, so many are read at once.
  static let channelsReadMax = 500
  /// Bytes and words of what is searched for; more is `invalid-search-terms`.
  static let searchBytesMax = 256
  static let searchWordsMax = 16
  /// Invitations that wait until the client has answered what it is interested in;
  /// of further ones only the bookmark tells.
  static let invitationsHeldMax = 256
  /// Bytes of a room's language; longer is `not-acceptable`. RFC 5646 4.4.1:
  /// all tags in use fit 35.
  static let languageBytesMax = 35
  /// Senders whose presence or chat state waits for an inactive client (XEP-0352): a
  /// roster and a large room. With more all of it is told.
  static let heldSendersMax = 1_000

  // Registration in band.
  /// From being let in to register to a bound resource, since a person types meanwhile; then `connection-timeout`.
  static let registration: TimeAmount = .minutes(5)
  /// Tokens and names tried on one stream; then `not-acceptable`.
  static let registrationTriesMax = 10
  /// Users that the first term of a search names and that are looked at for the others (XEP-0055); who stands behind them is
  /// not found by these words. Some tens of milliseconds of one reader.
  static let usersSearchedMax = 10_000
  /// Octets of a report's reason, a URN (XEP-0377); longer is `not-acceptable`.
  static let reportReasonBytesMax = 256
  // Pushes (XEP-0357).
  /// How long a push service has to answer; then the publication counts as not taken.
  static let pushAnswer: Duration = .seconds(30)
  /// How long a client that asked for pushes may leave what it was sent unacknowledged (XEP-0198): then it counts as gone,
  /// though its connection stands, and is woken. Looked at every few seconds.
  static let deafness: TimeAmount = .seconds(15)
  /// Of a text; the rest is cut off. Notifications show some lines, and the services of devices take 4 kB of everything.
  static let pushBodyCharactersMax = 500
}
