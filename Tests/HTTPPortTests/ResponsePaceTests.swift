import Basics
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPPort

@Suite struct ResponsePaceTests {
  private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }
  private var grace: Int64 { HTTPLimits.responseGrace.nanoseconds / 1_000_000_000 }
  private var rate: Int { Int(HTTPLimits.responseBytesPerSecond) }

  @Test func onlyWaitsUseUpTheAllowance() {
    var pace = ResponsePace()
    pace.write(1_000)
    pace.observe(pending: 0, at: at(0))
    // The server has nothing to send for an hour.
    pace.write(1_000)
    pace.observe(pending: 1_000, at: at(3_600))
    #expect(pace.isWaiting && !pace.isTooSlow)
    pace.observe(pending: 1_000, at: at(3_600 + grace - 1))
    #expect(!pace.isTooSlow)
    pace.observe(pending: 1_000, at: at(3_600 + grace))
    #expect(pace.isTooSlow)
  }

  @Test func bytesThatAreTakenAddToTheAllowanceUpToItsStart() {
    var (pace, seconds) = (ResponsePace(), Int64(0))
    pace.write(rate * 10_000)
    pace.observe(pending: rate * 10_000, at: at(seconds))
    // At the minimum rate, for hours.
    while seconds < 9_000 {
      seconds += 10
      pace.observe(pending: rate * (10_000 - Int(seconds)), at: at(seconds))
      #expect(!pace.isTooSlow)
    }
    // Very many bytes at once give no more than the first allowance.
    pace.write(1 << 50)
    pace.observe(pending: 1, at: at(seconds))
    pace.observe(pending: 1, at: at(seconds + grace - 1))
    #expect(!pace.isTooSlow)
    pace.observe(pending: 1, at: at(seconds + grace))
    #expect(pace.isTooSlow)
  }

  private typealias Network = SecuredPair.Network

  private func channel(_ network: Network, _ loop: EmbeddedEventLoop) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handlers: [network, HTTPResponseEncoder(), ResponsePaceHandler()], loop: loop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private func respond(_ count: Int, _ channel: EmbeddedChannel) {
    let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "\(count)"])
    channel.write(HTTPServerResponsePart.head(head), promise: nil)
    channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(repeating: 1, count: count))), promise: nil)
    channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
  }

  /// Responds to a client that takes nothing.
  private func expectCutOff(_ channel: EmbeddedChannel, _ loop: EmbeddedEventLoop) {
    respond(1_000, channel)
    loop.advanceTime(by: .seconds(grace - 1))
    #expect(channel.isActive)
    loop.advanceTime(by: HTTPLimits.responseCheck)
    #expect(!channel.isActive)
    _ = try? channel.finish()
  }

  @Test func aClientThatTakesNothingIsCutOff() throws {
    let loop = EmbeddedEventLoop()
    expectCutOff(try channel(Network(), loop), loop)
  }

  @Test func aClientThatHasTakenItsResponseMayStay() throws {
    let (loop, network) = (EmbeddedEventLoop(), Network())
    let channel = try channel(network, loop)
    respond(1_000, channel)
    loop.advanceTime(by: .seconds(grace - 1))
    network.isStuck = false
    channel.flush()
    loop.advanceTime(by: .hours(1))
    #expect(channel.isActive)
    // The next response has an allowance of its own.
    network.isStuck = true
    expectCutOff(channel, loop)
  }

  /// Returns both ends of a connection over TLS, after the handshake. The client takes nothing any more.
  private func secured(_ loop: EmbeddedEventLoop) throws -> (server: EmbeddedChannel, client: EmbeddedChannel) {
    let pair = try SecuredPair(loop, [HTTPResponseEncoder(), ResponsePaceHandler()])
    return (pair.server, pair.client)
  }

  /// The server does not wait for the end of the client's half, as TLS does otherwise.
  @Test func aClientThatTakesNothingIsCutOffOverTLS() throws {
    let loop = EmbeddedEventLoop()
    let (server, client) = try secured(loop)
    expectCutOff(server, loop)
    end(client)
  }

  /// Ends the client's side without the end of TLS, for which nobody is there.
  private func end(_ client: EmbeddedChannel) {
    client.pipeline.syncOperations.cut()
    #expect(!client.isActive)
    client.embeddedEventLoop.run()
  }

  @Test func aConnectionGivesWayAtOnceOverTLS() throws {
    let loop = EmbeddedEventLoop()
    let (server, client) = try secured(loop)
    let bound = ConnectionBound(max: 1)
    #expect(ConnectionPlace(bound, TrustedProxies(), server).enter())
    let newcomer = bound.admit("192.0.2.2") {}
    loop.run()
    #expect(newcomer != nil && !server.isActive)
    _ = try? server.finish()
    end(client)
  }
}
