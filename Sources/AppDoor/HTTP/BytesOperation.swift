import Dialogs

/// An operation whose request is bytes, no JSON: a picture, a file. Its `Input` comes
/// from path and query alone.
protocol UploadOperation: Operation {
  /// More is refused with 413, and not read.
  static var bytesMax: Int { get }
  /// May throw an `HTTPRefusal` where the bytes are not of a kind it takes (415).
  static func perform(_ input: Input, _ bytes: [UInt8], _ call: RequestContext) async throws -> Outcome<Output>
}

/// An operation that answers with bytes, no JSON; 304 to who has them.
protocol DownloadOperation: Operation where Output == EmptyBody {
  static func perform(_ input: Input, _ call: RequestContext) async throws(Problem) -> Download
}

extension DownloadOperation {
  static var successes: [Int] { [200] }
}

/// An operation that answers with server-sent events, for as long as the client listens.
protocol StreamOperation: Operation where Output == EmptyBody {
  static func perform(_ input: Input, _ call: RequestContext) async throws(Problem) -> StreamChannel.Body
}

extension StreamOperation {
  static var successes: [Int] { [200] }
}

/// Bytes to be given out. Users wrote them, so browsers are told to take them for
/// nothing but what `mediaType` says, and to run nothing of them.
struct Download: Sendable {
  let mediaType: String
  let bytes: [UInt8]
  /// Changes when the bytes do: quoted, it is the ETag (RFC 9110 8.8.3).
  let tag: String
  /// What it is called where it is saved: letters, digits, a dot. nil: whoever opens it
  /// has to save it first, because it is of no known kind.
  let fileName: String?
}
