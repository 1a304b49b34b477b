import Addresses
import Basics
import Synchronization

/// The bytes of messages and other content that each account has stored today, so that no account fills the disk however
/// slowly it writes. The day ends for all accounts at once. The counts are only in memory: a restart resets them. Only the
/// content that an account writes is counted, so messages to it arrive regardless of its own count. Content of a remote user
/// counts for the user and for the domain, so that no single user of a large server uses up the domain's limit, and for
/// the domain's zone (`SendingBudgets.storing`), so that unknown subdomains together store no more than one domain, and
/// known ones no more than `Limits.sendingKnownZoneDomains` domains.
final class StoredBytes: Sendable {
  private struct State {
    var day: Int64 = 0
    var bytes: [SendingAccount: Int64] = [:]
    /// The accounts that were refused, with the time of the last refusal.
    var refused: [SendingAccount: Timestamp] = [:]

    mutating func turn(to time: Timestamp) {
      let day = time.milliseconds / 86_400_000
      // A clock that is set back by a day also begins a new count, which would not end for a day otherwise.
      if day != self.day { (self.day, bytes, refused) = (day, [:], [:]) }
    }
  }

  private let userBytesMax: Int64
  private let unlimited: SendingPolicy.Unlimited
  private let state = Mutex(State())

  init(_ policy: SendingPolicy) {
    userBytesMax = policy.dayBytes
    unlimited = policy.unlimited
  }

  /// Refuses to store so many more bytes if the account would exceed its limit.
  ///
  /// - Parameters:
  ///   - storing: the bytes that are stored but not counted yet.
  ///   - isNeeded: whether twice as much may be stored (`StoredContent.needed`).
  func check(
    _ bytes: Int64, of accounts: [SendingAccount], beside storing: [SendingAccount: Int64], isNeeded: Bool = false,
    at time: Timestamp
  ) throws(Problem) {
    let reached: Int64? = state.withLock { state in
      state.turn(to: time)
      for account in accounts where !unlimited.contains(account) {
        let bytesMax = self.bytesMax(of: account)
        let sum = state.bytes[account, default: 0] + storing[account, default: 0] + bytes
        if sum - (isNeeded ? bytesMax : 0) <= bytesMax { continue }
        state.refused[account] = time
        return bytesMax
      }
      return nil
    }
    guard let bytesMax = reached else { return }
    let seconds = Int(86_400 - time.milliseconds / 1_000 % 86_400)
    throw Problem(
      .tooFast, Problem.dayBytesCode,
      "At most \(bytesMax) bytes of messages and settings are stored for one sender a day. Try again in \(seconds) seconds.",
      retryAfter: seconds)
  }

  /// Counts bytes that are stored.
  func add(_ bytes: [SendingAccount: Int64], at time: Timestamp) {
    state.withLock { state in
      state.turn(to: time)
      state.bytes.merge(bytes, uniquingKeysWith: +)
    }
  }

  /// Returns the accounts that were refused today.
  func reached(now: Timestamp) -> [BoundAccount] {
    state.withLock { state in
      state.turn(to: now)
      return state.refused.map { BoundAccount(account: $0.key, bound: .day, at: $0.value) }
    }
  }

  private func bytesMax(of account: SendingAccount) -> Int64 {
    let users: Int64 =
      switch account {
      case .user: 1
      case .zone(_, isKnown: true): Limits.sendingDomainDays * Int64(Limits.sendingKnownZoneDomains)
      case .domain, .zone, .component, .room, .network, .peer: Limits.sendingDomainDays
      }
    let (bytes, isTooMany) = userBytesMax.multipliedReportingOverflow(by: users)
    return isTooMany ? .max : bytes
  }
}

extension Content {
  /// The bytes that count for a message of this content.
  var storedBytes: Int64 {
    Int64(text.utf8.count + (fields?.utf8.count ?? 0) + extras.count) + Limits.storedMessageBytes
  }
}

extension Envelope {
  /// The bytes that count for a stanza beside its content.
  var storedBytes: Int64 { Int64((id?.utf8.count ?? 0) + (language?.utf8.count ?? 0)) }
}

extension Attachment {
  /// The bytes that count for a file of a message, whose name is in a row of its own or in a part of the message (`Bundle`).
  var storedBytes: Int64 {
    let texts = [url, name, mediaType, thumbnail?.url, thumbnail?.mediaType]
    return texts.reduce(Limits.storedMessageBytes) { $0 + Int64($1?.utf8.count ?? 0) }
  }
}

extension Problem {
  public static let dayBytesCode = "messages-day-quota"
}
