/// The bounds of the core: each with its number, its reason, and what happens at it.
public enum Limits {
  /// Bytes, about, of the presences of contacts elsewhere that are kept in memory: some hundred thousand ordinary ones; a server
  /// has a share of its memory if that is less. At the bound the oldest of the zone with the most bytes (`DomainZone`) is forgotten:
  /// a later session asks the other server.
  public static let remotePresencesBytesMax = 128 << 20
  /// Bytes of one of them beside its texts, about: the presence, its places in the records, and the header of each.
  static let remotePresenceRecordBytes = 512
  /// Deliveries and looked-up contacts in one piece of showing the people of a domain elsewhere as offline (`Departure`), or of asking for
  /// their presence again (`DomainReturn`), after which the link's thread serves others: a millisecond at most, apart from a contact of
  /// many users with many sessions each.
  static let departureStep = 256
  /// The times of a sixteenth of all users that were stored and are still kept for readers of an older snapshot: it would
  /// take some thousand people who leave during one read to forget one too early.
  static let lastSeenStoredMax = 256
  /// The bytes of one of them; a larger one is not kept. Real ones have a few hundred.
  static let remotePresenceBytesMax = 4_096
  // The committer's inbox. At the bound HTTP answers 503 with Retry-After, and a session stops reading its socket until
  // the inbox is half empty.
  public static let inboxPostsMax = 16_384
  /// The bytes that authors have chosen of these, at most, and less on a machine with little memory: half a second's at the
  /// speed of a disk.
  public static let inboxBytesMax = 64 << 20
  /// Posts in one transaction: enough to amortise a sync, few enough that the last one does not wait for long.
  public static let batchPostsMax = 2_048
  /// The weight of one account's posts in a transaction (`InboxQueue`), an ordinary post having 1: some five milliseconds of the
  /// committer. The posts beyond it wait for the next transaction, behind those that others have posted meanwhile.
  static let batchShare = 128
  /// The same of all accounts of one network, unless it has the inbox for itself: ten milliseconds, in which two accounts have their
  /// shares, or 256 one ordinary post each.
  static let batchNetworkShare = 2 * batchShare
  /// The time from the beginning of a stop in which waiting posts are committed; later ones are refused with `overloaded`. It is half
  /// of the time for the stop: the rest is for sessions, which are stored behind them.
  static let stopDrain: Duration = .seconds(4)
  /// The least time between the starts of two commits that have nothing but posts to users elsewhere: four milliseconds, far
  /// less than the way to another server, and several times as long as a commit, so that a busy link's messages share one.
  static let commitPauseNanoseconds = 4_000_000

  // Messages and profiles.
  /// Characters of an app's text; at the bound: `too-large`.
  public static let textCharactersMax = 10_000
  /// Bytes of an app's whole message body as JSON.
  public static let appMessageBytesMax = 65_536
  /// Bytes of a stanza; larger ends the stream with `policy-violation`.
  public static let stanzaBytesMax = 262_144
  public static let clientIDBytesMax = 128
  /// Bytes of a stanza's id by which other stanzas can refer to it, and that what refers to it repeats, as references, marks and
  /// tombstones do: as many as a part of an address has, and several times as many as clients make. A message with a longer one
  /// is delivered with it and kept with it, once; what repeats an id has the message's public id in its place.
  public static let stanzaIDBytesMax = 1_023
  /// Bytes of an id of a client's in a line of the log; the rest is cut off. XMPP ids have no bound of their own.
  public static let loggedIDBytesMax = 128
  // The lines of a `RefusalLog` at level `info`: of each code and of all codes in a minute; further ones have `debug`. A
  // code has few, so that what many clients do all the time (tokens that have expired) hides no other; all of them, five
  // a second, are some 100 MB in a day of attacks.
  static let refusalLogInterval: Duration = .seconds(60)
  static let refusalLinesOfCodeMax = 20
  static let refusalLinesMax = 300

