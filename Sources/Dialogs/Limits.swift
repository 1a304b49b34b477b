/// The bounds of the core: each with its number, its reason, and what happens at it.
public enum Limits {
  // The committer's inbox. At the bound HTTP answers 503 with Retry-After, and a session stops reading its socket until
  // the inbox is half empty.
  public static let inboxPostsMax = 16_384
  /// Posts in one transaction: enough to amortise a sync, few enough that the last one does not wait for long.
  public static let batchPostsMax = 2_048

  // Messages and profiles.
  /// Characters of an app's text; at the bound: `too-large`.
  public static let textCharactersMax = 10_000
  /// Bytes of an app's whole message body as JSON.
  public static let appMessageBytesMax = 65_536
  /// Bytes of a stanza; larger ends the stream with `policy-violation`.
  public static let stanzaBytesMax = 262_144
  public static let clientIDBytesMax = 128
  public static let metadataBytesMax = 4_096
  public static let displayNameBytesMax = 256
  /// Bytes of a display name from an external identity provider that is used as the localpart of a new account; for a
  /// longer one, a random one is used.
  public static let plainNameBytesMax = 64

  // Signing in by external identity providers.
  /// The lifetime of a nonce: the usual one of this flow, and long enough for a slow backend. Later: `nonce-invalid`.
  public static let nonceLifetime: Duration = .seconds(600)
  /// Bytes of a nonce; this server's have 60. A longer one is invalid.
  public static let nonceBytesMax = 128
  /// Logins by one identity, whose nonces are stored until they expire: at most 180 at a time. At the bound: `tooFast`.
  public static let tokenLoginRate = Rate(burst: 60, perSecond: 0.2)
  /// Identities of one user; the next is `too-many-identities`.
  public static let identitiesPerUserMax = 32

  public static let statusBytesMax = 1_024
  public static let vCardBytesMax = 131_072
  public static let avatarBytesMax = 98_304
  /// Bytes of a subscription request that are stored until it is answered.
  public static let requestBytesMax = 4_096

  // Contacts. At the bound: `policy-violation`; other servers allow about as many.
  public static let contactsMax = 10_000
  public static let groupsPerContactMax = 32
  public static let groupBytesMax = 1_023
  public static let blocksMax = 1_000
  /// Addresses in both lists of one user's archive preferences: each message compares them.
  public static let archivePreferencesMax = 200

  // Changes of messages.
  /// Emoji of one user for one message; further ones are left out.
  public static let reactionsMax = 20
  /// Octets of one emoji: the longest sequences of Unicode 16 have 35; longer ones are left out.
  public static let emojiBytesMax = 64
  /// Users whose reactions to one message are stored: later ones are only relayed.
  public static let reactingUsersMax = 500
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
  /// Messages that one user deletes for themselves one by one, parts of messages included: counting them takes the
  /// committer a millisecond. The next is refused with `too-many-hidden`; clearing a dialog takes one value however
  /// long it is.
  public static let hiddenMax = 10_000

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
  /// effect.
  public static let invitationsMax = 1_000
  /// Members of one room, and as many outcasts; the next is refused with `too-large`.
  public static let membersMax = 10_000
  /// People in one change of affiliations or roles; more are `too-large`: a post must not block the log.
  public static let memberChangesMax = 256
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
  /// Rooms in which one user is a member; the next is refused.
  public static let roomsPerUserMax = 5_000
  /// Occupants above which only moderators, the user themselves and those who have written are shown: presences grow
  /// with the square of the occupants.
  public static let shownOccupantsMax = 200
  /// Members up to which everyone is told how far each has read.
  public static let markersToldMax = 20
  /// Unconfigured rooms at a time, over all users; the next is refused, and each ends with its creator's session.
  public static let leasesMax = 10_000
  /// The maximum number of those of one user, so that no user takes them all.
  public static let leasesPerUserMax = 32
  public static let slowModeSecondsMax = 86_400

