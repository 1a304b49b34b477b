import Basics
import Dialogs
import NIOCore
import XMPP

/// The bounds of this door. Each states its number, its reason and what happens at it.
enum DoorLimits {
  /// The time from the connection to a bound resource; then `connection-timeout`. Slow phones need several round trips
  /// over bad networks.
  static let negotiation: TimeAmount = .seconds(60)
  /// The time for which an event loop does nothing of a fan-out between two slices of it (`Limits.laneSlice`), unless
  /// others keep it busy for longer: long enough that the other work of the moment does not take up all of it, and a
  /// tenth of the time of a slice. So long it also does nothing for a client that has made it write much (`gatheredBytesMax`).
  static let fanOutPause: TimeAmount = .microseconds(50)
  /// The elements that are handled at once of what was read of one stream, unless all streams together have used up the turn of the
  /// loop before (`LoopTurns`); the rest follows when the loop has looked at its other sockets, for which it has `fanOutPause`. The
  /// smallest element takes 3 us and a stanza some 10 us, so that others wait for one to three milliseconds, where one read of 64 KiB has
  /// 10,000 elements and would take thirty.
  static let elementsAtOnce = 256
  /// The pause of an event loop behind a slice of such input that has used up its time (`LoopTurns`): a tenth of it. In a shorter one the
  /// deliveries that other threads bring meanwhile would keep the loop from looking at its sockets.
  static let turnPause: TimeAmount = .microseconds(500)
  /// The contacts to whom a presence is shown, or whose presence is looked for, that count as one of these elements: some 150 ns
  /// each, whether they are online or not. Two presences of a user with 8,000 contacts are handled at once, some three milliseconds.
  static let contactsPerElement = 64
  /// The elements, and the pings of a WebSocket, that a client sends until it has bound a resource or resumed a session: nobody is
  /// charged for them. More end the stream with `policy-violation`. Seven logins (`XMPPLimits.authenticationAttemptsMax`) have 21,
  /// ten attempts to bind have 10, and ten names tried for a new account have 20; a client that pipelines has four. As connections
  /// have a pace (`HTTPLimits.handshakesPerSecond`), one network sends 6,400 such elements a second in the clear, a sixteenth of a core
  /// at most, as many over TLS, and twice as many over HTTP (`HTTPLimits.connectionsPerSecond`).
  static let elementsBeforeSessionMax = 64
  /// The requests for acknowledgement (XEP-0198) that a peer was sent and may still answer without being charged: as many as may
  /// be written before it has answered the first (`waitingTurnsMax`). At the bound a further answer that acknowledges nothing new
  /// counts as a stanza.
  static let freeAnswersMax = waitingTurnsMax
  /// The time from our closing tag to the client's; then the connection is closed.
  static let closing: TimeAmount = .seconds(5)
  /// The time for which a session goes on after its client has closed the stream, until what the client has sent is done; then
  /// it ends. A component may take half a minute for an answer (`delegationAnswer`).
  static let closedWork: TimeAmount = .seconds(60)
  /// The time of silence after which a client is asked for a sign of life, and the time it has to answer. Mobile
  /// networks drop mappings after some minutes. A client that leaves a request for acknowledgement (XEP-0198) unanswered
  /// for as long as `silence`, after it has read what was sent before, is disconnected; its session can be resumed.
  static let silence: TimeAmount = .seconds(300)
  static let answer: TimeAmount = .seconds(60)
  /// The interval of pings on a WebSocket: proxies close a connection that is silent for a minute.
  static let webSocketPing: TimeAmount = .seconds(30)
  /// The frames of one WebSocket message; at the bound the stream ends with `policy-violation`. Browsers send one.
  static let fragmentsMax = 64
  /// The bytes of a BOSH request's `<body/>` beside its content.
  static let bodyOverheadBytes = 4_096
  /// The bytes that may wait for a BOSH client's next request. At the bound the client counts as not reading, until no
  /// more than `bodyWaitingBytesLow` wait.
  static let bodyWaitingBytesMax = 256 * 1024
  static let bodyWaitingBytesLow = 32 * 1024
  /// The posts of one session that may wait for their commit; at the bound its socket is not read, and TCP pushes back
  /// on the client.
  static let postsInFlightMax = 64
  /// The posts of a domain elsewhere, or of a component, that may wait where a backend is asked about messages
  /// (`before_send`): while one author's message waits for the answer, the stanzas of others are read. A domain sends as
  /// many in a second (`Limits.sendingDomainStanzas`), which is the default time for an answer. Stanzas behind the posts, and
  /// those that are not acknowledged yet, have the same bound, and an occupant of rooms here has half of it. At it the
  /// stream is not read. No author is refused instead: all occupants of a room elsewhere have one address, and whatever one
  /// of them has caused to wait would be refused to all.
  static let linkWaitingMax = 2_048
  /// The store reads of one session that may run at once; at the bound its socket is not read. A page of an archive is
  /// a quarter of a megabyte, and one read of the socket can hold hundreds of requests for pages.
  static let lookupsMax = 4
  /// The bytes of answers from which on they are sent before more of the input is processed, of a client, a server or a
  /// component: one read can hold a thousand requests for a roster of two megabytes. While the other side does not take them, its
  /// input waits. A channel counts as full from 256 KiB on, so that beside the last answers five times as much waits at most.
  static let gatheredBytesMax = 64 * 1024
  /// The bytes of the answer to one request, also of several stanzas as a page of an archive or a room's history, for which whoever asks
  /// is charged as for one stanza beside the request: to copy and encrypt them takes as long. Fewer cost nothing. A user is sent 64 MB of
  /// them at once, and 12.5 MB a second; with their requests, 40 of the largest pages of an archive (`archivePageBytesMax`). A domain
  /// elsewhere, as a component, has ten times as many a second, and its zone twice those.
  static let answerBytesPerStanza = 64 * 1024
  /// The bytes that may wait for a client that reads none. A session lags as soon as its channel is full (its messages
  /// wait in the log, its requests unread); from this bound on it loses presence updates.
  static let waitingBytesMax = 1024 * 1024
  /// The unread bytes at which a client is disconnected, since stanzas that are in no log (presence of rooms) still
  /// accumulate, and the most that one event gathers. Its session can be resumed. So is a BOSH client that sends as much while the
  /// server does not read it.
  static let unreadBytesMax = 4 * 1024 * 1024
  /// The unread bytes at which a BOSH client is disconnected before its login. Its largest request has 14 KiB.
  static let unreadBytesBeforeLoginMax = 32 * 1024
  /// The bytes that a client takes between two looks, of which there is one every five seconds, to count as one that reads, and the
  /// time for which it does although it does not take everything. The unread output of all clients has a sixteenth of the memory
  /// that the server may use, at most 128 MiB: at that bound the user with the most loses the session that has read nothing for the
  /// longest, so that no user can have others disconnected. The slowest mobile networks take 4 KiB a second, and so all that
  /// may wait for a client in a minute.
  static let readLeast = 20 * 1024
  /// The bytes that TLS keeps beside them: its buffer grows from 16 to 64 KiB with long output, and stays large.
  static let unreadTLSBytes = 48 * 1024
  static let slowReading: TimeAmount = .seconds(120)
  /// The memory that a session over requests takes for the answer that it holds back, with its connection. All answers that wait
  /// have a sixteenth of the memory that the server may use; at that bound the user with the most loses the oldest session.
  static let heldAnswerBytes = 32 * 1024
  /// The bytes that a stream before its login takes beside what it has sent and has not taken: its connection, and with TLS
  /// the buffers and states of the handshake. It counts with both against the memory of all that is not logged in, an eighth of
  /// the memory that the server may use and at most 256 MiB. At that bound the network with the most loses its oldest stream,
  /// with `resource-constraint`.
  static let streamBytes = 8 * 1024
  static let streamTLSBytes = 40 * 1024
  /// The bytes of a logged-in client's, a server's or a component's unfinished stanza, with the input that waits to be read, up to
  /// which they do not count: long reads make a reader keep some 36 KiB for any stanza, so that streams with many short ones
  /// count nothing. All that count have a sixty-fourth of the memory that the server may use, with unfinished messages over
  /// WebSockets (`HTTPLimits.unfinishedUncounted`); at that bound the user or zone with the most loses the oldest session or stream,
  /// with `resource-constraint`.
  static let unfinishedUncounted = 40 * 1024
  /// The time within which a stanza is complete, without that in which the server does not read; then `policy-violation` (RFC 6120
  /// 4.6.3), and the session can be resumed. The largest stanza takes it at 900 bytes a second, less than the slowest mobile
  /// networks have.
  static let stanzaTime: TimeAmount = .seconds(300)
  /// The bytes of an event that waits for an earlier answer, which a WebSocket or a request has brought, beside those of its
  /// element.
  static let eventBytes = 256
  /// The unacknowledged stanzas (XEP-0198) at which a session lags: it reads later messages from the log once the
  /// client has acknowledged half of them. It is a quarter of the stanzas that are kept at all, which leaves room for
  /// those that do not wait in the log (presence, answers). It also lags above `unacknowledgedBytesOfOthers`. At the bound a
  /// client has `answer` to answer a request for acknowledgement, whether or not it has read what it was sent.
  static let unacknowledgedMax = 512
  /// The bytes of the log's entries among them at which it lags as well, as much as of stanzas that are in no log: one page
  /// (`Limits.pageBytesMax`). Sessions share entries, but a message to oneself is held for one session alone.
  static let unacknowledgedEntryBytesMax = 1_048_576
  /// The messages that a session remembers as delivered before its offline messages, which leave them out: a client may
  /// stay available with a negative priority for long. At the bound the oldest is forgotten, and is delivered again
  /// when the priority rises.
  static let earlyMessagesMax = 1_000
  /// The connections of the whole server that have not authenticated yet, whose memory is bounded, too (`streamBytes`); a
  /// quarter of the limit of open files, if that is less. At the bound the network that has the most of them gives up its
  /// oldest to each newcomer.
  static let unauthenticatedMax = 10_000
  /// The stanzas that may wait for an earlier answer of the same session; further ones are refused with
  /// `resource-constraint`, or not read. The memory of such stanzas of a client beyond which it is not read: that of a large one.
  static let waitingTurnsMax = 256
  static let waitingTurnsBytesMax = Limits.stanzaBytesMax
  /// The suspended sessions of the whole server; further sessions cannot be resumed.
  static let suspendedMax = 100_000

