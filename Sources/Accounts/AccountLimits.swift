public import Dialogs

/// The bounds of accounts and sign-in: each with its number, its reason, and what happens at it.
public enum AccountLimits {
  // Registration.
  /// Accounts that people without an invitation and without a code create in an hour from one network, half of them at
  /// once, unless `signup.network_hour_max` is another number: a family on one evening, or a few people of an office; a
  /// class has invitations. A program gets 245 on the first day, instead of the 86,500 of `registrationRate`. Later:
  /// `tooFast`.
  public static let networkAccountsPerHour = 10
  /// Bits of a proof's hash that have to fit: 262,144 hashes on average. The JavaScript SDK does 1.9 million a second on a
  /// core of a server, which makes 0.14 s, and 1.4 to 2 s on a telephone that is ten to fifteen times as slow.
  public static let proofBits = 18
  /// The time within which a proof is used: a person may fill in a form meanwhile. Later: `registration-proof-required`.
  static let proofLifetime: Duration = .seconds(600)
  /// Bytes of a proof behind the domain; one of the SDKs has at most 137 there. A longer one proves nothing.
  static let proofBytesMax = 256
  /// Used proofs, which are kept until their challenges end: 17 accounts a second. At the bound all open challenges end,
  /// and clients compute another proof. Some 40 bytes each.
  static let usedProofsMax = 10_000
  /// The names that are tried with one proof: a person whose name is taken chooses another one or two, and a program that
  /// looks for names computes for each ten.
  static let proofUsesMax = 10
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

  // Logins.
  /// PBKDF2 rounds for new passwords (RFC 7677 4: at least 4,096).
  public static let scramIterations = 4_096
  /// Logins of one user by apps; at the bound the one unused for longest ends.
  public static let grantsPerUserMax = 64
  /// Origins (a network, a device) of users' earlier logins, which strangers' failures cannot lock out; beyond it the
  /// least recently used are strangers again. Some 50 bytes each.
  public static let knownLoginsMax = 200_000
  /// Networks and users of failed logins of strangers, as many pairs of both, and as many paces of right passwords; beyond it those
  /// with the oldest failures or logins are removed. Some 60 bytes each.
  public static let countedStrangersMax = 200_000
  /// Right passwords of one user from one network whose verification costs key derivation, over all doors: 1.3 ms each, and a
  /// commit for a login. All devices of a user come back at once. Later: `logins-too-fast`, until the next half second.
  static let loginRate = Rate(burst: 100, perSecond: 2)
  /// The same of one device of an app: half of it, so that a device that logs in again and again leaves the other half to the
  /// user's other devices.
  static let deviceLoginRate = Rate(burst: 50, perSecond: 1)
  /// The lifetime of an access token; then the app gets another by its refresh token.
  public static let accessLifetime: Duration = .seconds(3_600)
  /// The time for which a client may ask again for the tokens of a refresh whose answer it did not get: long enough for a
  /// tunnel or a restart. Then its login ends, as for a stolen token.
  public static let refreshRepeat: Duration = .seconds(600)
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
  /// Attempts to create an account, per network: each costs key derivation, and a success uses a name permanently. For
  /// invitations and codes it is the only bound: a class has them, and one address.
  public static let registrationRate = Rate(burst: 100, perSecond: 1)
  /// Names that are refused, per network, before a proof of work is asked for: a person chooses another one or two, and does
  /// not compute for each. Beyond it the proof is verified first, so that it costs time to find out which names there are.
  static let takenNameRate = Rate(burst: 20, perSecond: 20.0 / 3_600)
  /// Reads of invitations, per network: their tokens cannot be guessed; the bound is for the reading.
  public static let inviteRate = Rate(burst: 200, perSecond: 10)
  /// A user's own password changes, in band: each costs key derivation.
  public static let passwordChangeRate = Rate(burst: 10, perSecond: 1.0 / 60)
  /// New app passwords of one user, three derivations each: all of them twice at once.
  static let appPasswordRate = Rate(burst: 64, perSecond: 1.0 / 60)
  /// Searches of one user among users, over all doors, each page of one included: each looks at up to ten thousand users.
  public static let searchRate = Rate(burst: 20, perSecond: 1)
  /// Searches among rooms of one user here, or of all users of one domain elsewhere, over all doors, each page of one included:
  /// each looks at up to ten thousand rooms, and in band counts the people of all. A list of rooms by address is no search: a
  /// program that reads it page by page has no such pace.
  public static let roomSearchRate = Rate(burst: 20, perSecond: 1)
  /// New guests, per network: each leaves the row of a name that is never reused. A reloaded page is a new guest.
  /// `GuestPolicy` has the number of guests at a time.
  public static let guestRate = Rate(burst: 50, perSecond: 0.2)

