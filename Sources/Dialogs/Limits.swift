/// Every bound of the core: its number, why, and what happens at it.
public enum Limits {
  // The committer's inbox. At the bound: HTTP answers 503 with Retry-After;
  // a session stops reading its socket until the inbox is half empty.
  public static let inboxPostsMax = 16_384
  /// Posts in one transaction: enough to amortise a sync, small enough that
  /// the last one does not wait for long.
  public static let batchPostsMax = 2_048

  // What people write.
  /// Characters of an app's text; at the bound: `too-large`.
  public static let textCharactersMax = 10_000
  /// Bytes of an app's whole message body as JSON.
  public static let appMessageBytesMax = 65_536
  /// Bytes of a stanza; larger ends the stream with `policy-violation`.
  public static let stanzaBytesMax = 262_144
  public static let clientIDBytesMax = 128
  public static let metadataBytesMax = 4_096
  public static let displayNameBytesMax = 256
  /// Bytes of a name that somebody who signs in without an account has elsewhere and is given here; another is made up.
  public static let plainNameBytesMax = 64

  // Signing in by what others vouch for.
  /// How long a nonce is good: what the people who made this flow promise to their clients, and long enough for a slow
  /// backend. Behind it: `nonce-invalid`.
  public static let nonceLifetime: Duration = .seconds(600)
  /// Bytes of a nonce; ours have 60. A longer one is none.
  public static let nonceBytesMax = 128
  /// Logins by one identity, whose nonces are kept until their time is over: at most 180 at a time. At the bound: `tooFast`.
  public static let tokenLoginRate = Rate(burst: 60, perSecond: 0.2)
  /// Identities of one user; the next is `too-many-identities`.
  public static let identitiesPerUserMax = 32

  public static let statusBytesMax = 1_024
  public static let vCardBytesMax = 131_072
  public static let avatarBytesMax = 98_304
  /// Bytes of a subscription request that are kept until it is answered.
  public static let requestBytesMax = 4_096

  // Contacts. At the bound: `policy-violation`; the peers allow about as many.
  public static let contactsMax = 10_000
  public static let groupsPerContactMax = 32
  public static let groupBytesMax = 1_023
  public static let blocksMax = 1_000
  /// Addresses in both lists of one user's archive preferences: each message looks at them.
  public static let archivePreferencesMax = 200

  // What becomes of messages.
  /// Emoji of one person for one message; further ones are left out.
  public static let reactionsMax = 20
  /// Octets of one emoji: the longest sequences of Unicode 16 have 35; longer ones
  /// are left out.
  public static let emojiBytesMax = 64
  /// People whose reactions to one message are kept: later ones are only relayed.
  public static let reactingUsersMax = 500
  /// Numbers in the waveform of a recording, which is drawn about as many pixels wide; more is refused with `too-large`.
  public static let waveformMax = 256
  /// What the largest of them is: a byte's.
  public static let waveformValueMax = 255
  /// Octets of one member of a contact's card, a place's name, a sticker's id; and lines of one kind (telephones, addresses).
  public static let contentFieldBytesMax = 256
  public static let contactLinesMax = 10
  /// Mentions in one message, each a row and a look at a block list: further ones of
  /// XMPP have no effect, and the app is refused with `too-large`.
  public static let mentionsMax = 50

  /// Pinned messages of one dialog: a list that people look through. The next is refused with `too-many-pins`.
  public static let pinsMax = 50
  /// Messages that one user stars: a few milliseconds to count; the next is refused with `too-many-stars`.
  public static let starsMax = 5_000
  /// Messages that one user deletes for themselves one by one, parts of messages included: counting them takes the committer a
  /// millisecond. The next is refused with `too-many-hidden`; clearing a dialog takes one value however long it is.
  public static let hiddenMax = 10_000