  // Sessions over a restart.
  /// The stanzas that a session may have to send again after a restart, and their bytes, whether they are stored or read
  /// from the log, since each resumed session reads its own. They are three quarters of what may wait for a client: after a
  /// restart the presence of all contacts is added before the client has acknowledged anything. At the bound the session is
  /// not stored, and its client logs in anew and reads the archive.
  static let archivedItemsMax = XMPPLimits.unacknowledgedItemsMax / 4 * 3
  static let archivedResentBytesMax = XMPPLimits.unacknowledgedBytesMax / 4 * 3
  /// The bytes that a stop stores for all sessions: an eighth of the memory allowed, and no more than a disk of 100 MB/s
  /// takes in three of the eight seconds of a stop. At the bound the largest sessions are not stored.
  static let archivedBytesMost = 256 << 20
  static let archivedMemoryShare = 8
  /// The bytes of the state of one session that a start reads. Those of this release have some kilobytes; that of the
  /// release before also contains the stanzas, in base 64. A session with more is not restored.
  static let archivedStateBytesMax = 2 << 20
  /// The estimated bytes of what is stored: a session without stanzas, the place of an entry, a position in the state, and
  /// the presence that tells the client that it has left a room.
  static let archivedStateBytes = 1_024
  static let archivedEntryBytes = 24
  static let archivedPositionBytes = 10
  static let archivedOccupantBytes = 384

