import Basics
import Dialogs
import Logging
import NIOCore
import ServerMetrics
import XMPP

/// The judgement of the other server: what its certificates are good for, and whether its dialback keys are.
extension ServerConnection {
  func judge(_ pair: DirectedPair) {
    awaitsJudgement = true
    let (streams, certificates, target, loop) = (streams, chain.certificates, target, loopContext.loop)
    let me = NIOLoopBound(self, eventLoop: loop)
    Task {
      let found = await streams.judge(certificates, of: pair.sender, at: target)
      loop.execute { me.value.judged(found.judgement, found.proof, until: found.until, domain: pair.sender) }
    }
  }

  private func judged(_ judgement: PeerJudgement, _ proof: PeerProof?, until: Timestamp?, domain: String) {
    guard !isOver else { return }
    awaitsJudgement = false
    (self.proof, provedUntil) = (proof, until)
    var judgement = judgement
    // Whoever is asked about a key needs to prove nothing: the answer counts for as much as the DNS.
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
    let (streams, certificates, loop) = (streams, chain.certificates, loopContext.loop)
    let me = NIOLoopBound(self, eventLoop: loop)
    Task {
      let found = await streams.verify(request, certificates)
      loop.execute {
        let connection = me.value
        guard !connection.isOver else { return }
        connection.verifiedBy = found.proof
        connection.perform(
          connection.receiving?.verified(request.pair, found.verdict)
            ?? connection.initiating?.verified(request.pair, found.verdict) ?? .nothing)
        connection.flush()
      }
    }
  }

  /// Notes why a stream of another server is refused, for the operator.
  func refused(_ reason: String) {
    guard receiving != nil, !isVerified, let domain = judgedDomain else { return }
    streams.refused(domain, reason: reason)
    door.logger.info(
      "a stream of another server was refused",
      metadata: ["domain": "\(domain)", "peer": "\(peer)", "reason": "\(reason)"])
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
      default: self = .other
      }
    }
  }
}
