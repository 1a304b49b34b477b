import Crypto
import Dialogs
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServerFixtures
import Synchronization
import Testing

@testable import FileStorage

/// The requirements of every store of files, written once and checked for each.
@Suite(.timeLimit(.minutes(2)))
struct BlobStoreTests {
  enum Kind: CaseIterable { case folder, bucket }

  /// Runs `body` with a function that opens the store, as a process that starts does.
  private func with(
    _ kind: Kind, _ body: @escaping @Sendable (_ spool: String, _ open: () throws -> any BlobStore) throws -> Void
  ) async throws {
    try await withScratchFolder { (scratch: String) async throws -> Void in
      let path = scratch + "/blobs"
      switch kind {
      case .folder: try body(path) { try BlobFolder(path) }
      case .bucket:
        let server = try await BucketServer.start()
        let settings = server.settings
        // The store blocks the thread that asks it: not one of those that answer.
        try await NIOThreadPool.singleton.runIfActive {
          try body(path) {
            try BucketStore(
              settings, spool: path, authorities: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
          }
        }
        #expect(server.errors == [])
        await server.stop()
      }
    }
  }

  private static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

  private static func read(_ store: any BlobStore, _ name: BlobName) throws -> [UInt8]? {
    try store.open(name)?.read(at: 0, count: 100)
  }

  @Test(arguments: Kind.allCases) func onlyFinishedFilesAreStored(_ kind: Kind) async throws {
    try await with(kind) { _, open in
      let store = try open()
      let name = BlobName(.random())
      #expect(try Self.read(store, name) == nil)
      let writer = try store.begin(name, size: 6)
      #expect(writer.start == 0)
      try writer.append([1, 2, 3])
      #expect(try Self.read(store, name) == nil)
      try writer.append([4, 5, 6])
      // A reader sees the bytes that are written so far.
      #expect(try writer.read(at: 2, count: 3) == [3, 4, 5])
      #expect(FileManager.default.contents(atPath: writer.path) == Data([1, 2, 3, 4, 5, 6]))
      try writer.finish(sha256: Self.hash([1, 2, 3, 4, 5, 6]))
      writer.cancel()
      #expect(throws: BlobFailure.self) { try writer.append([1]) }
      let reader = try #require(try store.open(name))
      #expect(try reader.read(at: 0, count: 9) == [1, 2, 3, 4, 5, 6])
      #expect(try reader.read(at: 4, count: 1) == [5])
      #expect(try reader.read(at: 6, count: 1) == [])
      // A part of its own.
      let small = BlobName(name.id, .thumbnail)
      #expect(try Self.read(store, small) == nil)
      let other = try store.begin(small, size: 1)
      try other.append([9])
      try other.finish(sha256: Self.hash([9]))
      try store.remove(name)
      try store.remove(name)
      #expect(try Self.read(store, name) == nil)
      #expect(try Self.read(store, small) == [9])
      // A reader that has opened the file before its removal reads it to its end.
      #expect(try reader.read(at: 2, count: 2) == [3, 4])
    }
  }

  @Test(arguments: Kind.allCases) func aSecondTimeReplacesTheFirst(_ kind: Kind) async throws {
    try await with(kind) { _, open in
      let store = try open()
      let name = BlobName(.random())
      for bytes in [[1, 2], [3]] as [[UInt8]] {
        let writer = try store.begin(name, size: Int64(bytes.count))
        try writer.append(bytes)
        try writer.finish(sha256: Self.hash(bytes))
      }
      #expect(try Self.read(store, name) == [3])
    }
  }

  @Test(arguments: Kind.allCases) func cancelledOrAbandonedFilesAreGone(_ kind: Kind) async throws {
    try await with(kind) { spool, open in
      func new() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: spool + "/new") }
      let store = try open()
      let name = BlobName(.random())
      let cancelled = try store.begin(name, size: 3)
      try cancelled.append([1])
      #expect(try new().count == 1)
      cancelled.cancel()
      #expect(try new().isEmpty)
      #expect(throws: BlobFailure.self) { try cancelled.append([1]) }
      #expect(throws: BlobFailure.self) { try cancelled.finish(sha256: []) }
      // The file is one that a killed process left.
      #expect(FileManager.default.createFile(atPath: spool + "/new/\(name)", contents: Data([1, 2])))
      #expect(try Self.read(try open(), name) == nil)
      #expect(try new().isEmpty)
    }
  }

  @Test(arguments: Kind.allCases) func partsStayUntilTheyAreSettled(_ kind: Kind) async throws {
    try await with(kind) { _, open in
      let store = try open()
      let name = BlobName(.random())
      let first = try store.resume(name)
      #expect(first.start == 0)
      try first.append([1, 2])
      #expect(try first.suspend() == 2)
      #expect(store.unsettled == [name.id])
      // Another process goes on, and dies before it can say that all is there.
      let second = try open().resume(name)
      #expect(second.start == 2)
      try second.append([3])
      try second.finish(sha256: Self.hash([1, 2, 3]))
      #expect(try Self.read(store, name) == [1, 2, 3])
      let third = try open().resume(name)
      #expect(third.start == 3)
      try third.finish(sha256: Self.hash([1, 2, 3]))
      #expect(try Self.read(store, name) == [1, 2, 3])
      store.settle(name)
      #expect(store.unsettled == [])
      #expect(try Self.read(store, name) == [1, 2, 3])
      // A cancelled upload leaves the file that was there before; a removed file goes with its parts.
      let other = BlobName(.random())
      let left = try store.resume(other)
      try left.append([7])
      left.cancel()
      #expect(try store.resume(other).start == 1)
      try store.remove(other)
      #expect(store.unsettled == [])
      #expect(try store.resume(other).start == 0)
    }
  }

  @Test(arguments: Kind.allCases) func aRestartedUploadForgetsTheParts(_ kind: Kind) async throws {
    try await with(kind) { _, open in
      let store = try open()
      let name = BlobName(.random())
      let parts = try store.resume(name)
      try parts.append([1])
      try parts.suspend()
      let writer = try store.begin(name, size: 1)
      try writer.append([2])
      try writer.finish(sha256: Self.hash([2]))
      #expect(store.unsettled == [])
      #expect(try Self.read(store, name) == [2])
    }
  }

  private static func bucketStore(_ settings: BucketOptions, _ scratch: String) throws -> BucketStore {
    try BucketStore(
      settings, spool: scratch + "/s", authorities: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )
  }

  /// A service that is broken for a moment is asked again; one that says no is not.
  @Test func aBucketIsAskedAgain() async throws {
    let server = try await BucketServer.start()
    let settings = server.settings
    try await withScratchFolder { (scratch: String) async throws -> Void in
      try await NIOThreadPool.singleton.runIfActive {
        let store = try Self.bucketStore(settings, scratch)
        try store.check()
        let name = BlobName(.random())
        server.answer(with: [503, 500])
        let writer = try store.begin(name, size: 1)
        try writer.append([1])
        try writer.finish(sha256: Self.hash([1]))
        #expect(try Self.read(store, name) == [1])
        server.answer(with: [403])
        #expect(throws: BlobFailure.self) { _ = try store.open(name) }
        server.answer(with: [404])
        #expect(throws: BlobFailure.self) { try store.check() }
      }
    }
    #expect(server.errors == [])
    await server.stop()
  }

  /// A log has one line for a failure.
  @Test func whatABucketSaysOfAFailureIsShort() async throws {
    let server = try await BucketServer.start()
    let settings = server.settings
    try await withScratchFolder { (scratch: String) async throws -> Void in
      try await NIOThreadPool.singleton.runIfActive {
        let store = try Self.bucketStore(settings, scratch)
        let long = String(repeating: "x", count: 10_000)
        for (status, body, said) in [
          (403, "<Error><Code>Access&#10;\(long)</Code></Error>", "403 Access\\nxxx"),
          (307, "<Error><Endpoint>https://a&#10;\(long)</Endpoint></Error>", "redirects to https://a\\nxxx"),
        ] {
          server.answer(with: [status], body)
          let writer = try store.begin(BlobName(.random()), size: 1)
          try writer.append([1])
          let failure = #expect(throws: BlobFailure.self) { try writer.finish(sha256: Self.hash([1])) }
          let text = failure.map { "\($0)" } ?? ""
          #expect(text.contains(said) && text.utf8.count < 600 && !text.contains("\n"), "\(text)")
        }
      }
    }
    await server.stop()
  }
}