  // Ad-hoc commands (XEP-0050).
  /// The commands of several stages that one session may have begun and not ended; at the bound the oldest is forgotten.
  /// A person looks at one or two.
  static let commandsWaitingMax = 4
  /// The time that a stage waits for its form; then the command is forgotten. A person fills it in meanwhile.
  static let commandStage: Duration = .seconds(600)

  // Components (XEP-0114).
  /// The bytes that may wait for a component that reads none; then its connection is closed, and it connects again.
  static let componentUnreadBytesMax = 8 * 1024 * 1024
  /// The time after which a component is sent whitespace. A machine or network that is gone does not acknowledge it, and the
  /// kernel gives the connection up after a quarter of an hour, where an idle one would be there for hours. There is no
  /// shorter time for that (RFC 5482): the kernel would apply it to a component that works slowly as well, whose receive
  /// window can stay closed for minutes although it reads a stanza each second.
  static let componentKeepAlive: TimeAmount = .seconds(120)
  /// The component connections of the whole server: one per component, and some misconfigured ones. The newest are
  /// closed.
  static let componentConnectionsMax = 64
  /// The users whose presence a component is sent at once when it connects (XEP-0356 7); other work runs in between.
  static let presencesShownAtOnce = 256
  /// The time within which a component has to answer a delegated request (XEP-0355); then the requester is answered
  /// with `service-unavailable`. Clients wait about as long.
  static let delegationAnswer: Duration = .seconds(30)
  /// The pending requests of the whole server to components and push services; further ones count as unanswered. Each
  /// costs a kilobyte; a busy server sends some hundred a second.
  static let questionsWaitingMax = 10_000
  static let questionBytes = 1_024

