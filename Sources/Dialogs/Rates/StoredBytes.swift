import Addresses
import Basics
import Synchronization

/// The bytes of messages that each account has stored today, so that no account fills the disk however slowly it
/// writes. The day ends for all at once. The counts are in memory alone: a restart begins new ones. Only what an account
/// writes is counted, so that what others send to it arrives whatever it has stored itself.
final class StoredBytes: Sendable {
  private struct State {
    var day: Int64 = 0
    var bytes: [SendingAccount: Int64] = [:]
    /// The accounts that were refused something, and when last.
    var refused: [SendingAccount: Timestamp] = [:]

    mutating func turn(to time: Timestamp) {
      let day = time.milliseconds / 86_400_000
      if day > self.day { (self.day, bytes, refused) = (day, [:], [:]) }
    }
  }

  private let userBytesMax: Int64
  private let unlimited: SendingPolicy.Unlimited
  private let state = Mutex(State())

  init(_ policy: SendingPolicy) {
    userBytesMax = policy.dayBytes
    unlimited = policy.unlimited
  }

  /// Refuses to store so many bytes more, if they are too many.
  func check(_ bytes: Int64, of author: Party, at time: Timestamp) throws(Problem) {
    let account = Self.account(author)
    let bytesMax = self.bytesMax(of: account)
    let isRefused = state.withLock { state in
      state.turn(to: time)
      if state.bytes[account, default: 0] + bytes <= bytesMax || unlimited.contains(account) { return false }
      state.refused[account] = time
      return true
    }
    if !isRefused { return }
    let seconds = Int(86_400 - time.milliseconds / 1_000 % 86_400)
    throw Problem(
      .tooFast, Problem.dayBytesCode,
      "At most \(bytesMax) bytes of messages are stored for one sender a day. Try again in \(seconds) seconds.",
      retryAfter: seconds)
  }

  /// Counts bytes that are stored.
  func add(_ bytes: Int64, of author: Party, at time: Timestamp) {
    state.withLock { state in
      state.turn(to: time)
      state.bytes[Self.account(author), default: 0] += bytes
    }
  }

  /// Returns the accounts that were refused something today.
  func reached(now: Timestamp) -> [BoundAccount] {
    state.withLock { state in
      state.turn(to: now)
      return state.refused.map { BoundAccount(account: $0.key, bound: .day, at: $0.value) }
    }
  }

  private static func account(_ author: Party) -> SendingAccount {
    author.realm.isRemote ? .domain(author.address.domain) : .user(author)
  }

  private func bytesMax(of account: SendingAccount) -> Int64 {
    if case .user = account { return userBytesMax }
    let (bytes, isTooMany) = userBytesMax.multipliedReportingOverflow(by: Limits.sendingDomainDays)
    return isTooMany ? .max : bytes
  }
}

extension Intent {
  /// The bytes that the message of this intent is counted with; 0 if there is none.
  var storedBytes: Int64 {
    let content: Content
    switch self {
    case .message(let draft): content = draft.content
    case .room(.say(_, let draft)), .room(.whisper(_, _, let draft)), .room(.topic(_, _, let draft?)):
      content = draft.content
    default: return 0
    }
    return Int64(content.text.utf8.count + (content.fields?.utf8.count ?? 0) + content.extras.count)
      + Limits.storedMessageBytes
  }
}

extension Problem {
  public static let dayBytesCode = "messages-day-quota"
}