  // Codes, links and second factors.
  /// The lifetime of a one-time code: mail takes minutes at times.
  public static let codeLifetime: Duration = .seconds(600)
  /// Attempts with a code from the network that has requested it; then it requests another. `CodeGuesses` has the sum.
  public static let codeAttemptsMax = 5
  /// Attempts with codes of one address from another network, and from all of them together that its user has not logged in
  /// from. More are wrong.
  static let codeGuesses = Rate(burst: 5, perSecond: 5.0 / 3_600)
  static let codeGuessesOfOthers = Rate(burst: 10, perSecond: 10.0 / 3_600)
  /// Attempts with a code from all networks, over restarts, including the one that invalidates it. The other bounds are
  /// lower; NIST SP 800-63B 5.2.2 allows as many.
  static let codeGuessesMax = 100
  /// The lifetime of the link of a password reset.
  public static let passwordResetLifetime: Duration = .seconds(3_600)
  /// Codes and links that one network requests, for any users: enough for a household, not for a program.
  public static let outgoingCodeRate = Rate(burst: 20, perSecond: 1.0 / 30)
  /// Codes to one mail address or telephone that one network requests, as many links, and codes of one user's second factor.
  public static let codesOfHour = Rate(burst: 4, perSecond: 4.0 / 3_600)
  public static let codesOfDay = Rate(burst: 10, perSecond: 10.0 / 86_400)
  /// Those that all networks request which the address's user has not logged in from: the recipient may not have requested
  /// them. One network has at most half of it.
  static let codesOfHourOfStrangers = Rate(burst: 8, perSecond: 8.0 / 3_600)
  static let codesOfDayOfStrangers = Rate(burst: 20, perSecond: 20.0 / 86_400)
  /// The time for the second factor, once the password was right: enough to find the telephone.
  public static let challengeLifetime: Duration = .seconds(600)
  /// Wrong second factors of one user, over all networks: with three codes valid at a time, a thief of the password
  /// succeeds with a probability of one in a thousand per day.
  public static let secondFactorRate = Rate(burst: 10, perSecond: 10.0 / 3_600)
  /// Second factors on which the key is tried at a start, by `parley check`, and for each question for the status of the server:
  /// some 10 µs each, so that no answer waits for more than about 10 ms. Others are not looked at; where none of these opens, the
  /// report says that there may be more.
  static let secondFactorsTried = 1_000
  /// Recovery codes in one set; each works once.
  public static let recoveryCodes = 10
  /// Characters of a new password from an app (NIST SP 800-63B 5.1.1.2). XMPP clients and operators are not checked.
  public static let passwordCharactersMin = 8
  /// Octets of a mail address (RFC 5321 4.5.3.1.3, without the angle brackets), and of the part before its @
  /// (4.5.3.1.1).
  public static let emailBytesMax = 254
  public static let emailLocalBytesMax = 64

  // Users.
  /// Bytes of a version of the terms of use; a longer one is refused.
  public static let termsVersionBytesMax = 128

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
  /// Searches of one user for others nearby.
  public static let nearbyRate = Rate(burst: 20, perSecond: 0.1)