  // Residents: users elsewhere in rooms here.
  /// The residents of one link, which is one domain elsewhere; further ones are refused with `resource-constraint`. Each
  /// costs some kilobytes, and a join floods the others with presence.
  static let residentsMax = 5_000
  /// The residents of one link in one room.
  static let residentsPerRoomMax = 500
  /// The residents of one user of another server, as many as one has sessions here. A component is the operator's own.
  static let residentsPerUserMax = Limits.sessionsPerUserMax

  /// The bytes that a resident counts with beside its address, and each of its places in a room, which the core and the door keep in
  /// several tables: those of all servers have a share of the memory, and so has each zone (`DomainZone`; those domains of it that have
  /// acquaintances here count apart). At the bound the next one is refused with `resource-constraint`.
  static let residentBytes = 3_072
  static let residentSeatBytes = 768

  /// The clients of one link in calls with apps here (XEP-0166); further ones are refused with `resource-constraint`.
  static let remoteCallersMax = 1_000

  // The archive (XEP-0313).
  /// The results of one page where the client names no number; the most it can ask for is
  /// `XMPPLimits.resultSetPageMax`.
  static let archivePageDefault = 50
  /// The bytes of one page, so that large messages fill neither memory nor the unacknowledged stanzas of stream
  /// management (1 MiB). At the bound the page ends early, with at least one result, and the client requests the next.
  static let archivePageBytesMax = 256 * 1024
  /// The single messages that are read at once of those that a query names: four megabytes at most.
  static let archiveIDsAtOnce = 16
  /// The stanzas for which the user is charged for a read of an archive that has looked at `Limits.archiveLooksMax` rows, beside about as
  /// many for its time (`Parley.readOwner`): so an account has some fifteen thousandths of one reader's time in the long run.
  static let archiveReadStanzas = 50
  /// The reads that look for the oldest or the newest entry of an archive (5), some milliseconds each where nothing is archived.
  /// Beyond them it is reported as empty.
  static let archiveEndReads = 5
  /// The estimated size of a result beside its payload, including addresses of common length.
  static let archiveResultBytes = 512

  /// The bytes of a full-text search; more is `policy-violation`. A sentence fits.
  static let fullTextBytesMax = 1_024

