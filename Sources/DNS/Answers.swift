import Basics
import NIOCore

extension Answer {
  /// Takes the answer to a question from a message that belongs to it.
  ///
  /// - Parameter isTrusted: whether the resolver is believed when it says that it has validated the message.
  init(to question: Question, in message: Message, isTrusted: Bool) throws(LookupFailure) {
    switch message.code {
    case Message.Code.success, Message.Code.nameError: break
    case Message.Code.serverFailure: throw .serverFailure
    default: throw .refused(code: UInt8(truncatingIfNeeded: message.code))
    }
    var name = question.name
    var seconds = UInt32.max
    var aliases = 0
    while let record = message.answers.first(where: { $0.owner == name && $0.data.type == .cname }),
      case .alias(let target) = record.data, question.type != .cname
    {
      aliases += 1
      guard aliases <= DNSLimits.aliasesMax else { throw .malformed }
      name = target
      seconds = min(seconds, record.seconds)
    }
    let found = message.answers.filter { $0.owner == name && $0.data.type == question.type }
    let isSecure = message.isAuthentic && isTrusted
    guard found.isEmpty else {
      seconds = found.reduce(seconds) { min($0, $1.seconds) }
      self.init(.found, name: name, records: found.map(\.data), isSecure: isSecure, seconds: seconds)
      return
    }
    // RFC 2308 5: absence holds for the lesser of the zone's two times.
    let absence = message.authority.lazy.compactMap { record -> UInt32? in
      if case .zone(let minimum) = record.data { min(minimum, record.seconds) } else { nil }
    }.first
    self.init(
      message.code == Message.Code.nameError ? .noSuchName : .noRecords, name: name, isSecure: isSecure,
      seconds: min(seconds, absence ?? 0))
  }
}

extension RecordData {
  var type: RecordType {
    switch self {
    case .address(let address): address.isIPv6 ? .aaaa : .a
    case .alias: .cname
    case .service: .srv
    case .tlsa: .tlsa
    case .zone: .soa
    }
  }
}

/// The answers that hold still.
struct AnswerCache: Sendable {
  private struct Kept {
    let answer: Answer
    let until: NIODeadline
  }

  private var kept: [Question: Kept] = [:]
  /// The questions in the order of their answers; those before `first` are forgotten.
  private var order: [Question] = []
  private var first = 0

  var count: Int { kept.count }

  func answer(to question: Question, at now: NIODeadline) -> Answer? {
    guard let found = kept[question], now < found.until else { return nil }
    return found.answer
  }

  mutating func keep(_ answer: Answer, to question: Question, at now: NIODeadline) {
    let seconds = min(max(answer.seconds, DNSLimits.keptSecondsMin), DNSLimits.keptSecondsMax)
    let isNew = kept.updateValue(Kept(answer: answer, until: now + .seconds(Int64(seconds))), forKey: question) == nil
    guard isNew else { return }
    order.append(question)
    guard kept.count > DNSLimits.answersMax else { return }
    kept[order[first]] = nil
    first += 1
    if first >= DNSLimits.answersMax {
      order.removeFirst(first)
      first = 0
    }
  }
}
