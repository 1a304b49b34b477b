import Basics
import Dialogs
import NIOCore
import Peers
import ServerMetrics
import XMPP

/// The judgement of the other server: the domains for which its certificates and dialback keys are valid.
extension ServerConnection {
  func judge(_ pair: DirectedPair) {
    awaitsJudgement = true
    let (streams, certificates, target) = (streams, chain.certificates, target)
    let tooMany: (judgement: PeerJudgement, proof: PeerProof?, until: Timestamp?) = (
      .denied(StreamError(.resourceConstraint, "too many judgements of your network wait")), nil, nil
    )
    find(about: pair.sender, ifTooManyWait: tooMany) { end in
      let found = await streams.judge(certificates, of: pair.sender, at: target)
      end()
      return found
    } then: { connection, found in
      connection.judged(found.judgement, found.proof, until: found.until, domain: pair.sender)
    }
  }

  /// Runs a check of a domain, queued in `JudgementTurns` if the other server has chosen the domain.
  ///
  /// - Parameters:
  ///   - refusal: The result if too many judgements wait.
  ///   - body: Calls its argument once, when the check is complete.
  private func find<Found: Sendable>(
    about domain: String, ifTooManyWait refusal: Found,
    _ body: @escaping @Sendable (_ end: @escaping @Sendable () -> Void) async -> Found,
    then handle: @escaping @Sendable (ServerConnection, Found) -> Void
  ) {
    let loop = loopContext.loop
    let me = NIOLoopBound(self, eventLoop: loop)
    let judgement: JudgementTurns.Judgement = { end in
      loop.execute {
        guard !me.value.isOver else { return end() }
        Task {
          let found = await body(end)
          loop.execute { if !me.value.isOver { handle(me.value, found) } }
        }
      }
    }
    if domain == asked?.target { return judgement {} }
    if !streams.inTurn(of: network, domain, judgement) {
      loop.execute { if !me.value.isOver { handle(me.value, refusal) } }
    }
  }

  private func judged(_ judgement: PeerJudgement, _ proof: PeerProof?, until: Timestamp?, domain: String) {
    awaitsJudgement = false
    (self.proof, provedUntil) = (proof, until)
    var judgement = judgement
    // A server that is asked about a key need not have a certificate: its answer is as reliable as the DNS.
    if case .asking = purpose, case .uncertified(let reason, _) = judgement {
      judgement = .uncertified(reason, mayDialBack: true)
    }
    judgedDomain = domain
    if receiving != nil, let refusal = StreamRefusal(judgement) { door.parley.metrics.streamRefusals.add(refusal) }
    perform(receiving?.judged(judgement) ?? initiating?.judged(judgement) ?? .nothing)
    flush()
    goOn()
  }

  func verify(_ request: DialbackRequest) {
    let (streams, certificates) = (streams, chain.certificates)
    let tooMany: (verdict: DialbackVerdict, proof: PeerProof?) = (.error(.resourceConstraint), nil)
    find(about: request.pair.sender, ifTooManyWait: tooMany) { end in
      await streams.verify(request, certificates, judged: end)
    } then: { connection, found in
      connection.verifiedBy = found.proof
      connection.perform(
        connection.receiving?.verified(request.pair, found.verdict)
          ?? connection.initiating?.verified(request.pair, found.verdict) ?? .nothing)
      connection.flush()
    }
  }

  /// Notes for the operator why a stream of another server is refused.
  func refused(_ reason: String) {
    guard receiving != nil, !isVerified, let domain = judgedDomain else { return }
    streams.refused(domain, of: network, peer: peer, reason: reason)
  }
}

extension StreamRefusal {
  /// Creates the reason of a judgement; nil if it refuses nothing.
  fileprivate init?(_ judgement: PeerJudgement) {
    switch judgement {
    case .certified, .uncertified(_, mayDialBack: true): return nil
    case .uncertified(_, mayDialBack: false): self = .uncertified
    case .denied(let error):
      switch error.condition {
      case .policyViolation: self = .denied
      case .resourceConstraint: self = .tooMany
      case .remoteConnectionFailed: self = .lookup
      case .badFormat, .badNamespacePrefix, .conflict, .connectionTimeout, .hostGone, .hostUnknown, .improperAddressing,
        .internalServerError, .invalidFrom, .invalidNamespace, .invalidXML, .notAuthorized, .notWellFormed, .reset,
        .restrictedXML, .seeOtherHost, .systemShutdown, .undefinedCondition, .unsupportedEncoding, .unsupportedFeature,
        .unsupportedStanzaType, .unsupportedVersion:
        self = .other
      }
    }
  }
}