  // The inbox (XEP-0430).
  /// The most conversations in one answer, whatever number is asked for.
  static let inboxMax = 1_000
  /// The bytes of one answer, so that it stays below what stream management holds unacknowledged (1 MiB). At the bound
  /// it ends early, and the client requests the rest.
  static let inboxBytesMax = 960 * 1024
  /// The estimated size of a conversation beside its message: a thousand fit, with 375 bytes of payload in the mean.
  static let inboxEntryBytes = 96

  // Publish-subscribe (XEP-0060) and entity capabilities (XEP-0115).
  /// The items that one request may name; more is refused with `policy-violation`.
  static let itemsNamedMax = 256
  /// The bytes of one answer, half of what stream management may hold unacknowledged (1 MiB). Of more items the newest
  /// are returned, and the answer says that there are others (6.5.4). It also bounds last items that are sent at once.
  static let itemsBytesMax = 512 * 1024
  /// The pages of nodes that one list of a service's nodes looks through for those that the user may read; the list goes
  /// on with the next page.
  static let nodePagesReadMax = 16
  /// The items read from the store at once, so that little more is read of a node of large items than is returned.
  static let itemsReadAtOnce = 32
  /// The pending subscription requests that a new session is sent; the next session gets others once these are
  /// answered.
  static let pendingSubscriptionsTold = 100
  /// The groups of the owner's contacts that the form of a node offers to choose from, and the contacts that are looked at for them: half
  /// a millisecond at most, where a whole roster has up to 120,000 names. Others can be named all the same.
  static let rosterGroupsOffered = 100
  static let rosterGroupContacts = 500
  /// The people that one change of affiliations or subscriptions may name; more is refused with `policy-violation`.
  static let nodePeopleNamedMax = 256
  /// The bytes of one contact's last items; clients can request the rest. Items meant to be pushed to all contacts fit:
  /// an avatar's metadata, a list of devices.
  static let contactItemsBytesMax = 64 * 1024
  /// The contacts whose last items are looked up at once, so that a roster of thousands leaves the store's readers to
  /// others in between.
  static let lastItemsContacts = 64
  /// Items of a roster or block list that is written, or of a roster's changes, presences that are probed for, and contacts whose last
  /// items are looked for, for which the user is charged as for one stanza, as for rows of the store: they take some 40 us of an event
  /// loop. The same roster is written once, however many clients get it. A user has two of the most items at once and one more in 2.5
  /// seconds, and is not read meanwhile.
  static let rosterItemsPerStanza = 20
  /// The bytes outside ASCII of a long request for which the user is charged as for one stanza (`AddressCost`): as addresses they take 15
  /// to 40 us of an event loop. An encoded label of a domain counts as so many. A request of 256 KiB that is full of them counts as some
  /// 500 stanzas, and the user is not read for two seconds and a half. One that takes less memory than a long one counts as itself.
  static let addressBytesPerStanza = 512
  static let encodedLabelBytes = 256
  static let longRequestBytes = 4_096
  /// The roster pushes of one change of a contact group that a client is sent before it has to take them.
  static let rosterPushesAtOnce = 64
  /// The bytes of contacts' last items that a client has to take before more are looked up.
  static let lastItemsBytesMax = 128 * 1024
  /// The bytes of a roster, three quarters of what is held for a client at all, up to which contacts by contact groups have
  /// the names of their profiles; without them it has room for all contacts that a user may have so.
  static let rosterBytesNamed = XMPPLimits.unacknowledgedBytesMax / 4 * 3
  /// The unacknowledged bytes by which a session's have grown when their memory is counted again: half a share of the memory. Fewer
  /// are counted within the interval of `LoopContext.tick`.
  static let unacknowledgedBytesUncounted = MemoryBound.shareBytes / 2
  /// The memory that each of them takes beside its bytes: its place in the queue, and a buffer, which grows to a power of two.
  static let keptStanzaBytes = 128
  /// The unacknowledged bytes, a quarter of what a client may ask for, up to which paced stanzas are sent.
  static let unacknowledgedBytesPaced = 256 * 1024
  /// The unacknowledged bytes and stanzas above which nothing is kept for a client of what others send and nothing stores. Presence waits,
  /// the last of each sender (`DeferredSignals`), requests are answered with `resource-constraint`, and headlines, chat states and
  /// events are lost, as for a client that is not there; entries of the log wait there (`XMPPSession.lags`). So nobody ends the session
  /// of somebody else, and what the client asks for has room beside it. Four stanzas of the largest size fit. A session that lags goes on
  /// below it: at a lower bound, others could hold up its messages by as many bytes as come while an acknowledgement is under way.
  static let unacknowledgedBytesOfOthers = XMPPLimits.unacknowledgedBytesMax / 4 * 3
  static let unacknowledgedStanzasOfOthers = XMPPLimits.unacknowledgedItemsMax / 4 * 3
  /// The unacknowledged stanzas up to which answers of others to the client's requests are kept all the same: an eighth of all that are
  /// kept. Answers that exceed `XMPPLimits.unacknowledgedBytesMax` are replaced with an error of a few hundred bytes. At the bound answers
  /// are lost as well, as anybody can send some that nobody has asked for.
  static let unacknowledgedStanzasWithAnswers = XMPPLimits.unacknowledgedItemsMax / 8 * 7
  /// The unacknowledged bytes and stanzas of a session that waits to be resumed, up to which rooms elsewhere are heard: less than those
  /// of others, as the rest is for what can be read nowhere else. Above them the client is told that it is out of the room, and reads
  /// the room's archive when it is back. A connected client is told so where others are not heard any more, either.
  static let waitingBytesOfRoomsElsewhere = XMPPLimits.unacknowledgedBytesMax / 2
  static let waitingStanzasOfRoomsElsewhere = XMPPLimits.unacknowledgedItemsMax / 2
  /// The bytes of the rooms elsewhere that are known of one session, and of its nicks there, some 400 rooms. What further ones say while
  /// the client waits to resume is kept as that of contacts is.
  static let roomsElsewhereBytesMax = 65_536
  /// The estimated size of an item beside its id and its payload.
  static let itemOverheadBytes = 128
  /// The forms of one picture that metadata may list at its data node (XEP-0084 4.2.1); more is refused with
  /// `payload-too-big`. Each costs a read of the store.
  static let avatarFormsMax = 16
  /// The pictures and vCards of users elsewhere that are fetched at once by one link; each picture may have
  /// `Limits.avatarBytesMax`. Others are fetched when they are told of again, as each new session is.
  static let picturesFetchedMax = 32
  /// The pairs of a contact elsewhere and a user here whose vCards a link remembers to have looked at, of some 200 bytes
  /// each; at the bound all are forgotten, and vCards are fetched again.
  static let cardsSeenMax = 10_000
  /// The capability hashes whose interests are cached for the whole server; at the bound the cache is emptied, and
  /// clients are asked again. Each costs a kilobyte or two; a busy server meets some hundred kinds of clients.
  static let knownCapabilitiesMax = 1_000
  /// The nodes that one client may be interested in; the rest is ignored. Clients name about ten.
  static let interestsMax = 64
  /// The bytes of their names together; those beyond it are ignored. Ten have some 400.
  static let interestsBytesMax = 4_096
  /// The bytes of a capabilities node with its hash; a longer one is ignored.
  static let capabilitiesNodeBytesMax = 1_024
  /// The unanswered requests of the server to one client; at the bound the oldest is given up.
  static let questionsMax = 8
  /// The Jingle sessions of one client with apps (XEP-0166): a user is in one call, and changes to another. Further ones
  /// are refused. Each counts with so many bytes: two descriptions (`Limits.callSDPBytesMax`), which are kept parsed.
  static let jingleSessionsMax = 4
  static let jingleSessionBytes = 4 * Limits.callSDPBytesMax
  /// The change of the bytes that a session keeps from which on they are counted again at the next tick (`SessionMemory.online`): a share
  /// of the memory. Most sessions keep fewer, and are never counted.
  static let doorBytesStep = MemoryBound.shareBytes