/// A bucket as far as the store uses one.
private final class BucketServer: Sendable {
  private struct State {
    var objects: [String: [UInt8]] = [:]
    var planned: [(status: Int, body: [UInt8])] = []
    var errors: [String] = []
  }
  private let channel: any Channel
  private let state: StateBox

  private final class StateBox: Sendable { let value = Mutex(State()) }

  private init(_ channel: any Channel, _ state: StateBox) { (self.channel, self.state) = (channel, state) }

  static func start() async throws -> BucketServer {
    let state = StateBox()
    let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler(state))
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    return BucketServer(channel, state)
  }

  var settings: BucketOptions {
    BucketOptions(
      endpoint: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)", bucket: "files", region: "us-east-1", key: "key",
      secret: "secret", prefix: "p/", isInPath: true)
  }
  /// The next requests are answered with these.
  func answer(with statuses: [Int], _ body: String = "") {
    state.value.withLock { $0.planned = statuses.map { (status: $0, body: Array(body.utf8)) } }
  }
  /// The unmet expectations.
  var errors: [String] { state.value.withLock { $0.errors } }
  func stop() async { try? await channel.close() }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let state: StateBox
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(_ state: StateBox) { self.state = state }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): (self.head, body) = (head, [])
      case .body(let part): body += Array(part.readableBytesView)
      case .end:
        guard let head else { return }
        let (status, bytes) = answer(head)
        let isHead = head.method == .HEAD
        let headers: HTTPHeaders = ["Content-Length": "\(bytes.count)"]
        context.write(
          wrapOutboundOut(
            .head(HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers))),
          promise: nil)
        if !isHead { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
    }

    private func answer(_ head: HTTPRequestHead) -> (Int, [UInt8]) {
      state.value.withLock { state in
        if head.headers.first(name: "authorization")?.hasPrefix("AWS4-HMAC-SHA256 Credential=key/") != true {
          state.errors.append("unsigned: \(head.method) \(head.uri)")
        }
        if !state.planned.isEmpty { return state.planned.removeFirst() }
        if head.uri == "/files" { return (200, []) }
        guard head.uri.hasPrefix("/files/p/") else {
          state.errors.append("elsewhere: \(head.uri)")
          return (404, [])
        }
        switch head.method {
        case .PUT:
          let hash = SHA256.hash(data: body).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
          if head.headers.first(name: "x-amz-content-sha256") != hash { state.errors.append("another hash") }
          state.objects[head.uri] = body
          return (200, [])
        case .DELETE:
          // Readers that are not done read on from the removed object.
          state.objects["gone"] = state.objects.removeValue(forKey: head.uri) ?? state.objects["gone"]
          return (204, [])
        case .HEAD: return state.objects[head.uri].map { (200, $0) } ?? (404, [])
        default:
          guard let object = state.objects[head.uri] else { return (404, []) }
          let range = head.headers.first(name: "range")?.dropFirst("bytes=".count).split(separator: "-") ?? []
          guard range.count == 2, let first = Int(range[0]), let last = Int(range[1]), first < object.count else {
            return (416, [])
          }
          return (206, Array(object[first...min(last, object.count - 1)]))
        }
      }
    }
  }
}