  // Rooms.
  /// Octets of a room's localpart; longer is `malformed` (RFC 7622 3.3).
  public static let roomNameBytesMax = 1_023
  public static let externalIDBytesMax = 256
  public static let topicBytesMax = 4_096
  public static let passwordBytesMax = 1_023
  /// Octets of a nick; longer is `malformed`.
  public static let nickBytesMax = 256
  /// Octets of a reason for a kick, a ban, an invitation; longer is cut.
  public static let reasonBytesMax = 1_024
  /// Octets of the thread that an invitation continues; a longer one is left out,
  /// since a part of an id names nothing.
  public static let threadBytesMax = 1_023
  /// Invitations to one room that may still be declined; at the bound the oldest is
  /// forgotten, and declining it tells nobody.
  public static let invitationsMax = 1_000
  /// Members of one room, and as many who are banned; the next is refused with
  /// `too-large`.
  public static let membersMax = 10_000
  /// People in one change of affiliations or roles; more is `too-large`: a post
  /// must not hold up the log.
  public static let memberChangesMax = 256
  /// People on a member list that is told to who enters (XEP-0463): the committer
  /// reads it, once per version, in a few milliseconds, and the client must take it
  /// before it has acknowledged any of it. Of a longer one no version is told.
  public static let memberListMax = 5_000
  /// Changes of the list that are told one by one; after more all of it is.
  public static let memberListChangesMax = 500
  /// Occupants of one room: above, only admins and owners still get in.
  public static let occupantsMax = 10_000
  /// Sessions under one nick: as many as a user has.
  public static let seatsMax = sessionsPerUserMax
  /// Rooms that one session occupies at a time; the next is refused.
  public static let roomsPerSessionMax = 1_000
  /// Rooms in which one user is a member; the next is refused.
  public static let roomsPerUserMax = 5_000
  /// Above so many occupants only moderators, oneself and those who have spoken
  /// are shown: presences grow with the square of the people.
  public static let shownOccupantsMax = 200
  /// Members up to which everybody learns how far each has read.
  public static let markersToldMax = 20
  /// Unconfigured rooms at a time, over all users; the next is refused, and each
  /// ends with its creator's session.
  public static let leasesMax = 10_000
  /// Of those one user's, so that nobody takes them all.
  public static let leasesPerUserMax = 32
  public static let slowModeSecondsMax = 86_400

  // What users publish (XEP-0163, XEP-0049).
  /// A node per device and kind is what OMEMO needs, and nobody tidies up; the
  /// next is refused with `max-nodes-exceeded`.
  public static let nodesPerUserMax = 512
  /// Longer is refused with `not-acceptable`: names are namespaces.
  public static let nodeNameBytesMax = 1_023
  /// What `max` means, as many as a user has rooms. At the bound the node's
  /// `publish_node_full` decides: the oldest goes, or the new one is refused.
  public static let itemsPerNodeMax = roomsPerUserMax
  /// A whole address fits (RFC 7622 3.1); longer is refused with `not-acceptable`.
  public static let itemIDBytesMax = 3_071
  /// An avatar of `avatarBytesMax` in base 64 fits; larger is refused with
  /// `payload-too-big`.
  public static let itemBytesMax = 196_608
  /// Of all items of one user together; the next is refused with
  /// `policy-violation`. The bounds above would let one account fill a disk.
  public static let publishedBytesMax = 33_554_432
  /// The same, where it is not the owner who publishes: what others write leaves the
  /// owner room for their own.
  public static let publishedWithOthersBytesMax = publishedBytesMax / 2
  /// Affiliations of one node, and explicit subscriptions to one; the next is refused with
  /// `policy-violation`. All of them are looked at with each publication.
  public static let nodePeopleMax = 1_000
  /// Subscriptions of one user to one node: as many as sessions may ask for themselves;
  /// and to all nodes there are. The next is refused with `too-many-subscriptions`.
  public static let subscriptionsPerNodeMax = sessionsPerUserMax
  public static let subscriptionsPerUserMax = 4_096
  /// Elements of private data that one user keeps, and bytes of each; beyond it
  /// `policy-violation`. Clients have two or three of a kilobyte.
  public static let privateXMLMax = 100
  public static let privateXMLBytesMax = 65_536