  // What one account may send (`SendingBudget`). Beyond it the account's sessions are not read for a while.
  /// Stanzas of XMPP of one user per second in the long run, and the seconds whose stanzas may come at once. A person
  /// sends some in a minute. A client that asks a hundred people for their keys (OMEMO) or sends a file in blocks
  /// (XEP-0047) sends some hundred at once, and a bot that writes to a thousand people a thousand.
  public static let sendingStanzasPerSecond = 200
  static let sendingStanzasBurstSeconds = 5
  /// Bytes that XMPP clients of one user send per second in the long run, and the seconds whose bytes may come at once.
  /// A file goes over HTTP; a block of XEP-0047 has some kilobytes, and a picture of a profile some hundred.
  public static let sendingBytesPerSecond = 1_048_576
  static let sendingBytesBurstSeconds = 8
  /// The same of a domain elsewhere with all its users and rooms, over all its streams, and of a component. 2,000
  /// stanzas a second are more than a gateway's users send and far fewer than would delay others. A component has more
  /// bytes, as it is the operator's own.
  public static let sendingDomainStanzas = Rate(burst: 4_000, perSecond: 2_000)
  public static let sendingDomainBytes = Rate(burst: 4_194_304, perSecond: 1_048_576)
  public static let sendingComponentBytes = Rate(burst: 67_108_864, perSecond: 8_388_608)
  /// The domains of a zone that nobody here knows (`SendingAccount.zone`) send as much together as so many, beside the bound of
  /// each. It is more than one, so that the only domain of a zone is concerned by its own bound alone.
  static let sendingZoneDomains = 2
  /// The same of the zone's domains that are known, which send and store together as much as so many. It is far more than those of
  /// many owners below a public suffix need, and keeps an account here that makes subdomains known from multiplying what one may.
  static let sendingKnownZoneDomains = 16
  /// Stanzas and bytes of all users of one network (an IPv4 address or an IPv6 /64) per second in the long run, with the stanzas of
  /// `sendingStanzasBurstSeconds` and the bytes of `sendingNetworkBytesBurstSeconds` at once: by default 10,000 stanzas and 32 MiB.
  /// Measured with a hundred accounts on a machine of two cores, 2,000 stanzas a second delay those of others by less than 20 ms, 6,000
  /// by 40 ms, and 20,000 by 300 ms and more. 2,000 people behind one address who are back within a minute of a restart send 20,000
  /// stanzas in it. Beyond the bounds only those of the network wait who have sent more than an equal share (`AccountShares`).
  public static let sendingNetworkStanzasPerSecond = 2_000
  public static let sendingNetworkBytesPerSecond = 8_388_608
  static let sendingNetworkBytesBurstSeconds = 4
  /// The deliveries of a network for each of its stanzas per second, with those of `sendingDeliveriesBurstSeconds` at once: by default
  /// 200,000 a second, as of a domain elsewhere, and 800,000 at once. A class of 500 that enters one room at the same time and says
  /// something there makes 375,000 to 500,000.
  static let sendingNetworkDeliveriesPerStanza = 100
  /// The debt of a user to the network, in seconds of its rate, up to which a pause of the user is no longer than the time behind it: by
  /// default that of 50 stanzas, or 200 KiB, as of a client that starts. So the flood of one account delays no neighbour by more.
  static let sendingNetworkSmallDebt = 0.025
  static let sendingNetworkPauseShort: Duration = .seconds(1)
  /// The milliseconds after which the debts of a network's users are looked at again: there may be some thousand.
  static let sendingNetworkStep: Int64 = 50
  /// Deliveries to sessions in large rooms (`fanOutMin`) for each stanza that a user may send per second, and the seconds
  /// whose deliveries may come at once: by default 50,000 a second and 200,000 at once. In a room of 5,000 that is ten
  /// messages a second of one person, and forty at once; a client that enters 50 rooms of 1,000 again uses 100,000.
  static let sendingDeliveriesPerStanza = 250
  static let sendingDeliveriesBurstSeconds = 4
  /// The deliveries of a domain elsewhere or of a component, with all its users, each of whom may cause as many as one here:
  /// four who do so reach the bound. The burst is less than may wait on one lane.
  public static let sendingDomainDeliveries = Rate(burst: 250_000, perSecond: 200_000)
  /// The deliveries of all posts to one room, in users: by default 100,000 a second, and at once as many as one user. In
  /// a room of 5,000 that is twenty messages a second of all its people, more than anybody reads. Beyond it those who post
  /// there wait for half a second at most, and further posts are refused with `deliveries-too-fast` while the room is beyond
  /// the bound by the deliveries of more than this time. So many people together fill no lane from one room: 250,000
  /// deliveries are fewer than `laneWaitingMax`.
  static let sendingRoomUsers = 2
  static let sendingRoomDebtMax: Duration = .milliseconds(500)
  /// Sessions, with the contacts elsewhere of a presence, from which on deliveries to all of them are a fan-out: charged to the
  /// author, and made in slices. The stanzas that one user may send make fewer than 13,000 deliveries a second in a room with fewer.
  static let fanOutMin = 64
  /// The deliveries of fan-outs and the time between which a lane serves others, whichever are less. A delivery takes 3 us where a
  /// session gets several at once, and 20 us where each is a system call, or more over TLS: a number alone would let others wait for
  /// 5 ms at each of two lanes. As many deliveries of smaller rooms and to single sessions are made at once, of those that come
  /// together; further ones wait as those of fan-outs do. The lane looks at the clock after each `laneStep` deliveries. More than
  /// these are made at once only where the last ones took so little time that they are no more than a slice. A session for which
  /// more than `laneStep` wait has so many at a time, and a link to another server gets a presence for so many addresses at once.
  static let laneSlice = 256
  static let laneSliceTime: Duration = .microseconds(500)
  static let laneStep = 32
  /// The time for which an event loop handles the input of all connections together before it looks at its sockets again (`LoopTurns`),
  /// and of each slice of what is left: five milliseconds each, so that others wait for some ten. Input beyond it waits for its turn.
  package static let laneTurnTime = stanzaTime * 128
  /// The elements and commands after which the loop looks at the clock: a third of a millisecond of ordinary ones, and three of those
  /// that take a hundred microseconds each.
  package static let laneTurnStep = 32
  /// Deliveries of fan-outs that wait on one lane, as many as one account causes at once, with some 80 bytes each; a list of addresses
  /// behind a link is one. What
  /// goes to rooms beyond that waits as one item for all sessions of a room. Other deliveries, such as presences for a user's
  /// contacts, are made at once, while others wait. A stop makes all that wait first, in a second, or three over TLS.
  static let laneWaitingMax = 262_144
  /// Deliveries of such items, over all lanes: a second's on a machine with one core, with little memory, since each item is
  /// for thousands of sessions. Beyond that a room with more than an equal share of them takes no further posts
  /// (`deliveries-too-fast`), and those who post there wait, as for a room in debt; an author with more than an equal share
  /// posts in no large room. Exceeded by one post of each room or author, by what a room takes in debt, and by entrances.
  static let fanOutLoadMax = 262_144
  /// Deliveries into which such items are taken apart at each step: a tenth of a millisecond, and that of one item more. They are more
  /// than a step delivers, so that a session gets several at once when much waits.
  static let laneTakenApartMax = 256
  /// Rows of the store that a post reads or writes beside those of an ordinary one, such as the people of a node, for which its author
  /// is charged as for one stanza: they take some 40 us of the committer, about as long as a stanza does.
  static let rowsPerStanza = 20
  /// The time of the committer's thread for which the author of a post is charged as for one stanza (`JudgingTime`). A build that is not
  /// optimised takes some twenty times as long, and five times that on a slow machine.
  #if DEBUG
    static let stanzaTime: Duration = .milliseconds(4)
  #else
    static let stanzaTime: Duration = .microseconds(40)
  #endif
  /// The looks at people or rooms in memory that take as long as a stanza: 200 ns each, as at a contact who is online or not. To put a
  /// session into the audience of a room, to remove it, or to replace a snapshot of contacts takes as long as `looksPerPlace`.
  static let looksPerStanza = 200
  static let lookTime = stanzaTime / looksPerStanza
  static let looksPerPlace = 3
  /// The time from which on a post or a read is charged for it: ordinary ones, which take less, count as one stanza whatever the machine.
  static let chargedTimeLeast = stanzaTime * 25
  /// The time from which on a post is charged together with others of its account, once they have taken `chargedTimeLeast` (`SummedTimes`).
  /// A change of a vCard, a nick or an affiliation takes five to twelve times as long as a stanza; a message takes less than this, also on
  /// a machine a third as fast, and counts as one stanza alone.
  static let summedTimeLeast = stanzaTime * 4
  /// The accounts of which such a sum is kept, with some hundred bytes each. At the bound all are forgotten: each had less than a
  /// millisecond.
  static let summedAccountsMax = 1_024
  /// The time of a thread that reads for which the asker is charged as for one stanza (`Parley.readOwner`): longer than that of the only
  /// thread that commits, as several read. A user has 160 ms at once, in which an app that starts lists thousands of dialogs, or 500 on a
  /// machine a third as fast, and then 32 ms a second.
  static let readStanzaTime = stanzaTime * 4
  /// The reads of what a user's sessions have missed that are charged to nobody, in stanzas as reads are: two seconds of a thread at once
  /// and as much again in ten minutes. Three clients that have missed 10,000 entries each in 300 rooms take half a second, or one and a
  /// half on a machine a third as fast. Further reads are charged as those that the client asks for, of which a user has ten times as
  /// much in the long run: so an account that uses the allowance up again and again takes a tenth more.
  package static let missedReadRate = Rate(burst: 12_500, perSecond: 20)
  /// The time of one account's posts in a transaction (`TimeShares`), that of a share of ordinary ones (`batchShare`): five milliseconds.
  /// The posts behind the one that reaches it wait for the next transaction, behind those that others have posted meanwhile.
  static let batchShareTime = stanzaTime * batchShare
  /// The same of one network, ten milliseconds, unless all posts of the transaction are from it.
  static let batchNetworkTime = stanzaTime * batchNetworkShare
  /// The time of a whole transaction before its commit, twenty milliseconds, for which whoever posts waits at most before their own one:
  /// as long as two networks have. It is some ten times as long as a disk takes to sync. Further posts wait for the next transaction.
  static let batchTime = batchNetworkTime * 2
  /// The time from which on a post counts for it: ordinary ones take less, and all of a share that do not count take ten milliseconds at
  /// most.
  static let sharedTimeLeast = stanzaTime * 2
  /// The most stanzas for which one post or read is charged, two seconds' of a user: an act of a person that others have made dear, such
  /// as a change of a node with thousands of subscribers, is delayed by no more.
  static let chargedStanzasMax = 400
  /// The same of a piece of a request to a room that is done in pieces: together they are charged as one post.
  static let chargedPieceMax = chargedStanzasMax * memberChangesAtOnce / memberChangesMax
  /// Bytes of messages and other content of one user that are stored in a day, without files: a million messages, of which
  /// the row alone counts as `storedMessageBytes`, or 2,000 of the largest. At the bound they are refused until the day (UTC)
  /// ends, and at twice the bound also what a user must be able to do all the same (`StoredContent`).
  public static let sendingDayBytes: Int64 = 268_435_456
  static let storedMessageBytes: Int64 = 256
  /// A domain elsewhere and a component store so many times as much as a user; each of their users as much as one here. The domains
  /// of a zone that nobody here knows store as much together as one.
  static let sendingDomainDays: Int64 = 16
  /// The least time for which a session is not read, so that a client that always has more to send costs ten timers a
  /// second, and the most, far less than the time after which a connection counts as silent.
  static let sendingPauseMin: Duration = .milliseconds(100)
  static let sendingPauseMax: Duration = .seconds(30)
  /// The same of a peer that has not proved who it is, as it pauses for what others of its network have sent, too: another server reads
  /// some six times until it is verified, within half a minute, and needs twelve seconds then, however large the debt is. Twenty
  /// streams, which read 64 KiB each between two pauses, still stay below what the network may send.
  static let sendingPeerPauseMax: Duration = .seconds(2)
  /// The interval at which a paused session looks whether its account is still in debt: the charge of a post that a room has
  /// refused, or that few sessions got, was given back. A look takes microseconds, and the longest pause is thirty times as long.
  static let sendingPauseStep: Duration = .seconds(1)
  /// The time for which an account is listed that has reached a bound, and the accounts of one list.
  static let sendingListed: Duration = .seconds(60)
  static let sendingListedMax = 1_000
  /// The number of budgets from which on those that are full and not held are removed. Each takes some 200 bytes; those
  /// of users with a session, and of their networks, are as many as there are.
  static let sendingBudgetsSwept = 1_024
  /// The lines of the log about accounts at a bound in ten minutes, one for each account.
  static let sendingLogInterval: Duration = .seconds(600)
  static let sendingLinesMax = 20