  // Nodes and private data (XEP-0163, XEP-0049).
  /// Nodes of one user: OMEMO needs one per device and kind, and clients do not remove them; the next is refused with
  /// `max-nodes-exceeded`.
  public static let nodesPerUserMax = 512
  /// Bytes of a node's name, which is a namespace; a longer one is refused with `not-acceptable`.
  public static let nodeNameBytesMax = 1_023
  /// Items of one node, the meaning of `max`: as many as a user has rooms. At the bound the node's `publish_node_full`
  /// decides whether the oldest is removed, or the new one refused.
  public static let itemsPerNodeMax = roomsPerUserMax
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
  /// publication reads all of them.
  public static let nodePeopleMax = 1_000
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
  /// The day of `BlobPolicy.userDayBytesMax`.
  public static let blobDay: Duration = .seconds(86_400)
  /// Uploads at a time, of one user and of all: each holds a file open and a buffer in memory. The next is refused with
  /// `uploads-too-many`.
  public static let uploadsPerUserMax = 4
  public static let uploadsMax = 512
  /// Threads that wait for the local disk of files, and for a remote store, which takes longer.
  public static let blobThreadsMax = 4
  public static let remoteBlobThreads = 32
  /// Files that are inspected (scanned, shrunk) at the same time; others wait, and their uploads with them.
  public static let inspectionsMax = 4
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
  /// Sessions of one user that are shown although their clients have lost their connection, since these may reconnect;
  /// the next is not.
  public static let lingeringMax = sessionsPerUserMax
  /// Addresses of a session's directed presence that are remembered.
  public static let directedMax = 1_000
  /// Offline messages sent at once to a client without archive; as many again follow when it has confirmed these, so
  /// that a long absence neither floods the client nor loses anything.
  public static let replayMax = 1_000
  /// Events between two commits of the "delivered" mark of one user.
  public static let confirmEvery = 64

  // Caches of the committer, in entries; at the bound the cache is emptied.
  public static let cachedUsersMax = 100_000
  public static let cachedDialogsMax = 50_000
  /// Members and their marks, over all cached rooms.
  public static let cachedMembersMax = 200_000

  // Pushes (XEP-0357).
  /// Registrations of one user, about one per device; the oldest is removed.
  public static let pushRegistrationsMax = 16
  /// Bytes of publish options; more are refused with `policy-violation`.
  public static let pushOptionsBytesMax = 4_096
  /// Members up to which each message of a group is pushed to all who have not chosen otherwise: a row for each absent
  /// one. In larger groups, which would ring all day, only mentions are.
  public static let ringingMembersMax = 100
  /// The time between two publications for one user; later messages are combined.
  public static let pushInterval: Duration = .seconds(1)
  /// Messages that one publication combines; the next combines the rest.
  public static let pushesOwedMax = 100
  /// Users whose services are called at the same time; the others wait.
  public static let pushesAtOnceMax = 256
  /// Failed publications in a row before a registration is removed: with the waits below about a day.
  public static let pushFailuresMax = 16
  /// The wait before a failed publication is tried again, doubled each time up to the second.
  public static let pushRetry: Duration = .seconds(5)
  public static let pushRetryMax: Duration = .seconds(21_600)

  // Devices of apps.
  /// Dialogs and calls in one publication to a device, the newest; the badge counts the others too.
  public static let pushNoticesMax = 10
  // Notifications of an app's backend.
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
  /// messages.
  static let indexedAtOnce = 1_000

  // Drafts and scheduled messages.
  /// Drafts of one user: more than anyone needs. At the bound `too-many-drafts`.
  public static let draftsPerUserMax = 1_000
  /// Scheduled messages of one user: each is a row, and a post at its time. At the bound `too-many-scheduled`.
  public static let scheduledPerUserMax = 100
  /// The longest time ahead for a scheduled message: a year. Further: `send-at-out-of-range`.
  public static let scheduleMax: Duration = .seconds(365 * 86_400)
  /// Due messages that are sent between two reads.
  public static let dueAtOnce = 100
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
  /// Ringing calls of one user as caller, and as callee. The next of a caller is `too-many-calls`; the next to a callee
  /// ends with `busy`.
  public static let callsRingingMax = 4
  /// Calls of one user that are read, and listed: the newest of those that have not ended.
  public static let callsOpenMax = 32
  /// Bytes of a call's id in XMPP; UUIDs have 36. A stanza with a longer one is relayed as an ordinary message.
  public static let callNameBytesMax = 256
  /// Bytes of a session description; browsers' with video have about 6,000. More: `sdp-too-long`.
  public static let callSDPBytesMax = 32_768
  /// Bytes of a candidate, and of an app's own information in a call. More: `candidate-too-long`, `info-too-long`.
  public static let callSignalBytesMax = 4_096

  // Search.
  /// Candidates that one search reads; then its page ends early, with a cursor.
  public static let searchLooksMax = 4_000
  /// Bytes of the searched text; longer is `query-too-long`.
  public static let searchTextBytesMax = 1_024

  // Custom events of apps.
  public static let customKindBytesMax = 64
  public static let customPayloadBytesMax = 4_096
  /// Members of an open dialog up to which typing and custom events are relayed, each to everyone present. In larger
  /// ones typing is dropped, and custom events are refused.
  public static let overheardMembersMax = 200

  // Pages.
  public static let pageDefault = 50
  public static let pageMax = 100
  public static let feedPageMax = 200
  /// Messages that a marker passes and among which the one whose author is told is looked for: the newest; a reader
  /// further behind tells no one.
  public static let markersLookBack = 32
  /// Live entries that one session, or one room that it is entering, holds while a page is being read: some
  /// milliseconds of a busy log. At the bound all are dropped, and read after the page.
  public static let heldEntriesMax = 256
  /// Entries behind which a follower is told to resync.
  public static let feedBehindMax = 10_000

