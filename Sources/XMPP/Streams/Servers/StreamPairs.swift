import Addresses
import XMLStream

/// The pairs on which a peer may send stanzas over one stream, and its dialback requests for further ones. Both machines
/// of a stream between servers have one: over a bidirectional stream (XEP-0288) each side asks and answers.
struct StreamPairs: Sendable {
  private let policy: ServerStreamPolicy
  /// The pairs that stanzas may have.
  private(set) var carried: Set<DirectedPair> = []
  /// The keys that are being verified.
  private var pending: [DirectedPair: String] = [:]
  /// The pairs asked for so far, successfully or not: one number bounds memory and verifications.
  private var asked = 0

  init(policy: ServerStreamPolicy) { self.policy = policy }

  /// Notes a pair that was proved by certificate.
  mutating func prove(_ pair: DirectedPair) {
    asked += 1
    carried.insert(pair)
  }

  // MARK: Dialback

  /// Processes a key that the peer sends for a pair (XEP-0220 2.2.1).
  mutating func requested(_ request: Dialback, key: String, streamID: String) -> ServerStreamOutput {
    let pair = DirectedPair(sender: request.from, target: request.to)
    func answer(_ content: Dialback.Content) -> ServerStreamOutput { .send([.dialback(request.answer(content))]) }
    guard policy.domains.contains(pair.target) else { return answer(.error(.itemNotFound)) }
    guard !policy.domains.contains(pair.sender) else { return answer(.error(.notAcceptable)) }
    if carried.contains(pair) { return answer(.valid) }
    if let earlier = pending[pair] {
      // One answer serves both; with two keys nobody could tell which one it is for.
      if earlier == key { return .nothing }
      return .refuse(nil, StreamError(.policyViolation, "two keys at a time for one pair of domains"))
    }
    guard asked < policy.pairsMax else { return answer(.error(.resourceConstraint)) }
    asked += 1
    pending[pair] = key
    return .verify(DialbackRequest(pair: pair, streamID: streamID, key: key))
  }

  /// Takes the outcome of a verification. `isBidirectional`: the pair's reverse is carried, too (XEP-0288 2.2).
  mutating func verified(
    _ pair: DirectedPair, _ verdict: DialbackVerdict, isBidirectional: Bool
  ) -> ServerStreamOutput {
    guard pending.removeValue(forKey: pair) != nil else { return .nothing }
    let answer = Dialback(.result, from: pair.target, to: pair.sender, verdict.content)
    switch verdict {
    case .valid:
      carried.insert(pair)
      return .opened(isBidirectional ? [pair, pair.reversed] : [pair], .dialback(answer))
    case .invalid:
      if carried.isEmpty { return .reject(answer) }
      // XEP-0220 2.2.1: other pairs of the stream go on.
      return .send([.dialback(Dialback(.result, from: pair.target, to: pair.sender, .error(.forbidden)))])
    case .error: return .send([.dialback(answer)])
    }
  }

  /// Answers a question about one of this server's keys (XEP-0220 2.2.2). `streamID` is that of the stream on which it is
  /// asked: nothing is told there about itself (XEP-0288 2.2).
  func asked(_ question: Dialback, key: String, streamID: String) -> ServerStreamOutput {
    func answer(_ content: Dialback.Content) -> ServerStreamOutput { .send([.dialback(question.answer(content))]) }
    guard policy.domains.contains(question.to) else { return answer(.error(.itemNotFound)) }
    guard let id = question.id, id != streamID else { return answer(.error(.notAcceptable)) }
    let pair = DirectedPair(sender: question.to, target: question.from)
    return answer(policy.secret.isKey(key, of: pair, streamID: id) ? .valid : .invalid)
  }

  // MARK: Stanzas

  /// Checks the addresses of a stanza (RFC 6120 8.1.1.2, 8.1.2.2).
  ///
  /// An address that is none is no reason to end the stream, as 8.1.1.2 would have it: servers know different versions of
  /// Unicode, and one user's address could then break the stream of all the others again and again.
  func route(_ stanza: Stanza) -> ServerStreamOutput {
    func has(_ attribute: StaticString) -> Bool { stanza.element.withAttribute(attribute) { !$0.isEmpty } ?? false }
    guard has("from"), has("to") else {
      return .refuse(nil, StreamError(.improperAddressing, "a stanza between servers needs 'from' and 'to'"))
    }
    guard let from = try? stanza.from(), let to = try? stanza.to() else { return .dropped(stanza) }
    let pair = DirectedPair(sender: from.domain, target: to.domain)
    if carried.contains(pair) { return .stanza(stanza, pair) }
    guard carried.contains(where: { $0.sender == pair.sender }) else {
      return .refuse(nil, StreamError(.invalidFrom, "the domain of 'from' is not proved on this stream"))
    }
    return .refuse(nil, StreamError(.hostUnknown, "the domain of 'to' is not one that this stream was opened to"))
  }
}