  public static let metadataBytesMax = 4_096
  public static let displayNameBytesMax = 256
  public static let userNoteBytesMax = 4_096

  public static let statusBytesMax = 1_024
  public static let vCardBytesMax = 131_072
  public static let avatarBytesMax = 98_304
  /// Bytes of a subscription request that are stored until it is answered.
  public static let requestBytesMax = 4_096
  /// Bytes of the requests to one user that wait for an answer, each with its address and `requestOverhead`, as a login reads
  /// them all: 3,500 short ones, more than anybody answers, or 240 of the largest. Those of contacts do not count. Beyond
  /// it the zone that has most of these bytes (`DomainZone`), and in it the domain that has most, gives up its oldest ones, as if
  /// they were withdrawn, until a sixteenth is free, so that no domain crowds out the requests of others, with its subdomains or
  /// without. The senders may ask again.
  public static let requestsBytesMax = 1_048_576
  static let requestOverhead = 256
  /// Requests that give way to a new one at a time: some milliseconds in which others wait.
  static let requestsDroppedAtOnce = 100

  // The outbox: what waits for servers elsewhere. At the bounds the author is told `outbox-full`: `resource-constraint`
  // in XMPP, 503 in HTTP. What accepted posts entail may exceed them; at twice the bounds it is not kept.
  /// Rows of one pair of domains: with the most that a busy server says to another in an hour, about 30 a second.
  public static let outboxRowsPerPairMax = 100_000
  /// Rows of one author to all domains: nobody writes more while a server is away, but programs would.
  public static let outboxRowsPerAuthorMax = 1_000
  /// Rows that one transaction gives up, so that other posts wait some five milliseconds at most; the rest follows.
  public static let outboxBouncedMax = 100
  /// Rows that one transaction tells their authors of because they wait, or have been taken after that; the rest follows.
  public static let outboxToldAtOnce = 100
  /// Pairs of domains whose oldest rows expire that are read at once: finding them looks at all pairs with rows.
  static let outboxExpiriesAtOnce = 256
  /// Pairs for which nothing waits any more that are removed together, some milliseconds: one to which messages go one by one is not
  /// removed and inserted for each of them.
  static let outboxPairsEmptiedMax = 256
  /// The time after which the author of a message is told that it waits: less is the way itself. It is noticed after this
  /// time, and at most twice as long.
  public static let queuedAfter = Duration.seconds(10)
  /// Seconds after which an author may try again.
  public static let outboxRetry = 60
  /// The time after which the server gives up, unless the operator sets another.
  public static let federationGiveUp = Duration.seconds(3_600)
  /// Bytes of another server's explanation of an error.
  public static let failureTextMax = 512

  /// Imported messages of a dialog of the same millisecond: each is compared with those before it. Further ones are
  /// refused.
  static let importedAtOnceMax = 10_000
  /// Entries that get an earlier time in one transaction, to make way for history: some ten milliseconds in which others
  /// wait. A million in one are two seconds.
  static let timesSetAtOnce = 2_000

  /// The traced entries whose spans later work finds, such as a webhook's: some seconds of a busy server. Older ones are
  /// forgotten.
  static let recentTracesMax = 1_024

  // Contacts. At the bound: `policy-violation`; other servers allow about as many.
  public static let contactsMax = 10_000
  /// Octets of addresses, names and groups of a roster, which clients get as one answer, with `&` as the five of `&amp;`: 200 for each
  /// of the most contacts.
  /// Beyond it `roster-too-large`; a roster from before that is larger can shrink.
  public static let rosterBytesMax = 2_097_152
  /// Removed contacts that are stored, so that a client learns of the removals since its version of the roster. Up to twice
  /// as many are; a client with an older version gets the whole roster.
  public static let removedContactsMax = 1_000
  public static let groupsPerContactMax = 32
  public static let groupBytesMax = 1_023
  /// Patterns of one block list; the next is refused with `block-list-full`. A change writes the rows that differ alone.
  public static let blocksMax = 1_000
  /// Addresses of one change of a block list that are looked up in the roster; for more of them it is read once.
  static let contactsLookedUpMax = 32
  /// Contact groups of one realm, which are all in memory; the next is refused with `too-many-contact-groups`.
  public static let contactGroupsMax = 256
  /// Members of one contact group: each who joins or leaves is told to all others, and shows them their presence. More
  /// are refused with `contact-group-full`; a user who comes into a full group of everyone is left out of it.
  public static let contactGroupMembersMax = 1_000
  /// Contact groups of one user: with all of their members a roster stays below what stream management holds for a
  /// client (1 MiB), as the names of their profiles are left out where it does not. Who changes their name writes a row
  /// for each of their groups, and signals it to those members of all of them who are online. More are refused with
  /// `too-many-contact-groups`.
  public static let contactGroupsPerUserMax = 8
  /// Octets of a contact group's name, which stands in paths; a longer one is refused with `contact-group-name`.
  public static let contactGroupNameBytesMax = 64
  /// Octets of its display name, which stands in each of its contacts; a longer one is refused with
  /// `contact-group-display-name`.
  public static let contactGroupDisplayNameBytesMax = 64
  /// Addresses in both lists of one user's archive preferences: each message compares them.
  public static let archivePreferencesMax = 200

  // Changes of messages.
  /// Corrections of one message: more than a program makes that shows its answer as it grows, and so few that a retraction
  /// overwrites the texts of all of them in some five milliseconds of the committer. The next is refused with
  /// `too-many-corrections`; the message can still be retracted.
  public static let correctionsMax = 500
  /// Emoji of one user for one message; further ones are left out.
  public static let reactionsMax = 20
  /// Octets of one emoji: the longest sequences of Unicode 16 have 35; longer ones are left out.
  public static let emojiBytesMax = 64
  // All reactions to one message, which each further one reads, stores and sends to apps as a whole. A reaction that would
  // exceed one of these bounds is refused with `too-many-reactions` if it is an app's; a stanza is only relayed. Reactions
  // can always be removed, and replaced by no more bytes and no more different ones. A message that has more, from before
  // there were bounds, cannot get further ones. A user's set of several emoji is accepted within half of the different
  // emoji and of the bytes, so that a few users with many emoji leave the other half to those with one.
  /// Users whose reactions to one message are stored.
  public static let reactingUsersMax = 500
  /// Different emoji on one message: services show 20 to 100. Those that are on the message already can be chosen by
  /// others nonetheless.
  public static let differentReactionsMax = 100
  /// Bytes of the reactions to one message (`MessageState.reactionBytes`), half of the largest message of an app: one
  /// emoji of each of `reactingUsersMax` users, if it has at most 17 bytes, as nearly all have.
  public static let reactionsBytesMax = 32_768
  /// The bytes that a user takes at least beside each emoji: some more than an id of one dialog takes in an event (44).
  static let reactingUserBytes = 48
  /// Numbers in the waveform of a recording, which is drawn about as many pixels wide; more are refused with
  /// `too-large`.
  public static let waveformMax = 256
  /// The greatest of these numbers: a byte's.
  public static let waveformValueMax = 255
  /// Octets of a field of a contact, of a place's name, of a sticker's id; and lines of one kind (telephones,
  /// addresses).
  public static let contentFieldBytesMax = 256
  public static let contactLinesMax = 10
  /// Mentions in one message, each of which is a row and reads a block list: further ones of XMPP are ignored, and an
  /// app is refused with `too-large`.
  public static let mentionsMax = 50