  /// Threads that read the store: more than a store has connections would only wait there.
  public static let readersMax = 4

  // Logins.
  /// PBKDF2 rounds for new passwords (RFC 7677 4: at least 4,096).
  public static let scramIterations = 4_096
  public static let grantsPerUserMax = 64
  /// Origins (a network, a device) of users' earlier logins, which strangers' failures cannot lock out; beyond it the
  /// least recently used are strangers again. Some 50 bytes each.
  public static let knownLoginsMax = 200_000
  /// Networks and users of failed logins of strangers; beyond it those with the oldest failures are removed.
  public static let countedStrangersMax = 200_000
  public static let accessLifetime: Duration = .seconds(3_600)
  /// XMPP clients of one user that hold tokens (XEP-0484); at the bound the token of the one unused for longest is
  /// removed, and it logs in by its password.
  public static let clientsPerUserMax = 64
  /// The lifetime of a client's token: a telephone that was off over a long holiday still logs in, a lost one does not
  /// forever.
  public static let clientTokenLifetime: Duration = .seconds(30 * 86_400)
  /// The age at which a token is replaced when it is used: a stolen copy is valid for a day beside an active client,
  /// and one write a day costs nothing.
  public static let clientTokenRotation: Duration = .seconds(86_400)
  /// The precision of the stored time of a client's last use: reconnecting by a token within that time, as telephones
  /// do all day, writes nothing.
  public static let clientUseGrain: Duration = .seconds(3_600)
  /// App passwords of one user: each costs every SCRAM login of theirs two hashes. The next is refused with
  /// `too-many-app-passwords`.
  public static let appPasswordsPerUserMax = 32

  // Accounts, over any door. At a rate's bound: `tooFast`.
  /// New accounts, per network: each costs key derivation and uses a name permanently.
  public static let registrationRate = Rate(burst: 100, perSecond: 1)
  /// Reads of invitations, per network: their tokens cannot be guessed; the bound is for the reading.
  public static let inviteRate = Rate(burst: 200, perSecond: 10)
  /// A user's own password changes, in band: each costs key derivation.
  public static let passwordChangeRate = Rate(burst: 10, perSecond: 1.0 / 60)
  /// Searches of one user in band: each reads every user of the realm.
  public static let searchRate = Rate(burst: 20, perSecond: 1)
  public static let searchResultsMax = 50
  /// New guests, per network: each leaves the row of a name that is never reused. A reloaded page is a new guest.
  /// `GuestPolicy` has the number of guests at a time.
  public static let guestRate = Rate(burst: 50, perSecond: 0.2)

  // Codes, links and second factors.
  /// The lifetime of a one-time code: mail takes minutes at times.
  public static let codeLifetime: Duration = .seconds(600)
  /// Wrong attempts with a code, including the one that invalidates it: five guesses out of a million codes.
  public static let codeAttemptsMax = 5
  /// The lifetime of the link of a password reset.
  public static let passwordResetLifetime: Duration = .seconds(3_600)
  /// Codes and links that one network requests, for any users: enough for a household, not for a program.
  public static let outgoingCodeRate = Rate(burst: 20, perSecond: 1.0 / 30)
  /// Codes and links to one mail address or telephone, from any requester: the recipient may not have requested them.
  public static let codesOfHour = Rate(burst: 4, perSecond: 4.0 / 3_600)
  public static let codesOfDay = Rate(burst: 10, perSecond: 10.0 / 86_400)
  /// The time for the second factor, once the password was right: enough to find the telephone.
  public static let challengeLifetime: Duration = .seconds(600)
  /// Wrong second factors of one user, over all networks: with three codes valid at a time, a thief of the password
  /// succeeds with a probability of one in a thousand per day.
  public static let secondFactorRate = Rate(burst: 10, perSecond: 10.0 / 3_600)
  /// Recovery codes in one set; each works once.
  public static let recoveryCodes = 10
  /// Characters of a new password from an app (NIST SP 800-63B 5.1.1.2). XMPP clients and operators are not checked.
  public static let passwordCharactersMin = 8
  /// Octets of a mail address (RFC 5321 4.5.3.1.3, without the angle brackets), and of the part before its @
  /// (4.5.3.1.1).
  public static let emailBytesMax = 254
  public static let emailLocalBytesMax = 64
  // Users.
  /// Bytes of the URL of an external image; more is `too-large`.
  public static let avatarURLBytesMax = 2_048
  public static let termsVersionBytesMax = 128
  /// Users in one request; more are `malformed`.
  public static let usersAtOnceMax = 100