  // Files. What an operator decides (bytes of one, of one user, of one user's day) is in `BlobPolicy`.
  /// Octets of a file's name: as many as file systems take; a longer one is cut, its ending kept.
  public static let blobNameBytesMax = 255
  /// Octets of a media type (RFC 6838 4.2: 127 each side at most, in practice far fewer); a longer one counts as none.
  public static let mediaTypeBytesMax = 127
  /// Files in one message that are recognised: further ones are links like any other.
  public static let attachmentsMax = 10
  /// Octets of the address of a file that is kept elsewhere; a longer one is no attachment.
  public static let attachmentURLBytesMax = 2_048
  /// Bytes of a picture for a profile, which is kept for ever; more is `blob-too-large`.
  public static let profileBlobBytesMax: Int64 = 5_242_880
  /// How long a slot waits for its upload to begin (XEP-0363 7: around 300 s).
  public static let slotTime: Duration = .seconds(300)
  /// How long a slot takes bytes that may come in parts: a day, so that a telephone that was out of reach over night goes on
  /// in the morning.
  public static let resumableSlotTime: Duration = .seconds(86_400)
  /// Slots of one user that wait; the next is refused with `slots-too-many`. A client fills one at once.
  public static let slotsPerUserMax = 20
  /// The same of those that may be filled in parts: a telephone sends a few at a time, and cancels what it gives up.
  public static let resumableSlotsPerUserMax = 10
  /// Files of one user, those included that went within the day, so that many small ones do not fill the store, nor make
  /// counting them long (a few milliseconds of the committer); the next is refused with `blob-quota`.
  public static let blobsPerUserMax = 20_000
  /// The day of `BlobPolicy.userDayBytesMax`.
  public static let blobDay: Duration = .seconds(86_400)
  /// Uploads at a time, of one user and of all: each holds a file open and a piece in memory. The next is refused with
  /// `uploads-too-many`.
  public static let uploadsPerUserMax = 4
  public static let uploadsMax = 512
  /// Threads that wait for the disk of the files, and for a store at the other end of a network, which takes longer.
  public static let blobThreadsMax = 4
  public static let remoteBlobThreads = 32
  /// Files that are looked at (scanned, made small) at the same time; others wait, and their uploads with them.
  public static let inspectionsMax = 4
  /// Bytes of a file's beginning that say what it is: of the picture's size too, behind what cameras write before it.
  public static let inspectedBytes = 524_288
  /// Bytes and pixels of a picture that gets a thumbnail: the largest that telephones make are below. Larger ones have none.
  public static let pictureBytesMax: Int64 = 67_108_864
  public static let picturePixelsMax = 120_000_000
  /// Pixels of a thumbnail's longer side: a preview in a list of messages, at twice the usual density. Pictures that are no
  /// larger and have few bytes have none.
  public static let thumbnailSide = 320
  public static let unshrunkBytesMax: Int64 = 32_768
  /// Bytes of a thumbnail; one that would be larger is none.
  public static let thumbnailBytesMax = 131_072
  /// Pixels of an avatar's longer side that is made of a larger picture, and bytes of that picture.
  public static let avatarSide = 192
  public static let avatarSourceBytesMax = 5_242_880
  /// Files that are removed between two looks at what is due.
  public static let sweptBlobsMax = 100

  // Sessions.
  /// Of one user over both doors; the next is refused with `resource-constraint`.
  public static let sessionsPerUserMax = 32
  /// Sessions of one user that are shown although their clients are gone, since these may be back in a moment; the next is not.
  public static let lingeringMax = sessionsPerUserMax
  /// Addresses one session may send directed presence to and be remembered for.
  public static let directedMax = 1_000
  /// Offline messages told at once to a client without archive; as many again
  /// follow when it has confirmed these, so that a long absence neither floods
  /// the client nor loses anything.
  public static let replayMax = 1_000
  /// Events between two commits of the "delivered" mark of one user.
  public static let confirmEvery = 64