  /// Pinned messages of one dialog: a list that people read. The next is refused with `too-many-pins`.
  public static let pinsMax = 50
  /// Messages that one user stars: counting them takes a few milliseconds. The next is refused with `too-many-stars`.
  public static let starsMax = 5_000
  /// The age at which the number of a user's stars or hidden messages, which is in memory, is counted again if it would refuse one more:
  /// retention and the ends of rooms remove some. Until then the next is refused without a count.
  static let rowCountAge: Duration = .seconds(60)
  /// Messages that one user deletes for themselves one by one, parts of messages included: counting them takes the
  /// committer a millisecond. The next is refused with `too-many-hidden`; clearing a dialog takes one value however
  /// long it is.
  public static let hiddenMax = 10_000

  /// Retracted messages behind a member's mark that are looked at to subtract them from the unread ones, a tenth of a
  /// millisecond at each read of the mark. Further ones count as unread until the mark has passed the first: so many at once are
  /// nobody's daily life, and the badge is wrong by these alone.
  public static let retractedCountedMax = 200
  /// The same for all dialogs of a user together, wherever all are read: some three milliseconds. Where more than 50 dialogs have
  /// such messages, each has the same share of it, at least one, and the sum counts the others as unread.
  public static let retractedLooksMax = 10_000
  /// Unread mentions of a user that are counted in one dialog, a tenth of a millisecond at each read of the number; where there are
  /// more, this is the number.
  public static let mentionsCountedMax = 1_000
  /// The same for all dialogs of a user together, wherever all are read: some two milliseconds. Where more than ten dialogs have
  /// unread mentions, each has the same share of it, at least one.
  public static let mentionLooksMax = 10_000

  // Rooms.
  /// Octets of a room's localpart; longer is `malformed` (RFC 7622 3.3).
  public static let roomNameBytesMax = 1_023
  public static let externalIDBytesMax = 256
  public static let topicBytesMax = 4_096
  public static let passwordBytesMax = 1_023
  /// Octets of a nick; longer is `malformed`.
  public static let nickBytesMax = 256
  /// Octets of a reason for a kick, a ban, an invitation; a longer one is cut.
  public static let reasonBytesMax = 1_024
  /// Octets of the thread that an invitation continues; a longer one is left out, since a part of an id is useless.
  public static let threadBytesMax = 1_023
  /// Invitations to one room that may still be declined; at the bound the oldest is removed, and declining it has no
  /// effect. One for each member stays, and there are so many more at most.
  public static let invitationsMax = 1_000
  /// Invitations that are looked at to remove one: where most are members', further ones are removed later.
  static let invitationsLookedAtMax = 4
  /// Members of one room, and as many outcasts; the next is refused with `too-large`.
  public static let membersMax = 10_000
  /// Bans of addresses and domains without an account in one room: each user who enters is compared with them. The next
  /// is refused with `too-large`.
  public static let addressBansMax = 1_000
  /// People in one change of affiliations or roles; more are `too-large`.
  public static let memberChangesMax = 256
  /// People of these whose affiliations or roles one post changes, some six milliseconds of the committer in which others' posts wait; the
  /// others follow in further posts, and the answer after the last. It is also the number of members of a destroyed room whose
  /// memberships and bookmarks one post ends.
  package static let memberChangesAtOnce = 32
  /// People on a member list that an entering client gets (XEP-0463): the committer reads it, once per version, in a
  /// few milliseconds, and the client must take it before it has acknowledged any of it. A longer list is sent without
  /// version.
  public static let memberListMax = 5_000
  /// Changes of the list that are sent one by one; after more the whole list is sent.
  public static let memberListChangesMax = 500
  /// Occupants of one room: above, only admins and owners can still enter.
  public static let occupantsMax = 10_000
  /// Rooms that one session occupies at a time; the next is refused.
  public static let roomsPerSessionMax = 1_000
  /// Bytes of a presence that may be shown in a room in any case: clients' have 300 to 800.
  public static let roomPresenceBytes = 1_024
  /// Bytes of all presences that the sessions of one user show in rooms, which stay in memory as long as the sessions are there: those of
  /// five sessions in a thousand rooms. Beyond it a presence with more than `roomPresenceBytes` is refused with `presences-too-long`.
  public static let roomPresencesBytesMax = 4 << 20
  /// Bytes of the presences that all users show in rooms, which `roomPresencesBytesMax` does not bound: those of 200,000 occupants; a
  /// server has a share of its memory if that is less. At the bound what the user with the most says in rooms is forgotten: those who
  /// enter later see the user without status and capabilities, until the user's client sends its presence again.
  public static let presencesInRoomsBytesMax = 128 << 20
  /// Bytes that are forgotten at once, of the presences in some hundred rooms: two milliseconds of the committer, and a look at all users
  /// who are in rooms. It is a sixteenth of a smaller bound.
  static let presencesInRoomsStep = 256 << 10
  /// Users with the most bytes whom such a look finds. If all of them say so little that it is not enough, one more look follows.
  static let presencesForgottenAtOnce = 256
  /// Entrances of one user, and changes of nick, in one large room (`fanOutMin`): everybody there gets them. Entrances with
  /// the list of as many members (XEP-0463) count in a room of any size. All sessions of a user enter twice at once, and a
  /// client that loses its connection enters again some seconds later. The next is refused with `entrances-too-fast`.
  static let entranceRate = Rate(burst: 2 * sessionsPerUserMax, perSecond: 1)
  /// Changes of nick of one user without voice in a room, and requests for voice: each is shown to people there, to whom
  /// the user may not speak. The next is refused with `visitor-too-fast`.
  static let visitorRate = Rate(burst: 1, perSecond: 1.0 / 60)
  /// Rooms in which one post shows a session or its end: some ten milliseconds of the committer. A session of more rooms
  /// is shown in the others by further posts, between those of others; it follows all of them from its beginning.
  public static let roomsAtOnce = 100
  /// Rooms in which one user is a member, beside those to which others have added or invited the user; the next is refused.
  /// Others add a user to a room as long as the user is in fewer. A user is in twice as many at most, and a login reads all.
  public static let roomsPerUserMax = 5_000
  /// Those of them to which one other user has added or invited the user: nobody shares so many rooms with everybody in
  /// them, and who floods a user with rooms needs ten accounts to keep others from adding the user. The next is refused,
  /// unless an operator or a backend adds the user.
  public static let roomsOfUserByOneMax = 500
  /// Occupants above which only moderators, the user themselves and those who have written are shown: presences grow
  /// with the square of the occupants.
  public static let shownOccupantsMax = 200
  /// Members up to which everyone is told how far each has read.
  public static let markersToldMax = 20
  /// Unconfigured rooms at a time, over all users; the next is refused, and each ends with its creator's session.
  public static let leasesMax = 10_000
  /// Unconfigured rooms of one user at a time, so that no user takes all; the next is refused.
  public static let leasesPerUserMax = 32
  public static let slowModeSecondsMax = 86_400
  /// The time for which the address of a destroyed room is kept from others than its former owners: after a month its
  /// people know that it is gone, and no client tries to enter it any more.
  public static let tombstoneTime: Duration = .seconds(30 * 86_400)
  /// Temporary rooms that one user makes: a bridge makes one for each channel at once. `roomsPerUserMax` does not bound
  /// them, as they end, and each that ended leaves a name in the store. The next is refused with `rooms-too-fast`.
  public static let temporaryRoomRate = Rate(burst: 200, perSecond: 0.1)
  /// Lasting rooms that one user makes: all that one session can be in at once, and as many in a day as one user can be a
  /// member of. The next is refused with `rooms-too-fast`, unless an operator or a backend makes it.
  public static let lastingRoomRate = Rate(burst: roomsPerSessionMax, perSecond: 0.1)
  /// Temporary rooms that end in one post, some milliseconds of the committer; the others end in later posts.
  public static let endedRoomsAtOnce = 100
  /// Occupants whom one post removes from a room that ends or does not admit them any more, a millisecond or two of the committer; the
  /// others leave in later posts.
  static let expelledAtOnce = 100
  /// Rows that a batch changes for rooms that end, and people at whom it looks, however many rooms there are, some ten milliseconds; it may
  /// be exceeded by one piece. What is left waits for the next batch.
  static let endedRowsAtOnce: Int64 = 500
  /// Entries of an ended temporary room, its mentions, its people, and values of any ended room, that are removed in one post, some
  /// milliseconds too.
  public static let removedEntriesAtOnce = 200