  // Contact matching.
  /// Hashes in one request, 33 KB of them; more are `too-large`.
  public static let matchKeysMax = 500
  /// Hashes of one user, and searches by a whole mail address or number: the longest phonebooks at once, and then a
  /// thousand a day. A country's numbers would take an account some hundred years. Not stored.
  public static let matchRate = Rate(burst: 5_000, perSecond: 1_000.0 / 86_400)

  // Export and erasure.
  /// The time after signing in within which that login may delete the account: long enough to read the consequences.
  public static let freshLogin: Duration = .seconds(600)
  /// Exports of one user: two at once, for a failed first one, and then one in six hours: each reads all of a user's
  /// messages.
  public static let exportRate = Rate(burst: 2, perSecond: 1.0 / 21_600)
  /// The attempts of an export that the server does not outlive, such as one that takes more memory than there is: an operator may
  /// have stopped the server within the first one. Then the export has failed, and its user may begin another.
  static let exportAttemptsMax: Int64 = 2
  /// The time for which an export may be fetched.
  public static let exportLifetime: Duration = .seconds(7 * 86_400)
  /// Completed exports of one user that are kept, and as many failed ones: the last one while a new one is made. The oldest
  /// is removed.
  public static let exportsPerUserMax = 2
  /// Bytes of the messages of others in one export: a million messages of 500 bytes. Further ones are left out, as an account
  /// that enters large rooms would otherwise fill the disk with copies of them. All that is the user's own is in it.
  static let exportOthersBytesMax: Int64 = 536_870_912
  /// The share of the disk that the exports of all users may take, as a divisor: a quarter of what would be free without
  /// them. Beyond it the oldest ones are removed, but not the one just made. Those that are being made may have as much together.
  static let exportsDiskShare: Int64 = 4
  /// Exports that are written at once; others wait. Each reads the store and writes to the disk all the time.
  static let exportsAtOnce = 2
  /// Exports whose sizes are read at once: a millisecond or two of a reader.
  static let exportsLookedAt = 1_000
  /// Bytes of one file of an archive, which is built in memory.
  static let exportPartBytes = 1_048_576
  /// Entries of the log that are read in one piece for a user's messages: some ten milliseconds of a reader.
  static let authoredLookedAtMax = 10_000
  /// Retractions of an erasure that are posted together.
  static let retractedAtOnce = 64

  /// Administrators that were made, of all realms: they are in memory, and each is one person; `too-many-administrators`.
  public static let administratorsMax = 1_000

  // App keys.
  /// Keys of a realm: some for each program of a backend; the next is refused with `too-many-keys`.
  public static let appKeysMax = 100
  /// The precision of the stored time of a key's last use: a backend calls all day, and a write each time is useless.
  public static let appKeyUseGrain: Duration = .seconds(60)
  /// Records of the audit that are kept, the newest, of each realm's keys and of the operators: about 20 MB; an operator
  /// who needs more makes copies.
  public static let auditRecordsMax = 100_000
  /// The time for which they are kept: a year's reviews find them all.
  public static let auditKept: Duration = .seconds(400 * 86_400)
  /// Bytes of the object in a record; a longer one is cut.
  public static let auditObjectBytesMax = 512

  /// Bytes of the cache of valid access tokens: some 100,000, or fewer where names are long. At the bound it is emptied, and the store is
  /// asked again. One takes so many bytes beside the address and the device: its hash, and its place among its user's.
  static let cachedTokensBytesMax = 48 << 20
  static let cachedTokenBytes = 160

  // Retention.
  /// The time after a start in which no account is deleted as unused.
  static let idleAccountsAfterStart: Duration = .seconds(86_400)
  /// The accounts that one read looks at, some ten microseconds each.
  static let idleLookedAtMax = 200
  /// Holds, which each piece of retention looks at; the next is `too-many-holds`.
  static let holdsMax = 1_000
}