  // Caches of the committer, in entries; at the bound the cache starts anew.
  public static let cachedUsersMax = 100_000
  public static let cachedDialogsMax = 50_000
  /// People and their marks, over all rooms that are cached.
  public static let cachedMembersMax = 200_000

  // Pushes (XEP-0357).
  /// Of one user, about one per device; the one that was asked for longest ago goes.
  public static let pushRegistrationsMax = 16
  /// Bytes of publish options; larger is refused with `policy-violation`.
  public static let pushOptionsBytesMax = 4_096
  /// Members up to which each message of a group is pushed to all who have not said otherwise: a row for each who is away.
  /// In larger ones, which would ring all day, it is mentions.
  public static let ringingMembersMax = 100
  /// Between two publications for one user; what comes meanwhile is one publication.
  public static let pushInterval: Duration = .seconds(1)
  /// Messages that one publication stands for; the next stands for the rest.
  public static let pushesOwedMax = 100
  /// Users whose services are told at the same time; the others wait their turn.
  public static let pushesAtOnceMax = 256
  /// Publications in a row that are not taken before a registration goes: with the waits below about a day.
  public static let pushFailuresMax = 16
  /// Before a publication that was not taken is tried again, doubled each time up to the second.
  public static let pushRetry: Duration = .seconds(5)
  public static let pushRetryMax: Duration = .seconds(21_600)

  // Devices of apps.
  /// Dialogs and calls that one publication tells a device of, the newest; the badge counts the others too.
  public static let pushNoticesMax = 10
  // What an app's backend tells devices.
  /// Bytes of words and data together: with what is around them they fit into the 4 KiB of every provider. More is `too-large`.
  public static let notificationBytesMax = 2_048
  /// Values that are put into one text; phones have no text with more. More are refused.
  public static let notificationArgumentsMax = 10
  /// Users of one call: each is a row in the log. More are `too-large`.
  public static let notificationUsersMax = 100
  /// Bytes of a provider's token. Apple's have 64 or 160 digits, Google's some 160 letters; both say that they may grow.
  public static let pushTokenBytesMax = 4_096
  /// Bytes of the URL of a subscription; those of browsers have some 200 to 800.
  public static let pushEndpointBytesMax = 2_048
  /// Bytes of an app's name at its provider (Apple's have at most 155), of a platform and of a locale.
  public static let deviceFieldBytesMax = 200

  /// Entries that are looked at for the index of searches in one piece, ten milliseconds of the committer where all of
  /// them are messages.
  static let indexedAtOnce = 1_000

  // What users have written and not sent.
  /// Of one user: as many as anybody begins. At the bound `too-many-drafts`.
  public static let draftsPerUserMax = 1_000
  /// Of one user: each is a row, and a post at its time. At the bound `too-many-scheduled`.
  public static let scheduledPerUserMax = 100
  /// How far ahead a message may be scheduled: a year. Further: `send-at-out-of-range`.
  public static let scheduleMax: Duration = .seconds(365 * 86_400)
  /// Messages that are due and sent between two looks.
  public static let dueAtOnce = 100
  /// The longest sleep before it is looked again what is due: a clock that is set costs no more than that.
  public static let scheduleLook: Duration = .seconds(60)
  /// Before what could not be stored is tried again.
  public static let scheduleRetry: Duration = .seconds(5)