  // Nodes and private data (XEP-0163, XEP-0049).
  /// Nodes of one user: OMEMO needs one per device and kind, and clients do not remove them; the next is refused with
  /// `max-nodes-exceeded`.
  public static let nodesPerUserMax = 512
  /// Bytes of a node's name, which is a namespace; a longer one is refused with `not-acceptable`.
  public static let nodeNameBytesMax = 1_023
  /// Items of one node, the meaning of `max`: as many as a user has rooms. At the bound the node's `publish_node_full`
  /// decides whether the oldest is removed, or the new one refused.
  public static let itemsPerNodeMax = roomsPerUserMax
  /// Bookmarks of a list that one post compares with those that are stored, some three milliseconds in which others' posts wait; the
  /// others are compared in further posts, and the list is written behind the last.
  static let bookmarksComparedAtOnce = 500
  /// Changes of a list of bookmarks that one post writes, some tens of milliseconds in which others' posts wait; the rest follow
  /// in further posts, and the answer after the last.
  public static let bookmarkChangesAtOnce = 100
  /// Bookmarks of a list that clients of the old form receive at each change, and their bytes: reading them takes a millisecond. A
  /// longer list is sent once in `bookmarkListPause`, with all changes since, and one of more than `bookmarkListBytesMax` bytes,
  /// which is as much as a stanza has, only when it is asked for.
  static let shortBookmarkListMax = 100
  static let shortBookmarkListBytesMax = 16_384
  static let bookmarkListBytesMax = 262_144
  static let bookmarkListPause: Duration = .seconds(1)
  /// Bytes of an item's id: a whole address fits (RFC 7622 3.1); a longer one is refused with `not-acceptable`.
  public static let itemIDBytesMax = 3_071
  /// Bytes of an item: an avatar of `avatarBytesMax` in base 64 fits; a larger one is refused with `payload-too-big`.
  public static let itemBytesMax = 196_608
  /// Bytes of all items of one user together; the next is refused with `policy-violation`. The bounds above would let
  /// one account fill a disk.
  public static let publishedBytesMax = 33_554_432
  /// The same, if another user publishes: others leave the owner room for their own items.
  public static let publishedWithOthersBytesMax = publishedBytesMax / 2
  /// Affiliations of one node, and explicit subscriptions to one; the next is refused with `policy-violation`. Each
  /// publication looks at all of them. The bytes of new affiliations count for the day of whoever sets them (`sendingDayBytes`): those
  /// of all nodes of a user could be gigabytes.
  public static let nodePeopleMax = 1_000
  /// Rows of a deleted user that one post removes or looks at, some five milliseconds of the committer; the others follow in further
  /// posts, between those of others. One with a large value counts as 25, and a membership as five.
  static let erasedRowsAtOnce = 500
  /// Entries of removed items that are erased in one post, some milliseconds of the committer; the others in later posts.
  static let erasedEntriesAtOnce = 200
  /// Subscriptions of one user to one node: as many as sessions may subscribe themselves; and to all nodes. The next is
  /// refused with `too-many-subscriptions`.
  public static let subscriptionsPerNodeMax = sessionsPerUserMax
  public static let subscriptionsPerUserMax = 4_096
  /// Elements of private data of one user, and bytes of each; beyond it `policy-violation`. Clients have two or three
  /// of a kilobyte.
  public static let privateXMLMax = 100
  public static let privateXMLBytesMax = 65_536

  // Files. The operator's bounds (bytes of one, of one user, of one user's day) are in `BlobPolicy`.
  /// Octets of a file's name: the limit of file systems; a longer one is cut, its extension kept.
  public static let blobNameBytesMax = 255
  /// Octets of a media type (RFC 6838 4.2: 127 each side at most, in practice far fewer); a longer one is ignored.
  public static let mediaTypeBytesMax = 127
  /// Files in one message that are recognised: further ones are ordinary links.
  public static let attachmentsMax = 10
  /// Octets of the URL of a file on another server; a longer one is no attachment.
  public static let attachmentURLBytesMax = 2_048
  /// Bytes of an image for a profile, which is kept permanently; more is `blob-too-large`.
  public static let profileBlobBytesMax: Int64 = 5_242_880
  /// The time in which the upload of a slot must begin (XEP-0363 7: around 300 s).
  public static let slotTime: Duration = .seconds(300)
  /// The time for which a resumable slot takes bytes: a day, so that a telephone that was out of reach over night can
  /// continue in the morning.
  public static let resumableSlotTime: Duration = .seconds(86_400)
  /// Open slots of one user; the next is refused with `slots-too-many`. A client fills one at once.
  public static let slotsPerUserMax = 20
  /// The same for resumable slots: a telephone sends a few at a time, and cancels the ones it gives up.
  public static let resumableSlotsPerUserMax = 10
  /// Files of one user, those removed within the day included, so that many small ones neither fill the store, nor make
  /// counting them long (a few milliseconds of the committer); the next is refused with `blob-quota`.
  public static let blobsPerUserMax = 20_000
  /// The least time between two counts of one user's files: a client that asks for slots at a bound all the time has them counted once
  /// a second. What has become free meanwhile by itself is given a second later.
  static let blobRecount: Duration = .seconds(1)
  /// The day of `BlobPolicy.userDayBytesMax`.
  public static let blobDay: Duration = .seconds(86_400)
  /// Uploads at a time, of one user and of all: each holds a file open and a buffer in memory. On a machine with little memory
  /// there are fewer of all. The next is refused with `uploads-too-many`.
  public static let uploadsPerUserMax = 4
  public static let uploadsMax = 512
  /// Threads that wait for the local disk of files, and for a remote store, which takes longer.
  public static let blobThreadsMax = 4
  public static let remoteBlobThreads = 32
  /// Files that are inspected (scanned, shrunk) at the same time; others wait, and their uploads with them.
  public static let inspectionsMax = 4
  /// The same of one user, so that nobody's large pictures take all of them.
  static let inspectionsPerUserMax = 1
  /// Bytes at the beginning of a file that determine its type, and an image's size, even after a camera's metadata.
  public static let inspectedBytes = 524_288
  /// Bytes and pixels of an image that gets a thumbnail: the largest photos of telephones are smaller. Larger ones have
  /// none.
  public static let pictureBytesMax: Int64 = 67_108_864
  public static let picturePixelsMax = 120_000_000
  /// Pixels of a thumbnail's longer side: a preview in a list of messages, at twice the usual density. Images that are
  /// no larger and have few bytes have none.
  public static let thumbnailSide = 320
  public static let unshrunkBytesMax: Int64 = 32_768
  /// Bytes of a thumbnail; a larger one is not stored.
  public static let thumbnailBytesMax = 131_072
  /// Pixels of the longer side of an avatar made from a larger image, and bytes of that image.
  public static let avatarSide = 192
  public static let avatarSourceBytesMax = 5_242_880
  /// Files that are removed between two reads of the due ones.
  public static let sweptBlobsMax = 100

