import Basics
import Dialogs
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import ServerMetrics
import Testing

@testable import HTTPPort

/// How many requests a user has under way.
@Suite struct RequestsUnderWayTests {
  /// The connection of a request.
  private struct Connection {
    let channel = EmbeddedChannel()

    init(_ bound: ConnectionBound) throws {
      let remote = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
      try channel.connect(to: remote).wait()
      channel.remoteAddress = remote
      let place = ConnectionPlace(bound, TrustedProxies(), channel)
      _ = place.enter()
      try channel.pipeline.syncOperations.addHandler(place)
      let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
      try channel.writeInbound(HTTPServerRequestPart.head(head))
      try channel.writeInbound(HTTPServerRequestPart.end(nil))
    }

    @discardableResult
    func begin(_ requests: RequestsUnderWay, of user: UserID) throws(Problem) -> RequestUnderWay {
      let context = HTTPContext(
        source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test")))
      let request = try requests.begin(context, of: user)
      channel.embeddedEventLoop.run()
      return request
    }

    func answer() throws {
      try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
      try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }
  }

  @Test func aUserHasABoundedNumberOfRequests() throws {
    let (user, other) = (UserID(1), UserID(2))
    let (bound, requests) = (ConnectionBound(max: .max), RequestsUnderWay(metrics: Metrics()))
    let connections = try (0..<HTTPLimits.requestsPerUserMax).map { _ in try Connection(bound) }
    for connection in connections { try connection.begin(requests, of: user) }
    let further = try Connection(bound)
    let problem = #expect(throws: Problem.self) { try further.begin(requests, of: user) }
    #expect(problem?.code == "requests-too-many" && problem?.retryAfter == 1)
    // The refused one has no login.
    #expect(bound.count == 1)
    try further.begin(requests, of: other)
    // The end of a response makes room, as does the end of a connection.
    try connections[0].answer()
    connections[1].channel.close(promise: nil)
    connections[1].channel.embeddedEventLoop.run()
    #expect(requests.count(user) == HTTPLimits.requestsPerUserMax - 2 && requests.count(other) == 1)
    try further.answer()
    #expect(requests.count(other) == 0)
    try connections[0].begin(requests, of: user)
    // A connection that has ended already takes no room.
    try connections[1].begin(requests, of: user)
    #expect(requests.count(user) == HTTPLimits.requestsPerUserMax - 1)
  }

  /// What a client leaves behind by closing its connections is bounded as well.
  @Test func aRequestCountsUntilItsHandlerEnds() throws {
    let requests = RequestsUnderWay(metrics: Metrics())
    let connection = try Connection(ConnectionBound(max: .max))
    var handler: RequestUnderWay? = try connection.begin(requests, of: UserID(1))
    connection.channel.close(promise: nil)
    connection.channel.embeddedEventLoop.run()
    #expect(requests.count(UserID(1)) == 1)
    withExtendedLifetime(handler) {}
    handler = nil
    #expect(requests.count(UserID(1)) == 0)
  }
}