  // Calls.
  /// How long it rings when nobody answers: as long as telephones do. Then the call ends with `timeout`.
  public static let callRinging: Duration = .seconds(60)
  /// How long an answered call stands when nobody says that it is over (XEP-0353, "Business Rules"). Then it ends with `failed`.
  public static let callMax: Duration = .seconds(86_400)
  /// Calls that one user begins in a minute, whoever they call. Further: `calls-too-fast`.
  public static let callsPerMinuteMax = 10
  /// Calls that one user makes ring at a time, and that ring for one user. The next is `too-many-calls`; the next for somebody is
  /// ended with `busy`.
  public static let callsRingingMax = 4
  /// Calls of one user that are looked at, and listed: the newest of those that have not ended.
  public static let callsOpenMax = 32
  /// Bytes of what XMPP calls a call; UUIDs have 36. A longer one is passed on, and no call.
  public static let callNameBytesMax = 256
  /// Bytes of a session description; those of browsers with video have about 6,000. More: `sdp-too-long`.
  public static let callSDPBytesMax = 32_768
  /// Bytes of a candidate, and of what else apps say in a call. More: `candidate-too-long`, `info-too-long`.
  public static let callSignalBytesMax = 4_096

  // Finding.
  /// Candidates that one search looks at; then its page ends early, with a cursor.
  public static let searchLooksMax = 4_000
  /// Bytes of what is searched for; longer is `query-too-long`.
  public static let searchTextBytesMax = 1_024

  // Events of an app's own.
  public static let customKindBytesMax = 64
  public static let customPayloadBytesMax = 4_096
  /// Members of a dialog that anybody may join up to which typing and an app's own events are passed on: each is told
  /// to everybody who is there. In larger ones typing is left out, and own events are refused.
  public static let overheardMembersMax = 200

  // Pages.
  public static let pageDefault = 50
  public static let pageMax = 100
  public static let feedPageMax = 200
  /// Messages that a marker moves over and among which the one to be told of is
  /// looked for: the newest; a reader further behind tells nobody but itself.
  public static let markersLookBack = 32
  /// Live entries that one session, or one room that it is entering, holds while a page is on its way: some milliseconds of a
  /// busy log. At the bound all are dropped, and read behind the page.
  public static let heldEntriesMax = 256
  /// A follower further behind than this many entries is told to resync.
  public static let feedBehindMax = 10_000

  /// Threads that read the store: more than a store has connections for would
  /// only wait there.
  public static let readersMax = 4

  // Logins.
  /// PBKDF2 rounds for new passwords (RFC 7677 4: at least 4,096).
  public static let scramIterations = 4_096
  public static let grantsPerUserMax = 64
  /// Places (a network, a device) that users have logged in from before, which strangers' failures cannot lock out; beyond it
  /// those that were used least lately are strangers again. Some 50 bytes each.
  public static let knownLoginsMax = 200_000
  /// Networks and users of failed logins of strangers; beyond it those that failed least lately begin anew.
  public static let countedStrangersMax = 200_000
  public static let accessLifetime: Duration = .seconds(3_600)
  /// XMPP clients of one user that hold tokens (XEP-0484); at the bound the one longest
  /// unused loses its own, and logs in by its password.
  public static let clientsPerUserMax = 64
  /// Of a client's token: a telephone that lay in a drawer over a long holiday still
  /// comes in, one that was lost and forgotten does not for ever.
  public static let clientTokenLifetime: Duration = .seconds(30 * 86_400)
  /// A token that is older is replaced when it is used: a stolen copy is worth a day
  /// beside a client that is in use, and a write of a new one a day costs nothing.
  public static let clientTokenRotation: Duration = .seconds(86_400)
  /// When a client was used last is stored so exactly: coming back by a token within
  /// that time, as telephones do all day, writes nothing.
  public static let clientUseGrain: Duration = .seconds(3_600)
  /// Of one user: each costs every SCRAM login of theirs two hashes. The next is
  /// refused with `too-many-app-passwords`.
  public static let appPasswordsPerUserMax = 32