  // Sessions.
  /// Sessions of one user over both doors; the next is refused with `resource-constraint`.
  public static let sessionsPerUserMax = 32
  /// Sessions that one user begins or resumes: many devices begin theirs at once, and one on a bad network begins a new one
  /// every few seconds. The next one waits, and is looked at again after `sessionStartRetry`: its client has to wait for
  /// the answer, and nothing is refused. A session reads the contacts of its user, and is shown in all rooms.
  static let sessionStartRate = Rate(burst: 20, perSecond: 1)
  static let sessionStartRetry: Duration = .seconds(1)
  /// Long polls of one user that wait for events: a client has the next one after each event. The next one is answered that
  /// much later, with all events by then, and nothing is refused.
  static let pollRate = Rate(burst: 100, perSecond: 5)
  static let pollRetry: Duration = .milliseconds(200)
  /// Sessions of one user that are shown although their clients have lost their connection, since these may reconnect;
  /// the next is not.
  public static let lingeringMax = sessionsPerUserMax
  /// Addresses of a session's directed presence that are remembered, and their bytes, with those of a text and of a place in a list for
  /// each: some 800 rooms elsewhere. Beyond either the oldest is forgotten, and is not notified of the presence's end.
  static let directedMax = 1_000
  static let directedBytesMax = 65_536
  /// Bytes of a presence for all who may see it, which stays in memory as long as it is shown: clients' have 300 to 800, and those with
  /// many elements some kilobytes. A longer one is refused with `presence-too-long`.
  static let presenceBytesMax = 16_384
  /// Bytes, about, of what is kept for one user who is online that do not count (`SessionMemory.online`): 200 contacts, and three sessions
  /// in 50 rooms each. So few bytes of each are bounded by the number of connections, as sessions are.
  static let onlineBytesUncounted = 262_144
  /// The bytes of a session's place in a room, which are measured (660): in several tables of the core and of its door. Those of a room
  /// of which an app's session gets the messages.
  static let placeBytes = 768
  static let followedRoomBytes = 256
  /// Offline messages sent at once to a client without archive; as many again follow when it has confirmed these, so
  /// that a long absence neither floods the client nor loses anything.
  public static let replayMax = 1_000
  /// Events between two commits of the "delivered" mark of one user.
  public static let confirmEvery = 64

  // Caches.
  /// Users of whom something small is remembered, such as a bucket: some 10 MB. At the bound a cache is emptied, or swept.
  public static let cachedUsersMax = 100_000
  /// Bytes, about, of all that the committer remembers of the store: users, blocks, sizes of rosters, preferences, dialogs, rooms with
  /// their members and banned addresses, nicks, people of nodes. That is a hundred thousand users who are active at the same time, each
  /// with some dialogs and rooms; a server has a share of its memory if that is less. At the bound the largest of these caches is
  /// emptied, as often as necessary, and what is needed is read again: somebody who fills one of them takes nothing from the others
  /// before. One batch exceeds it by what it reads.
  public static let cacheBytesMax = 256 << 20
  /// Bytes, about, of one of them: so many small blocks are freed in some hundredths of a second, for which all posts wait. At the bound
  /// it is emptied.
  static let oneCacheBytesMax = 64 << 20
  /// Bytes of an affiliation or a subscription of a node beside the address, about, in memory and as a row.
  static let nodePersonBytes = 96
  /// Bytes of the contacts and blocks of users without a session (`KeptContacts`): those of two users with all contacts that one may
  /// have, or of a thousand with forty. At the bound all are dropped, and are read again when they are needed.
  static let keptContactsBytesMax = 16_777_216
  /// Bytes of a contact in memory beside its texts, about (`ContactTable`); and of a user's contacts beside these.
  static let keptContactBytes = 256
  /// Bytes of a text in memory beside itself; of a room beside its people and texts; of a pattern of a block list beside its address;
  /// and of a nick in an index of nicks that look alike (decision 0048). All are estimates.
  static let textHeaderBytes = 32
  static let cachedRoomBytes = 1_536
  static let cachedBlockBytes = 128
  static let nickLookBytes = 256

  /// Members up to which the nicks of a room are read at once, when somebody wishes for a nick: some thousandths of a second.
  /// Those of larger rooms are read page by page as soon as somebody uses the room, so that nobody waits for all of them.
  static let nicksAtOnceMax = 500

  // Pushes (XEP-0357).
  /// Registrations of one user, about one per device; the oldest is removed.
  public static let pushRegistrationsMax = 16
  /// Rooms of users whose last registration has ended that stay in memory (`PushRegistry`), and these users, with 200 bytes each at
  /// most, 20 MB in all: those of ten users with the most. At the bound those of some user are forgotten, and are read when the user
  /// registers again.
  static let restingPushRoomsMax = 100_000
  /// Bytes of publish options; more are refused with `policy-violation`.
  public static let pushOptionsBytesMax = 4_096
  /// Members up to which each message of a group is pushed to all who have not chosen otherwise: a row for each absent
  /// one, for which the author is charged (`rowsPerStanza`). In larger groups, which would ring all day, only mentions are.
  public static let ringingMembersMax = 100
  /// Messages that one publication combines, the newest: older ones show only in the unread count. A batch adds no more rows
  /// for a user, and while no publication succeeds, a user has twice as many rows at most; the oldest are removed.
  public static let pushesOwedMax = 100
  /// Rows of the user's log that are looked at for what a stream that has ended did not confirm, the oldest, some tenths of a
  /// millisecond of the committer: the user's own messages are among them, any number. Messages behind them are not pushed.
  static let missedLooksMax = 1_000
  /// Failed publications in a row before a registration is removed: with the waits between them (`PushLimits.retry`)
  /// about a day.
  public static let pushFailuresMax = 16

  // Devices of apps, and notifications of an app's backend.
  /// Bytes of texts and data together: with the overhead they fit into the 4 KiB of every provider. More are
  /// `too-large`.
  public static let notificationBytesMax = 2_048
  /// Values that are inserted into one text; phones have no text with more. More are refused.
  public static let notificationArgumentsMax = 10
  /// Users of one request: each is a row in the log. More are `too-large`.
  public static let notificationUsersMax = 100
  /// Bytes of a provider's token. Apple's have 64 or 160 digits, Google's some 160 letters; both may grow.
  public static let pushTokenBytesMax = 4_096
  /// Bytes of the URL of a subscription; browsers' have some 200 to 800.
  public static let pushEndpointBytesMax = 2_048
  /// Bytes of an app's name at its provider (Apple's have at most 155), of a platform and of a locale.
  public static let deviceFieldBytesMax = 200

  /// Entries that are read for the full-text index in one piece, ten milliseconds of the committer if all of them are
  /// messages, and the bytes of their texts, after which a piece ends early: a thousand messages that people write have less. Posts
  /// wait for one piece, and a search for all of them.
  static let indexedAtOnce = 1_000
  static let indexedBytesAtOnce = 262_144
  /// The pause after a piece that is not the last, for all searches together: so many times what the piece took, and at most so
  /// long. One post in three finds a piece under way, and the first search takes three times as long as the index.
  static let indexPauseShare = 2
  static let indexPauseMax: Duration = .seconds(1)

  // Drafts and scheduled messages.
  /// Drafts of one user: more than anyone needs. At the bound `too-many-drafts`.
  public static let draftsPerUserMax = 1_000
  /// Scheduled messages of one user: each is a row, and a post at its time. At the bound `too-many-scheduled`.
  public static let scheduledPerUserMax = 100
  /// The longest time ahead for a scheduled message: a year. Further: `send-at-out-of-range`.
  public static let scheduleMax: Duration = .seconds(365 * 86_400)
  /// Authors whose due messages are sent at once, one message of each: a batch of the committer is full with fewer. The
  /// messages of further authors are sent when those of one of them are.
  package static let scheduledAuthorsAtOnce = 64
  /// Keys of due messages that are read at once: those of all authors at once and of one more, so that they hide nobody.
  /// They take a reader some two milliseconds.
  static let dueLookedAtMax = (scheduledAuthorsAtOnce + 1) * scheduledPerUserMax
  /// Calls that have rung too long and are ended between two reads.
  static let dueAtOnce = 100
  /// The longest sleep before due rows are read again: the greatest delay after the clock was set.
  public static let scheduleLook: Duration = .seconds(60)
  /// The wait before a failed write is tried again.
  public static let scheduleRetry: Duration = .seconds(5)