  // Rooms (XEP-0045).
  /// The messages of history for an occupant who enters and names no number: a screen. Most clients read the archive
  /// and ask for none.
  static let historyDefault = 20
  /// The most messages of history that a client gets, whatever it asks for. Older ones are in the archive.
  static let historyMax = 100
  /// The bytes of history, as with a page of the archive; older messages are left out.
  static let historyBytesMax = 256 * 1024
  /// The bytes of encoded member lists that are cached for the whole server: some of rooms of 5,000 (half a megabyte
  /// each). At the bound all are dropped and encoded again.
  static let memberListBytesMax = 8 * 1024 * 1024
  /// The people invited by one stanza, each a post of its own; more is refused with `policy-violation`. A chat that
  /// becomes a room invites one or two (7.9).
  static let invitationsMax = 32
  /// The people that one message of a member list names (XEP-0463): some 20 kB, which every client accepts. A longer
  /// list takes several.
  static let memberListItemsMax = 250
  /// The rooms in one page of search results where the client names no number, and the most it can ask for (XEP-0433):
  /// some 100 kB.
  static let channelPageDefault = 50
  static let channelPageMax = 100
  /// The listed rooms that one search examines, in the order of their addresses: a tenth of a second of one reader.
  /// Rooms behind them are found by address only, page by page.
  static let channelsSearchedMax = 10_000
  /// The number of these that are read at once.
  static let channelsReadMax = 500
  /// The bytes and words of a search; more is `invalid-search-terms`.
  static let searchBytesMax = 256
  static let searchWordsMax = 16
  /// The invitations that wait until the client has answered what it is interested in, of some kilobytes each at most; further ones
  /// are shown by the bookmark alone. A client that never answers keeps them as long as it is there.
  static let invitationsHeldMax = 16
  /// The senders whose presence or chat state waits for an inactive client (XEP-0352), or for one that has not acknowledged enough: a
  /// roster and a large room. At the bound everything is sent to the one, and further presence is lost for the other.
  static let heldSendersMax = 1_000
  /// The bytes of these signals, which their senders choose: some 400 presences as clients send them, of 300 bytes each.
  /// At the bound everything is sent; a signal that has more by itself is sent at once. Where nothing can be sent, a presence waits
  /// without what its sender has written, beside any number of bytes of others.
  static let heldBytesMax = 131_072
  static let heldShortBytes = 32