  // Accounts, over any door. At a rate's bound: `tooFast`.
  /// New accounts, per network: each costs key derivation and a name for ever.
  public static let registrationRate = Rate(burst: 100, perSecond: 1)
  /// Looks at invitations, per network: nobody guesses their tokens; what is bounded is the reading.
  public static let inviteRate = Rate(burst: 200, perSecond: 10)
  /// A person's own, in band: each costs key derivation.
  public static let passwordChangeRate = Rate(burst: 10, perSecond: 1.0 / 60)
  /// Of one user in band: each looks at every user of the realm.
  public static let searchRate = Rate(burst: 20, perSecond: 1)
  public static let searchResultsMax = 50
  /// New guests, per network: each leaves the row of a name that is never given out again. A page that is reloaded is a new
  /// guest. How many there may be at a time is in `GuestPolicy`.
  public static let guestRate = Rate(burst: 50, perSecond: 0.2)

  // Codes, links and second factors.
  /// How long a one-time code is good: mail takes minutes at times.
  public static let codeLifetime: Duration = .seconds(600)
  /// Wrong tries that a code outlives, the last one not: of a million codes five are guessed.
  public static let codeAttemptsMax = 5
  /// How long the link of a password reset is good.
  public static let passwordResetLifetime: Duration = .seconds(3_600)
  /// Codes and links that one network asks for, for whomever: a household, not a program.
  public static let letterRate = Rate(burst: 20, perSecond: 1.0 / 30)
  /// To one mail address or telephone, whoever asks: whom they reach has not asked for them, perhaps.
  public static let lettersOfHour = Rate(burst: 4, perSecond: 4.0 / 3_600)
  public static let lettersOfDay = Rate(burst: 10, perSecond: 10.0 / 86_400)
  /// How long somebody has to find their telephone, once the password was right.
  public static let challengeLifetime: Duration = .seconds(600)
  /// Wrong second factors of one user, over all networks: with three codes good at a time, a thief of the password finds one
  /// in a thousand in a day.
  public static let secondFactorRate = Rate(burst: 10, perSecond: 10.0 / 3_600)
  /// In one set; each works once.
  public static let recoveryCodes = 10
  /// Characters of a new password that an app gives (NIST SP 800-63B 5.1.1.2). XMPP clients and operators are not asked.
  public static let passwordCharactersMin = 8
  /// Octets of a mail address (RFC 5321 4.5.3.1.3, without the angle brackets), and of what stands before its @ (4.5.3.1.1).
  public static let emailBytesMax = 254
  public static let emailLocalBytesMax = 64
  // Users.
  /// Bytes of the address of a picture elsewhere; more is `too-large`.
  public static let avatarURLBytesMax = 2_048
  public static let termsVersionBytesMax = 128
  /// Users that are named in one request; more is `malformed`.
  public static let usersAtOnceMax = 100

  // Nearby users.
  /// How long a place is shared that says nothing of it, and at least and at most.
  public static let locationLifetime: Duration = .seconds(3_600)
  public static let locationLifetimeMin: Duration = .seconds(60)
  public static let locationLifetimeMax: Duration = .seconds(86_400)
  /// How far one looks, and how far from where one shares to be: a night's city with what is around it.
  public static let nearbyKilometresMax = 50
  /// Users who are looked at for one answer, nearest rows of the grid first; a crowd that is larger is shown in part.
  public static let nearbyLookedAtMax = 5_000
  /// Somebody who walks; who jumps about is looking for others' places.
  public static let locationRate = Rate(burst: 10, perSecond: 1.0 / 60)
  public static let nearbyRate = Rate(burst: 20, perSecond: 0.1)

  // Contacts from a telephone.
  /// Hashes in one request, 33 KB of them; more is `too-large`.
  public static let matchKeysMax = 500
  /// Hashes of one user: the longest phonebooks at once, and then a thousand a day. A country's numbers would take an account some
  /// hundred years. Forgotten with the process.
  public static let matchRate = Rate(burst: 5_000, perSecond: 1_000.0 / 86_400)

