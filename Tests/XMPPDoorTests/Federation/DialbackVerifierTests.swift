import NIOCore
import Testing
import XMPP

@testable import XMPPDoor

@Suite(.timeLimit(.minutes(1))) struct DialbackVerifierTests {
  private func request(_ key: String, of domain: String = "a.example") -> DialbackRequest {
    DialbackRequest(pair: DirectedPair(sender: domain, target: "here.example"), streamID: "1", key: key)
  }

  @Test func aKeyIsAskedAboutOnceInFiveMinutes() async {
    let now = Locked(NIODeadline.uptimeNanoseconds(0))
    let asked = Locked(0)
    let verifier = DialbackVerifier { now.withLock { $0 } }
    func verify(_ key: String) async -> DialbackVerdict {
      await verifier.verify(request(key)) { request in
        asked.withLock { $0 += 1 }
        return request.key == "right" ? .valid : .invalid
      }
    }
    #expect(await verify("right") == .valid)
    #expect(await verify("right") == .valid)
    #expect(await verify("wrong") == .invalid)
    #expect(await verify("wrong") == .invalid)
    #expect(asked.withLock { $0 } == 2)
    now.withLock { $0 = $0 + FederationStreamLimits.verdictKept }
    #expect(await verify("right") == .valid)
    #expect(asked.withLock { $0 } == 3)
  }

  @Test func soManyVerdictsAreRemembered() async {
    let asked = Locked(0)
    let verifier = DialbackVerifier()
    func verify(_ number: Int) async {
      _ = await verifier.verify(request("\(number)")) { _ in
        asked.withLock { $0 += 1 }
        return .invalid
      }
    }
    for number in 0...FederationStreamLimits.verdictsMax { await verify(number) }
    // The oldest was forgotten, the next one was not.
    await verify(1)
    #expect(asked.withLock { $0 } == FederationStreamLimits.verdictsMax + 1)
    await verify(0)
    #expect(asked.withLock { $0 } == FederationStreamLimits.verdictsMax + 2)
  }

  /// XEP-0220 2.4.
  @Test func anErrorOfTheAuthoritativeServerIsOneOfFindingIt() async {
    let verifier = DialbackVerifier()
    #expect(await verifier.verify(request("1")) { _ in .error(.itemNotFound) } == .error(.remoteServerNotFound))
  }

  @Test func callbacksToOneDomainAreBounded() async {
    let verifier = DialbackVerifier()
    let waiting = Locked<[CheckedContinuation<Void, Never>]>([])
    let (begun, begin) = AsyncStream<Void>.makeStream()
    await withTaskGroup(of: DialbackVerdict.self) { group in
      for number in 0..<FederationLimits.callbacksPerDomainMax {
        group.addTask {
          await verifier.verify(request("\(number)")) { _ in
            await withCheckedContinuation { continuation in
              waiting.withLock { $0.append(continuation) }
              begin.yield()
            }
            return .valid
          }
        }
      }
      var started = begun.makeAsyncIterator()
      for _ in 0..<FederationLimits.callbacksPerDomainMax { await started.next() }
      #expect(await verifier.verify(request("more")) { _ in .valid } == .error(.resourceConstraint))
      #expect(await verifier.verify(request("1", of: "b.example")) { _ in .valid } == .valid)
      for continuation in waiting.withLock({ $0 }) { continuation.resume() }
      for await verdict in group { #expect(verdict == .valid) }
    }
    #expect(await verifier.verify(request("more")) { _ in .valid } == .valid)
  }

  /// Subdomains cost nothing, so those of one owner have a share.
  @Test func callbacksToOneZoneAreBounded() async {
    let verifier = DialbackVerifier(callbacksMax: 2 * FederationLimits.callbacksZoneShare)
    let waiting = Locked<[CheckedContinuation<Void, Never>]>([])
    let (begun, begin) = AsyncStream<Void>.makeStream()
    await withTaskGroup(of: DialbackVerdict.self) { group in
      for number in 0..<2 {
        group.addTask {
          await verifier.verify(request("key", of: "\(number).evil.example")) { _ in
            await withCheckedContinuation { continuation in
              waiting.withLock { $0.append(continuation) }
              begin.yield()
            }
            return .valid
          }
        }
      }
      var started = begun.makeAsyncIterator()
      for _ in 0..<2 { await started.next() }
      let more = request("key", of: "2.evil.example")
      #expect(await verifier.verify(more) { _ in .valid } == .error(.resourceConstraint))
      #expect(await verifier.verify(request("key", of: "mantua.example")) { _ in .valid } == .valid)
      for continuation in waiting.withLock({ $0 }) { continuation.resume() }
      for await verdict in group { #expect(verdict == .valid) }
    }
    #expect(await verifier.verify(request("key", of: "2.evil.example")) { _ in .valid } == .valid)
  }

  /// All domains together: whoever has many cannot make this server call without end.
  @Test func callbacksToAllDomainsAreBounded() async {
    let verifier = DialbackVerifier(callbacksMax: 3)
    let waiting = Locked<[CheckedContinuation<Void, Never>]>([])
    let (begun, begin) = AsyncStream<Void>.makeStream()
    await withTaskGroup(of: DialbackVerdict.self) { group in
      for number in 0..<3 {
        group.addTask {
          await verifier.verify(request("key", of: "\(number).example")) { _ in
            await withCheckedContinuation { continuation in
              waiting.withLock { $0.append(continuation) }
              begin.yield()
            }
            return .valid
          }
        }
      }
      var started = begun.makeAsyncIterator()
      for _ in 0..<3 { await started.next() }
      #expect(await verifier.verify(request("key", of: "more.example")) { _ in .valid } == .error(.resourceConstraint))
      for continuation in waiting.withLock({ $0 }) { continuation.resume() }
      for await verdict in group { #expect(verdict == .valid) }
    }
    // What was refused for want of room is not remembered as a verdict.
    #expect(await verifier.verify(request("key", of: "more.example")) { _ in .valid } == .valid)
  }
}
