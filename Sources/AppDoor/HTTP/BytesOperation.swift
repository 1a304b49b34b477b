import Dialogs

/// An operation whose request body is bytes instead of JSON: an image, a file. Its `Input` comes from path and query
/// alone.
protocol UploadOperation: Operation {
  /// The most bytes; more are refused with 413, and not read.
  static var bytesMax: Int { get }
  /// Performs the operation. May throw an `HTTPRefusal` for an unsupported kind of file (415).
  static func perform(_ input: Input, _ bytes: [UInt8], _ call: RequestContext) async throws -> Outcome<Output>
}

/// An operation that answers with bytes instead of JSON; 304 if the client has them.
protocol DownloadOperation: Operation where Output == EmptyBody {
  static func perform(_ input: Input, _ call: RequestContext) async throws(Problem) -> Download
}

extension DownloadOperation {
  static var successes: [Int] { [200] }
}

/// An operation that answers with server-sent events, as long as the client listens.
protocol StreamOperation: Operation where Output == EmptyBody {
  static func perform(_ input: Input, _ call: RequestContext) async throws(Problem) -> StreamChannel.Body
}

extension StreamOperation {
  static var successes: [Int] { [200] }
}

/// Bytes for download. As users wrote them, browsers are told to treat them only as `mediaType`, and to run nothing in
/// them.
struct Download: Sendable {
  let mediaType: String
  let bytes: [UInt8]
  /// The tag, which changes with the bytes: quoted, it is the ETag (RFC 9110 8.8.3).
  let tag: String
  /// The file name for saving: letters, digits, a dot. `nil` to force saving instead of showing, for an unknown kind.
  let fileName: String?
}