  // Registration in band.
  /// The time from the start of registration to a bound resource, since a person types meanwhile; then
  /// `connection-timeout`.
  static let registration: TimeAmount = .minutes(5)
  /// The tokens and names that may be tried on one stream; then `not-acceptable`.
  static let registrationTriesMax = 10
  /// The users matching the first term of a search that are checked for the other terms (XEP-0055); users behind them
  /// are not found. It takes some tens of milliseconds of one reader.
  static let usersSearchedMax = 10_000
  /// The users of a domain that one search looks at, in the order of their names: some 60 ms of one reader. Users behind them
  /// are not found.
  static let usersLookedAtMax = 100_000
  /// The octets of a report's reason, a URN (XEP-0377); a longer one is `not-acceptable`.
  static let reportReasonBytesMax = 256
  // Pushes (XEP-0357).
  /// The time within which a push service has to answer; then the publication counts as failed.
  static let pushAnswer: Duration = .seconds(30)
  /// The time for which a client with push enabled may leave stanzas unacknowledged (XEP-0198); then it counts as gone
  /// although its connection stands, and is woken by push. It is checked every few seconds.
  static let deafness: TimeAmount = .seconds(15)
  /// The characters of a message's text; the rest is cut off. Notifications show some lines, and the push services of
  /// devices accept 4 kB in all.
  static let pushBodyCharactersMax = 500
  /// The bytes of one element that an import reads whole, such as a vCard or a message: more than any server accepts from
  /// a client. A larger one is refused.
  static let importedElementBytesMax = 8 * 1_048_576
  /// The messages of one piece of an operator's export, about a quarter of a megabyte; large ones end it earlier
  /// (`Limits.pageBytesMax`).
  static let exportedMessagesAtOnce = 200
}