  // Calls.
  /// The time for which an unanswered call rings: as telephones do. Then the call ends with `timeout`.
  public static let callRinging: Duration = .seconds(60)
  /// The longest time of an answered call that neither side ends (XEP-0353, "Business Rules"). Then it ends with
  /// `failed`.
  public static let callMax: Duration = .seconds(86_400)
  /// Calls that one user begins in a minute, to any users. More: `calls-too-fast`.
  public static let callsPerMinuteMax = 10
  /// Ringing calls of one caller, and callers whose calls ring at one callee. The next call of a caller is
  /// `too-many-calls`; that of another caller to the callee ends with `busy`.
  public static let callsRingingMax = 4
  /// Calls of one user that are read, and listed: the newest of those that have not ended.
  public static let callsOpenMax = 32
  /// Bytes of a call's id in XMPP; UUIDs have 36. A stanza with a longer one is relayed as an ordinary message.
  public static let callNameBytesMax = 256
  /// Bytes of the children of a call's message in XMPP, all of which are kept for the archives; clients write some hundreds, or a
  /// kilobyte if they verify keys. More: `call-stanza-too-large`.
  public static let callStanzaBytesMax = 16_384
  /// Bytes of a session description; browsers' with video have about 6,000. More: `sdp-too-long`.
  public static let callSDPBytesMax = 32_768
  /// Bytes of a candidate, and of an app's own information in a call. More: `candidate-too-long`, `info-too-long`.
  public static let callSignalBytesMax = 4_096

  // Search.
  /// Rows that one read of an archive looks at, some eight milliseconds of a reader: those of other resources than the one that is
  /// asked for, of messages that the user has deleted for themself, of what is in no archive. Then its page ends early. A search for
  /// what a session has missed looks at as many rows, too.
  public static let archiveLooksMax = 20_000
  /// Candidates that one search reads; then its page ends early, with a cursor.
  public static let searchLooksMax = 4_000
  /// Looks at the index of words for them, some 12 us each where the words do not meet: 24 ms of a reader. An ordinary page takes less
  /// than a hundred. What the index does not find within them is read message by message, a few hundred in a page.
  public static let searchIndexLooksMax = 2_000
  /// Users, or listed rooms, that one page of a search by name looks at, in the order of their names: some 30 ms of a reader.
  /// Then it ends early, with a cursor.
  public static let searchedNamesMax = 50_000
  /// The same for a page of the list of users without a search, which has no pace of its own: less than a millisecond. Only those
  /// who are in no list are looked at in vain.
  static let listedUsersMax = 2_000
  /// Bytes of the searched text; longer is `query-too-long`.
  public static let searchTextBytesMax = 1_024

  // Custom events of apps.
  public static let customKindBytesMax = 64
  public static let customPayloadBytesMax = 4_096
  /// Members of an open dialog up to which typing and custom events are relayed, each to everyone present. In larger
  /// ones typing is dropped, and custom events are refused.
  public static let overheardMembersMax = 200

  // Typing.
  /// The time after which an app's typing ends by itself: apps renew it.
  public static let typingOfApps: Duration = .seconds(8)
  /// The time after which app sessions no longer show that an XMPP client's user types: clients send it once at the
  /// beginning and once at the end (XEP-0085 5.3).
  public static let typingOfClients: Duration = .seconds(30)
  /// Dialogs in which one user types, counted for each session. A further app's typing is not relayed, and a further
  /// XMPP client's is not shown to app sessions.
  static let typingPerUserMax = 32
  /// Users who are typing, likewise; some kilobyte each.
  static let typingUsersMax = 20_000
  /// The least time between two looks for typing that has ended: many ends are one commit.
  static let typingStep: Duration = .milliseconds(100)

  // Pages.
  public static let pageDefault = 50
  public static let pageMax = 100
  public static let feedPageMax = 200
  /// Places of entries that are looked for at once while a session catches up, and kept until it has read them, with some 12 KB, which
  /// is little beside the output or the unacknowledged entries for which it waits meanwhile; a suspended session keeps none. Each such
  /// search looks at all rooms of the user, a millisecond or two for a thousand of them, while a page reads the rooms of its entries.
  public static let feedAheadMax = 512
  /// Bytes of messages after which a page ends early, with at least one message: 16 messages of the largest that apps write, and some
  /// 1,000 of those that people write. The page that follows continues behind it.
  public static let pageBytesMax = 1_048_576
  /// The bytes that an entry takes beside what users have written in it, about.
  static let entryBytes = 256
  /// Messages that a marker passes and among which the one whose author is told is looked for: the newest; a reader
  /// further behind tells no one.
  public static let markersLookBack = 32
  /// The rows among which these messages are looked for, some tenths of a millisecond of the committer: there may be any number of
  /// entries that are no messages between them. Behind the bound a reader tells no one either.
  static let markerLooksMax = 1_000
  /// Entries of a room that a marker looks at to count the reader's own messages, on each side of the marked one: some two milliseconds
  /// of the committer. A reader who is further behind than that, and leaves as much unread, sees later messages of their own counted as
  /// unread until they have read the last one.
  public static let ownLooksMax = 20_000
  /// The rows that are looked at before the last shown one for a dialog's last message, where the last shown one is erased or the
  /// reader has deleted it for themself: a page of 100 such dialogs takes 10 ms. Then the dialog is listed without a last message.
  public static let lastLooksMax = 200
  /// The rows of one dialog that are looked at for its last archived entry in the inbox (XEP-0430), and again for its last message:
  /// there may be thousands of entries behind them that are in no archive, such as of those who join a room. All dialogs together
  /// have `archiveLooksMax`, and each further one the smaller number, so that nobody's one dialog conceals all others. Where the
  /// first look finds nothing, the last message stands for the entry; without one, too, the dialog is not in the inbox.
  public static let inboxLooksMax = 2_000
  public static let inboxLooksMin = 20
  /// Live entries that one session, or one room that it is entering, holds while a page is being read: some
  /// milliseconds of a busy log. At the bound all are dropped, and read after the page.
  public static let heldEntriesMax = 256
  /// Entries behind which a follower is told to resync.
  public static let feedBehindMax = 10_000

  // Retention.
  /// Entries that one transaction of retention removes, with those that change others; each is in several indexes.
  static let expiredAtOnce = 16
  /// The time after which such a transaction begins no further entry: messages that come meanwhile wait for it.
  static let expiringTime: Duration = .microseconds(500)
  /// The bound of a room's own age of messages, in days: a hundred years, as in the configuration. Refused with
  /// `retention-invalid`.
  public static let retentionDaysMax = 36_500
  /// The pause after a piece of retention, and how many times as long as the piece it is at least. A machine that does
  /// nothing in time does not put the work off for ever: a pause ends after five seconds.
  static let retentionPauseMin: Duration = .milliseconds(10)
  static let retentionPauseMax: Duration = .seconds(5)
  static let retentionPauseShare = 4
  /// The posts of others for each piece beside them, unless nobody posts for `retentionQuiet`. One or two messages wait
  /// for a piece: less than one in a thousand.
  static let retentionPostsPerPiece = 2_000
  static let retentionQuiet: Duration = .milliseconds(100)
  /// The time after which a run no longer waits for that, since others would never let it end, and the pause then, beside
  /// others: one message in fifty comes while a piece is written.
  static let retentionWaitingMax: Duration = .days(1)
  static let retentionPauseShareLate = 50
  /// Dialogs or files that one read of retention looks at, some microseconds each.
  static let agingDialogsAtOnce = 500

  /// Threads that read the store: more than a store has connections would only wait there.
  public static let readersMax = 4
  /// The time of one read, about that of the largest page, up to which the reads of one network may have all of these threads while
  /// nobody else waits: who comes then waits for one of them. After a longer one the network leaves a thread to others for some time,
  /// so that somebody who lets short reads go before long ones holds others up in less than one of a hundred reads.
  static let lentReadMax: Duration = .milliseconds(10)
  static let readLoanPause: Duration = .seconds(10)

  /// Users that one search in band returns.
  public static let searchResultsMax = 50

