// The rows of the outbox that were written to a stream and not yet acknowledged in any way. Theory:
//
// Stanzas of a stream are handled in the order in which they are written (RFC 6120 10.1), so a proof that one was taken
// is a proof for all before it. There are three kinds of proof, from the best to the worst:
//
// - *acknowledgements*: the other server counts stanzas (XEP-0198).
// - *barriers*: a ping (XEP-0199) to the other domain follows the rows; its answer, even an error, shows that what stands
//   before it was taken. A domain answers every request (RFC 6120 8.2.3).
// - *none*: rows count as taken when they are written.
//
// If a proof does not come in time, and nothing else has come from the other server, the stream is dead: it is closed,
// and the rows are written to the next one. If the other server still sends, but no proof, the next kind of proof is
// tried. Barriers are given up only when they fail on a second stream, since the first may have been broken in one
// direction.

import Dialogs
import NIOCore

struct RowLedger: Equatable, Sendable {
  enum Proof: Equatable, Sendable { case acknowledgements, barriers, none }

  /// The result of waiting for a proof for too long.
  enum Verdict: Equatable, Sendable {
    case patience
    /// Rows up to this position count as taken.
    case taken(Position)
    case dead
  }

  private struct Written: Equatable, Sendable {
    let number: Int
    let position: Position
    let at: NIODeadline
  }
  private struct Barrier: Equatable, Sendable {
    let id: String
    let number: Int
    let at: NIODeadline
  }

  private(set) var proof: Proof
  /// The number of consecutive unanswered barriers, on this stream and on those before it.
  private(set) var unanswered: Int
  /// The stanzas that were written, and those of them that were taken.
  private var writtenCount = 0
  private var takenCount = 0
  private var rows = CircularBuffer<Written>()
  private var barriers: [Barrier] = []
  /// The number of rows behind the last barrier, and the time at which the first of them was written.
  private var uncovered = 0
  private var uncoveredSince = NIODeadline.distantFuture

  init(_ proof: Proof, unanswered: Int = 0) {
    self.unanswered = unanswered
    self.proof = proof
  }

  /// The number of rows that wait for their proof.
  var count: Int { rows.count }

  /// Notes that a stanza other than a row was written.
  mutating func wrote() { writtenCount += 1 }

  /// Notes that a row was written. Returns the position up to which rows have been taken, if there are new ones.
  mutating func wrote(_ position: Position, at now: NIODeadline) -> Position? {
    writtenCount += 1
    if proof == .none { return position }
    rows.append(Written(number: writtenCount, position: position, at: now))
    if uncovered == 0 { uncoveredSince = now }
    uncovered += 1
    return nil
  }

  /// Notes that nothing was written for a row. It counts as taken with those before it; returns as `wrote`.
  mutating func skipped(_ position: Position, at now: NIODeadline) -> Position? {
    if rows.isEmpty { return position }
    rows.append(Written(number: writtenCount, position: position, at: now))
    return nil
  }

  /// Notes that so many more stanzas were acknowledged; returns as `wrote`.
  mutating func acknowledged(_ count: Int) -> Position? { taken(through: takenCount + count) }

  /// The time at which `needsBarrier` or `expire` has something to do.
  var deadline: NIODeadline? {
    guard let first = rows.first else { return nil }
    switch proof {
    case .acknowledgements: return first.at + FederationLimits.proofTime
    case .barriers:
      let answer = barriers.first.map { $0.at + FederationLimits.proofTime }
      return [barrierDue, answer].compactMap(\.self).min()
    case .none: return nil
    }
  }

  /// The time at which few rows behind the last barrier get one, too, or the last barrier is repeated: its answer may
  /// have been sent over another stream, and lost with it.
  private var barrierDue: NIODeadline? {
    guard let last = rows.last else { return nil }
    if uncovered == 0 { return barriers.last.map { $0.at + FederationLimits.barrierRepeat } }
    return min(last.at + FederationLimits.barrierQuiet, uncoveredSince + FederationLimits.barrierDelayMax)
  }

  /// Whether a barrier must be written: after many rows, after a pause, when the first row is so old that a crash would
  /// repeat too much of a conversation without pauses, or because the last barrier is unanswered.
  func needsBarrier(at now: NIODeadline) -> Bool {
    guard proof == .barriers, let barrierDue else { return false }
    return uncovered >= FederationLimits.rowsPerBarrier || now >= barrierDue
  }

  /// Notes that a barrier was written.
  mutating func wroteBarrier(_ id: String, at now: NIODeadline) {
    writtenCount += 1
    uncovered = 0
    barriers.append(Barrier(id: id, number: writtenCount, at: now))
  }

  /// Returns whether a request of this id is a barrier whose answer is awaited.
  func awaits(_ id: String) -> Bool { barriers.contains { $0.id == id } }

  /// Notes that a barrier was answered; returns as `wrote`.
  mutating func answered(_ id: String) -> Position? {
    guard let index = barriers.firstIndex(where: { $0.id == id }) else { return nil }
    unanswered = 0
    let number = barriers[index].number
    barriers.removeFirst(index + 1)
    return taken(through: number)
  }

  /// Looks for proofs that have not come in time.
  ///
  /// - Parameter heardAt: The last time at which anything came from the other server.
  mutating func expire(at now: NIODeadline, heardAt: NIODeadline?) -> Verdict {
    let asked: NIODeadline? =
      switch proof {
      case .acknowledgements: rows.first?.at
      case .barriers: barriers.first?.at
      case .none: nil
      }
    guard let asked, asked + FederationLimits.proofTime <= now else { return .patience }
    guard let heardAt, heardAt > asked else { return .dead }
    if proof == .acknowledgements {
      proof = .barriers
      uncovered = rows.count
      uncoveredSince = now
      return .patience
    }
    unanswered += 1
    if unanswered < FederationLimits.barriersUnansweredMax { return .dead }
    proof = .none
    barriers = []
    return taken(through: writtenCount).map { .taken($0) } ?? .patience
  }

  private mutating func taken(through number: Int) -> Position? {
    takenCount = min(max(takenCount, number), writtenCount)
    let released = rows.prefix { $0.number <= takenCount }
    let last = released.last?.position
    rows.removeFirst(released.count)
    uncovered = min(uncovered, rows.count)
    return last
  }
}
