import NIOCore
import Synchronization
import XMLStream
import XMPP

/// The answers to disco#info of the server, of accounts and of services (XEP-0030), encoded once: to compose one takes a hundred
/// microseconds of an event loop, and to send it again copies bytes. The features are those of the start, except where components answer
/// for some of them (`NestedDiscovery`).
final class InfoAnswers: Sendable {
  struct Answer: Sendable {
    /// The `<query/>` without a node.
    let whole: ByteBuffer
    /// The only node, that of entity capabilities (XEP-0115 6.2), and the `<query/>` that repeats it (XEP-0030 3.2).
    let node: String
    let ofNode: ByteBuffer

    fileprivate init(_ capabilities: Capabilities) {
      func encoded(_ node: String?) -> ByteBuffer {
        var writer = ElementWriter()
        Disco.write(capabilities, node: node, into: &writer)
        return writer.buffer
      }
      node = EntityCapabilities.node(of: capabilities)
      whole = encoded(nil)
      ofNode = encoded(node)
    }
  }

  private struct Key: Hashable {
    let target: FeatureTable.Target
    let domain: String
  }
  private let answers = Mutex<[Key: (answer: Answer, version: Int)]>([:])

  /// Returns the answer of a target.
  ///
  /// - Parameters:
  ///   - domain: The domain whose answer differs from those of others, by the configuration; empty for none. So there are few answers.
  ///   - version: The version of what `compose` depends on. An answer of another version is composed anew.
  func answer(
    of target: FeatureTable.Target, in domain: String = "", version: Int = 0, _ compose: () -> Capabilities
  ) -> Answer {
    let key = Key(target: target, domain: domain)
    let known = answers.withLock { $0[key] }
    if let known, known.version == version { return known.answer }
    let answer = Answer(compose())
    answers.withLock { $0[key] = (answer: answer, version: version) }
    return answer
  }
}
