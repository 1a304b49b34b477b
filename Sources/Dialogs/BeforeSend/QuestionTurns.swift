/// The order in which the backend is asked about messages, as a value. Theory:
///
/// A backend answers so many questions at a time, and in one queue the messages of whoever sends most would take all its answers. Here
/// an account is an author, or all authors of a zone elsewhere, of whom there are as many as its owner wants. An account has a bound
/// of its own for the questions under way, within which the authors of a zone take turns (`Turns`), and accounts take turns with each
/// other: one waits for its turn with one question at a time, so that it waits as long with many of them as with one.
///
/// A question is late if its account has waited too long for its turn, as it does when the backend answers too slowly for all. The time
/// in which it waits for others of its account does not count: nobody makes their own questions late by their number.
///
/// A caller of `add` or `end` then calls `next` until it returns `nil`, so that no question waits that may begin.
struct QuestionTurns<Question: Sendable> {
  enum Account: Hashable {
    case author(UserID)
    /// All authors of a zone elsewhere (`DomainZone`).
    case zone(String)

    fileprivate var questionsMax: Int {
      switch self {
      case .author: Limits.beforeSendAuthorQuestionsMax
      case .zone: Limits.beforeSendZoneQuestionsMax
      }
    }
  }

  /// A question under way, or a late one, which also has to end.
  struct Begun: Sendable {
    let question: Question
    let isLate: Bool
    fileprivate let author: UserID
    fileprivate let account: Account
  }

  private struct Share {
    var turns: Turns<UserID, Question>
    /// The questions that wait or are under way.
    var count = 0
    /// Whether one of the questions is in `order`.
    var isInOrder = false
  }

  private struct Next {
    let question: Question
    let author: UserID
    let account: Account
    let since: ContinuousClock.Instant
  }

  private let max: Int
  private let patience: Duration
  private var underWay = 0
  private var shares: [Account: Share] = [:]
  /// The next question of each account that has one which may begin.
  private var order = NumberedQueue<Next>()
  private var lastNumber = 0

  /// - Parameters:
  ///   - max: The number of questions under way.
  ///   - patience: The time that an account waits for its turn, after which its question is late.
  init(max: Int, patience: Duration) {
    self.max = max
    self.patience = patience
  }

  mutating func add(_ question: Question, by author: UserID, of account: Account, now: ContinuousClock.Instant) {
    var share =
      shares.removeValue(forKey: account)
      ?? Share(
        turns: Turns(max: account.questionsMax, perOwnerMax: Limits.beforeSendAuthorQuestionsMax))
    share.turns.add(question, of: author)
    share.count += 1
    shares[account] = share
    putInOrder(account, now)
  }

  /// Begins the next question; `nil` if none may begin.
  mutating func next(now: ContinuousClock.Instant) -> Begun? {
    guard underWay < max, let next = order.popFirst() else { return nil }
    underWay += 1
    shares[next.account]?.isInOrder = false
    putInOrder(next.account, now)
    return Begun(
      question: next.question, isLate: now - next.since > patience, author: next.author, account: next.account)
  }

  /// Notes that a question has its answer, or needs none.
  mutating func end(_ begun: Begun, now: ContinuousClock.Instant) {
    underWay -= 1
    shares[begun.account]?.turns.end(begun.author)
    shares[begun.account]?.count -= 1
    if shares[begun.account]?.count == 0 { shares[begun.account] = nil } else { putInOrder(begun.account, now) }
  }

  private mutating func putInOrder(_ account: Account, _ now: ContinuousClock.Instant) {
    guard shares[account]?.isInOrder == false, let next = shares[account]?.turns.next(), let author = next.owner else {
      return
    }
    shares[account]?.isInOrder = true
    lastNumber += 1
    order.append(Next(question: next.job, author: author, account: account, since: now), as: lastNumber)
  }
}
