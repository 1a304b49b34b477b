import Basics
import Dialogs
import Synchronization

/// Bounds the guessing of sent codes by network, so that nobody uses up the attempts of others. The codes of an address to
/// sign in with, and those that a user gets there to prove it or as a second factor, are counted apart, as they are stored.
///
/// A network that has requested a code of an address has `codeAttemptsMax` attempts of its own until the code expires. Any
/// other one, of a user who requests a code on a computer and enters it on a telephone, has as many in an hour, and all of
/// them share `codeGuessesOfOthers`, unless the user has logged in from there before.
///
/// At most 20 codes are sent to an address in a day on request of unknown networks, one of which is valid at a time. They
/// bring 100 attempts to those who request them. With each code, others have 12 more in its ten minutes. So attackers who
/// use 20 networks have 340 guesses out of a million a day, with 20 messages to the user: they succeed once in 3,000 days.
/// One network has 60. Nothing of this is stored: `OneTimeCode.attemptsLeft` bounds the sum over restarts.
final class CodeGuesses: Sendable {
  private struct Place: Hashable {
    let realm: RealmID
    let identity: Identity
    /// As `OneTimeCode.user`.
    let owner: UserID?
    /// `nil` for all unknown networks together.
    let network: String?
  }

  private struct Requested {
    var attemptsLeft: Int
    let expires: Timestamp
  }

  private struct State {
    var requested = Recent<Place, Requested>(max: AccountLimits.countedStrangersMax)
    var others = Recent<Place, TokenBucket>(max: AccountLimits.countedStrangersMax)
    /// Those of all unknown networks together. Guesses from many networks do not displace them.
    var sums = Recent<Place, TokenBucket>(max: AccountLimits.countedStrangersMax)

    static func take(
      _ place: Place, _ rate: Rate, _ buckets: inout Recent<Place, TokenBucket>, now: Timestamp
    ) -> Bool {
      var bucket = buckets[place] ?? TokenBucket(rate, now: now)
      defer { buckets[place] = bucket }
      return bucket.take(rate, now: now) == nil
    }
  }
  private let state = Mutex(State())

  /// Records that a network has requested a code, which is valid until `expires`.
  func requested(
    _ identity: Identity, of owner: UserID?, in realm: RealmID, from network: String, until expires: Timestamp
  ) {
    state.withLock {
      $0.requested[Place(realm: realm, identity: identity, owner: owner, network: network)] = Requested(
        attemptsLeft: AccountLimits.codeAttemptsMax, expires: expires)
    }
  }

  /// Takes an attempt. Returns `false` if there is none left.
  ///
  /// - Parameter isKnown: whether the user has logged in from the network.
  func take(
    _ identity: Identity, of owner: UserID?, in realm: RealmID, from network: String, isKnown: Bool, now: Timestamp
  ) -> Bool {
    let place = Place(realm: realm, identity: identity, owner: owner, network: network)
    let sum = Place(realm: realm, identity: identity, owner: owner, network: nil)
    return state.withLock { state in
      if var requested = state.requested[place], requested.expires > now {
        guard requested.attemptsLeft > 0 else { return false }
        requested.attemptsLeft -= 1
        state.requested[place] = requested
        return true
      }
      guard State.take(place, AccountLimits.codeGuesses, &state.others, now: now) else { return false }
      return isKnown || State.take(sum, AccountLimits.codeGuessesOfOthers, &state.sums, now: now)
    }
  }
}