  // Export and erasure.
  /// How long after signing in an account may be deleted by that login: long enough to read what it means.
  public static let freshLogin: Duration = .seconds(600)
  /// Two at once, for who did not like the first, and then one in six hours: each reads all that a user ever said.
  public static let exportRate = Rate(burst: 2, perSecond: 1.0 / 21_600)
  /// How long an export may be fetched.
  public static let exportLifetime: Duration = .seconds(7 * 86_400)
  /// Exports of one user that are known; the oldest goes.
  public static let exportsPerUserMax = 4
  /// Bytes of one file of an archive, which is gathered in memory.
  static let exportPartBytes = 1_048_576
  /// Entries of the log that are looked at in one piece for what somebody said: some ten milliseconds of a reader.
  static let authoredLookedAtMax = 10_000
  /// Retractions of an erasure that are posted together.
  static let retractedAtOnce = 64

  // Invitations.
  /// Long enough for whoever reads their mail once a week (XEP-0379 4).
  public static let inviteLifetime: Duration = .seconds(7 * 86_400)
  /// How long an invitation that has ended still serves who was let in by it before (XEP-0445 3.2), and keeps its name: longer than
  /// any stream takes to be negotiated.
  public static let inviteGrace: Duration = .seconds(3_600)
  /// Of one user within a lifetime, used ones included; the next is refused with `tooFast`.
  public static let invitesPerUserMax = 50
  /// Of a realm's operators, likewise.
  public static let invitesOfOperatorsMax = 10_000
  /// Of a realm that are listed; the rest shows when these are gone.
  public static let invitesListed = 20_000

  // Reports. At a bound the block stands and the report is left out.
  public static let reportsPerDayMax = 20
  public static let reportDay: Duration = .seconds(86_400)
  /// Of a realm, not yet dismissed.
  public static let reportsMax = 10_000
  /// Code points of what a reporter writes, and of each message that is copied; longer is cut.
  public static let reportCharactersMax = 4_096
  /// Messages that one report names; further ones are left out.
  public static let reportMessagesMax = 20

  /// Messages about which the backend is being asked; the next counts as unanswered.
  public static let gateQuestionsMax = 1_000

  // App keys.
  /// Of a realm: some for each program of a backend; the next is refused with `too-many-keys`.
  public static let appKeysMax = 100
  /// When a key was used last is stored so exactly: a backend calls all day, and a write each time serves nobody.
  public static let appKeyUseGrain: Duration = .seconds(60)
  /// Calls of a realm's keys that are kept, the newest: about 20 MB; an operator who needs more keeps copies.
  public static let auditRecordsMax = 100_000
  /// Bytes of the path in a record; a longer one is cut.
  public static let auditTargetBytesMax = 512

  // Hooks.
  /// Of a realm; each reads the log. The next is refused with `too-many-webhooks`.
  public static let hooksMax = 20
  public static let hookURLBytesMax = 2_048
  /// Names in one hook's list of events.
  public static let hookEventsMax = 64
  /// Entries that a hook reads at once, and so what may be sent again after a crash.
  public static let hookPage = 64
  /// Requests to one hook at the same time.
  public static let hookRequestsMax = 8
  /// Before it is tried again, doubled each time up to the second (Standard Webhooks 1.0.0, "Deliverability and reliability").
  public static let hookRetry: Duration = .seconds(5)
  public static let hookRetryMax: Duration = .seconds(3_600)
  /// Attempts for one event, with the waits above some two hours; then it goes among the failures.
  public static let hookAttemptsMax = 12
  /// So long nothing was taken: the hook is disabled, and stands where it stood.
  public static let hookPatience: Duration = .seconds(3 * 86_400)
  /// Failures of one hook that are kept, the newest.
  public static let hookFailuresMax = 1_000
  /// A hook that wanted nothing of so many positions has its place stored again.
  public static let hookNoteEvery: Int64 = 1_000
  /// What happened and is no entry is kept so often for hooks that do not take it; the oldest goes.
  public static let occurrencesMax = 100_000
  /// How long a secret that was replaced signs too.
  public static let hookSecretOverlap: Duration = .seconds(86_400)
  /// How long one request may take (Standard Webhooks 1.0.0, "Request timeouts": 15 to 30 s).
  public static let hookTimeout: Duration = .seconds(15)
}