  // Nearby users.
  /// The default lifetime of a shared location, and its bounds.
  public static let locationLifetime: Duration = .seconds(3_600)
  public static let locationLifetimeMin: Duration = .seconds(60)
  public static let locationLifetimeMax: Duration = .seconds(86_400)
  /// The greatest radius of a search, and distance from the own location: a city with its surroundings.
  public static let nearbyKilometresMax = 50
  /// Users who are read for one answer, nearest rows of the grid first; a larger crowd is shown in part.
  public static let nearbyLookedAtMax = 5_000
  /// Changes of a user's location: enough for walking, too few to search for others by moving.
  public static let locationRate = Rate(burst: 10, perSecond: 1.0 / 60)
  public static let nearbyRate = Rate(burst: 20, perSecond: 0.1)

  // Contact matching.
  /// Hashes in one request, 33 KB of them; more are `too-large`.
  public static let matchKeysMax = 500
  /// Hashes of one user: the longest phonebooks at once, and then a thousand a day. A country's numbers would take an
  /// account some hundred years. Not stored.
  public static let matchRate = Rate(burst: 5_000, perSecond: 1_000.0 / 86_400)

  // Export and erasure.
  /// The time after signing in within which that login may delete the account: long enough to read the consequences.
  public static let freshLogin: Duration = .seconds(600)
  /// Exports of one user: two at once, for a failed first one, and then one in six hours: each reads all of a user's
  /// messages.
  public static let exportRate = Rate(burst: 2, perSecond: 1.0 / 21_600)
  /// The time for which an export may be fetched.
  public static let exportLifetime: Duration = .seconds(7 * 86_400)
  /// Exports of one user that are kept; the oldest is removed.
  public static let exportsPerUserMax = 4
  /// Bytes of one file of an archive, which is built in memory.
  package static let exportPartBytes = 1_048_576
  /// Entries of the log that are read in one piece for a user's messages: some ten milliseconds of a reader.
  package static let authoredLookedAtMax = 10_000
  /// Retractions of an erasure that are posted together.
  package static let retractedAtOnce = 64

  // Invitations.
  /// The lifetime of an invitation: enough for users who read their mail once a week (XEP-0379 4).
  public static let inviteLifetime: Duration = .seconds(7 * 86_400)
  /// The time for which an expired invitation still serves users whom it admitted before (XEP-0445 3.2), and reserves
  /// its name: longer than any stream takes to be negotiated.
  public static let inviteGrace: Duration = .seconds(3_600)
  /// Invitations of one user within a lifetime, used ones included; the next is refused with `tooFast`.
  public static let invitesPerUserMax = 50
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

  /// Messages about which the backend is being asked; the next counts as unanswered.
  public static let beforeSendQuestionsMax = 1_000

  // App keys.
  /// Keys of a realm: some for each program of a backend; the next is refused with `too-many-keys`.
  public static let appKeysMax = 100
  /// The precision of the stored time of a key's last use: a backend calls all day, and a write each time is useless.
  public static let appKeyUseGrain: Duration = .seconds(60)
  /// Calls of a realm's keys that are recorded, the newest: about 20 MB; an operator who needs more makes copies.
  public static let auditRecordsMax = 100_000
  /// Bytes of the path in a record; a longer one is cut.
  public static let auditTargetBytesMax = 512

  // Hooks.
  /// Hooks of a realm; each reads the log. The next is refused with `too-many-webhooks`.
  public static let hooksMax = 20
  public static let hookURLBytesMax = 2_048
  /// Names in one hook's list of events.
  public static let hookEventsMax = 64
  /// Entries that a hook reads at once, and so may be sent again after a crash.
  public static let hookPage = 64
  /// Requests to one hook at the same time.
  public static let hookRequestsMax = 8
  /// The wait before it is tried again, doubled each time up to the second (Standard Webhooks 1.0.0, "Deliverability
  /// and reliability").
  public static let hookRetry: Duration = .seconds(5)
  public static let hookRetryMax: Duration = .seconds(3_600)
  /// Attempts for one event, with the waits above some two hours; then it is recorded as a failure.
  public static let hookAttemptsMax = 12
  /// The time without any success after which the hook is disabled, keeping its position.
  public static let hookPatience: Duration = .seconds(3 * 86_400)
  /// Failures of one hook that are recorded, the newest.
  public static let hookFailuresMax = 1_000
  /// Positions without events for a hook after which its position is stored again.
  public static let hookNoteEvery: Int64 = 1_000
  /// Occurrences that are no entries and wait for hooks; the oldest is removed.
  public static let occurrencesMax = 100_000
  /// The time for which a replaced secret still signs too.
  public static let hookSecretOverlap: Duration = .seconds(86_400)
  /// The timeout of one request (Standard Webhooks 1.0.0, "Request timeouts": 15 to 30 s).
  public static let hookTimeout: Duration = .seconds(15)
}
