import HTTPPort
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Accounts
@testable import AppDoor
@testable import Dialogs

/// Pictures that are so large that their requests take places.
@Suite struct LargePictureTests {
  /// A body that is empty, and notes whether it was read before it could be.
  private final class Picture: Sendable {
    private let state = Mutex((mayBeRead: false, reads: [Bool]()))

    var reads: [Bool] { state.withLock { $0.reads } }
    func allow() { state.withLock { $0.mayBeRead = true } }

    func body() -> AsyncStream<ByteBuffer> {
      AsyncStream<ByteBuffer>(unfolding: { [self] in
        state.withLock { $0.reads.append($0.mayBeRead) }
        return nil
      })
    }
  }

  /// The body of a large picture is not read before its request has a place, so that few of them are in memory.
  @Test(.timeLimit(.minutes(1))) func aLargePictureIsReadInItsTurn() async throws {
    let scene = try await LongListTests.Scene()
    let (door, id) = (scene.door, scene.romeo.id)
    let user = try await scene.parley.read { try $0.user(id) }
    let login = try await door.accounts.logIn(try #require(user), device: "phone", client: nil)
    let route = try #require(door.site.routes.first { $0.path == PutMyAvatar.path && $0.method == .put })
    let fields: HTTPFields = [.authorization: "Bearer \(login.accessToken)"]
    @Sendable func put(_ picture: Picture, announcing length: Int) async {
      var head = fields
      head[.contentLength] = "\(length)"
      let request = Request(
        head: HTTPRequest(
          method: .put, scheme: nil, authority: nil, path: PutMyAvatar.path, headerFields: head),
        body: RequestBody(asyncSequence: picture.body()))
      let channel = NIOAsyncTestingChannel()
      let source = ApplicationRequestContextSource(channel: channel, logger: Logger(label: "pictures"))
      // It is no picture, and refused.
      _ = try? await route.handle(request, HTTPContext(source: source))
      await channel.testingEventLoop.run()
      _ = try? await channel.finish()
    }
    _ = await door.picturePlaces.take(for: .user(id))
    let (large, small) = (Picture(), Picture())
    let waiting = Task { await put(large, announcing: Limits.avatarBytesMax + 1) }
    small.allow()
    await put(small, announcing: Limits.avatarBytesMax)
    #expect(small.reads.first == true)
    large.allow()
    door.picturePlaces.giveBack(by: .user(id))
    await waiting.value
    #expect(large.reads.first == true)
    // The place is free again.
    _ = await door.picturePlaces.take(for: .user(id))
    door.picturePlaces.giveBack(by: .user(id))
  }
}