  // Users.
  /// Bytes of the URL of an external image; more is `too-large`.
  public static let avatarURLBytesMax = 2_048
  /// Users in one request; more are `malformed`.
  public static let usersAtOnceMax = 100

  // Users elsewhere. At a bound the post is refused with `tooFast`; nobody who is known is concerned.
  /// Users of one domain who become known to a home in an hour by acts of their own: a busy domain has fewer, and a
  /// flood of accounts that were made for it cannot fill the store.
  public static let strangersPerDomainPerHour = 200
  /// Users of all domains of one zone (`DomainZone`) who become known to a home in a day: an eighth of all, so that nobody uses
  /// up the day of all others by subdomains. All domains below a public suffix, such as `co.uk`, have fewer together.
  public static let strangersPerZonePerDay = 2_500
  /// The same of the zone's domains with acquaintances here, which count apart, so that nobody keeps them out who has a domain below
  /// the same suffix: a quarter of all, and as many as one domain has in a day. An account here makes subdomains known, too.
  public static let strangersPerKnownZonePerDay = 5_000
  /// Users of all domains who become known to a home in a day, likewise: against a flood of domains.
  public static let strangersPerDay = 20_000
  /// Conversations that one stranger begins in an hour (`StrangerPolicy.limit`): who looks for somebody finds them.
  public static let conversationsPerStranger = 3
  /// The same of one whose server says that the account is anonymous (XEP-0489): it is easily had again.
  public static let conversationsPerAnonymousStranger = 1
  /// Conversations that all strangers of a domain begin in an hour: a wave of new accounts is soon at an end.
  public static let conversationsPerDomain = 30
  /// Conversations that the strangers of all domains of one zone (`DomainZone`) begin in an hour, those of ten domains: otherwise a
  /// wave would come from as many subdomains as its author wants. Domains with acquaintances here count apart: so those of
  /// other owners below a public suffix are concerned only where nobody here knows anybody of the domain.
  public static let conversationsPerZone = 300
  /// Conversations of one domain with acquaintances of somebody here, which has real users.
  public static let conversationsPerKnownDomain = 1_000
  /// Conversations of all such domains of one zone, a quarter of all: an account here makes subdomains known, too.
  public static let conversationsPerKnownZone = 12_500
  /// Conversations of all strangers in an hour: some 10 MB of memory.
  public static let conversationsOfStrangers = 50_000
  /// Domains that are remembered as known; at the bound all are forgotten, and known again with their next message.
  static let knownDomains = 100_000
  /// New addresses elsewhere to which one account writes in an hour: people write to few, spam to many.
  public static let addressesPerAccount = 100
  /// The same for an account that is younger than a day.
  public static let addressesPerYoungAccount = 20
  /// Domains elsewhere without a link to which one user sends something that is not stored (IQs, presence to one address, chat states):
  /// each costs a link, look-ups and a stream. A client asks the servers of its user's rooms and contacts at once when it starts, and
  /// most of them have a link. To further ones such a stanza is refused with `tooFast`.
  public static let newDomainsPerUser = Rate(burst: 100, perSecond: 0.1)
  /// The users whose pace is remembered before those are forgotten who are back at the whole of it.
  static let newDomainUsersSwept = 1_024

  // Invitations.
  /// The lifetime of an invitation: enough for users who read their mail once a week (XEP-0379 4).
  public static let inviteLifetime: Duration = .seconds(7 * 86_400)
  /// The time for which an expired invitation still serves users whom it admitted before (XEP-0445 3.2), and reserves
  /// its name: longer than any stream takes to be negotiated.
  public static let inviteGrace: Duration = .seconds(3_600)
  /// Invitations of one user within a lifetime, used ones included; the next is refused with `tooFast`.
  public static let invitesPerUserMax = 50
  /// The time after a registration in which the new user, unless created or invited by an operator, invites nobody:
  /// otherwise one invitation is as many accounts as a program wants. An early one is refused with `tooFast`.
  public static let invitesWait: Duration = .seconds(86_400)
  /// Invitations of a realm's operators, likewise.
  public static let invitesOfOperatorsMax = 10_000
  /// Invitations of a realm that are listed; the rest is shown when these are gone.
  public static let invitesListed = 20_000

  // Reports. At a bound the block is made and the report left out.
  public static let reportsPerDayMax = 20
  public static let reportDay: Duration = .seconds(86_400)
  /// Reports of a realm that are not dismissed.
  public static let reportsMax = 10_000
  /// Code points of a reporter's text, and of each copied message; a longer one is cut.
  public static let reportCharactersMax = 4_096
  /// Messages in one report; further ones are left out.
  public static let reportMessagesMax = 20
  /// Code points of the id of a message that another server's report quotes, which names it to people alone; a longer one
  /// is cut.
  public static let reportedIDCharactersMax = 100
  /// Reports of one user that are forwarded in an hour, of the 20 of a day: a wave of spam is told, and nobody sends other
  /// servers reports by a program. Further ones are stored and not forwarded.
  public static let reportsForwardedPerUserPerHour = 5
  /// Reports that are forwarded to one domain in an hour, whoever made them: its operators have understood by then, and
  /// many accounts here cannot flood it together. Further ones are stored and not forwarded.
  public static let reportsForwardedPerDomainPerHour = 30
  /// Reports that all users together have forwarded in an hour: each costs a look-up, and some 100 kB of memory and of the
  /// outbox at most. Further ones are stored and not forwarded.
  public static let reportsForwardedPerHour = 1_000
  /// Reports whose destination is looked up at once; others wait.
  public static let reportsForwardedAtOnce = 16
  /// The time until a domain that did not answer is asked again.
  public static let reportForwardingRetry: Duration = .seconds(600)
  /// The age at which a report is not forwarded any more, as its domain was never reached. It is not urgent, as a message
  /// is: a server that was down for a night learns of it.
  public static let reportForwardingMax: Duration = .seconds(86_400)
  /// Reports of one domain elsewhere that are stored in a day, for all of its users; further ones are refused with
  /// `tooFast`. A server forwards some (`reportsForwardedPerDomainPerHour`), and nobody here can verify what it quotes.
  public static let reportsOfDomainPerDayMax = 50
  /// Reports of all domains of one zone (`DomainZone`) that are stored in a day, those of ten domains: otherwise 100 subdomains would
  /// use up `reportsElsewhereMax` within a day. Further ones are refused with `tooFast`.
  public static let reportsOfZonePerDayMax = 500
  /// The same of the zone's domains with acquaintances here, which count apart: a quarter of `reportsElsewhereMax`.
  public static let reportsOfKnownZonePerDayMax = 1_250
  /// Reports of a realm that are not dismissed, at which those of other servers are refused with `overloaded`: the other
  /// half is the users' own.
  public static let reportsElsewhereMax = 5_000

  /// Messages about which the backend is being asked: as many as the client has connections to one host, so that the time of a question
  /// counts from when it is sent. The next ones wait, and their authors take turns.
  public static let beforeSendQuestionsMax = 16
  /// The same of one author, and of all authors of a zone elsewhere: some connections are free for others, and an author who sends one
  /// message at a time is not slowed down. The author's next ones wait in order.
  static let beforeSendAuthorQuestionsMax = 4
  static let beforeSendZoneQuestionsMax = 8
  /// The bytes of the posts that wait for answers, at most, and less on a machine with little memory; those of one author have an
  /// eighth of what is free. At the bound HTTP answers 503, and the sessions of the author, or all, stop reading until half of it is
  /// free.
  public static let beforeSendBytesMax = 64 << 20
  static let beforeSendAuthorShare = 8
  /// The bytes of such a post beside what its author has written, and those of its request to the hook.
  static let beforeSendPostBytes = 2_048
  /// The bytes that are counted for each of its files, whose description is read for the hook: twice a name (`blobNameBytesMax`) and two
  /// URLs that have it percent-encoded.
  static let beforeSendFileBytes = 4_096

  /// Outbox events of a realm, which are no entries, that wait for its hooks; the oldest is removed.
  public static let outboxEventsMax = 100_000
}
