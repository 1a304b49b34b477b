import Foundation
import Testing

@testable import ParleyClient

/// Jumps in a view that overlap each other, the way to the end, and events.
struct JumpTests {
  @Test("Of jumps that overlap, and of the way to the end, the last one wins; what happens meanwhile is shown")
  func overlapping() async throws {
    let network = HeldTransport()
    let storage = try await WaitingTests().signedIn()
    let parley = try Parley(url: #require(URL(string: "http://localhost:1")), storage: storage, transport: network)
    let view = try await parley.view("d", limit: 5)
    try await view.fresh()
    /// Jumps, which is three requests, and does something else before their answers come.
    func jump(to id: String, limit: Int = 2, _ meanwhile: () async throws -> Void) async throws -> [Int] {
      await network.hold(id)
      let jumping = Task { try await view.jump(id, limit: limit) }
      await network.reached(3)
      try await meanwhile()
      await network.release()
      try await jumping.value
      return await view.messages.map(\.seq)
    }
    var shown = try await jump(to: "4") { try await view.jump("20", limit: 2) }
    #expect(shown == [19, 20, 21])
    try await view.toEnd()
    shown = try await jump(to: "4") { try await view.toEnd() }
    #expect(shown == [26, 27, 28, 29, 30])
    #expect(await !view.hasNewer)
    shown = try await jump(to: "29", limit: 4) { await parley.addToViews(message(31)) }
    #expect(shown == [27, 28, 29, 30, 31])
    var edited = message(4)
    edited.version = 2
    let newer = edited
    shown = try await jump(to: "4") { await parley.updateInViews(newer) }
    #expect(shown == [3, 4, 5])
    #expect(await view.messages[1].message.version == 2)
    try await view.toEnd()
    let deleted = ServerEvent.MessageDeleted(dialogId: "d", messageId: "4", by: "romeo", for: "me")
    shown = try await jump(to: "4") { await parley.applyToViews(.messageDeleted(deleted)) }
    #expect(shown == [3, 5])
    await parley.close()
  }
}

/// A dialog of thirty messages. Answers about one of them are kept back.
actor HeldTransport: Transport {
  private let all = (1...30).map { message($0) }
  private var held: String?
  private var answers: [CheckedContinuation<Void, Never>] = []
  private var wanted = 0
  private var waiter: CheckedContinuation<Void, Never>?

  func hold(_ id: String) { held = id }

  /// Waits until as many answers are kept back.
  func reached(_ count: Int) async {
    guard answers.count < count else { return }
    wanted = count
    await withCheckedContinuation { waiter = $0 }
  }

  func release() {
    held = nil
    for answer in answers { answer.resume() }
    answers = []
  }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let parts = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false))
    let query = Dictionary((parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
    let id = request.url.lastPathComponent
    let body = try id == "messages" ? page(query) : JSON.encode(all.first { $0.id == id })
    if let held, [id, query["before"], query["after"]].contains(held) {
      await withCheckedContinuation { answer in
        answers.append(answer)
        guard answers.count == wanted else { return }
        waiter?.resume()
        waiter = nil
      }
    }
    return HTTPResponse(status: 200, headers: ["content-type": "application/json"], body: body)
  }

  private func page(_ query: [String: String]) throws -> Data {
    let limit = query["limit"].flatMap { Int($0) } ?? 50
    let items: [Message]
    let next: Message?
    if let after = query["after"].flatMap({ Int($0) }) {
      let rest = all.filter { $0.seq > after }
      items = rest.prefix(limit).reversed()
      next = rest.count > limit ? items.first : nil
    } else {
      let before = query["before"].flatMap { Int($0) } ?? .max
      let rest = all.filter { $0.seq < before }
      items = rest.suffix(limit).reversed()
      next = rest.count > limit ? items.last : nil
    }
    let cursor = next.map { #","nextCursor":"\#($0.id)""# } ?? ""
    let list = String(decoding: try JSON.encode(items), as: UTF8.self)
    let others = #""dialog":{"id":"d","type":"private"},"users":{"items":[]},"markers":{"items":[]}"#
    return Data("{\"items\":\(list)\(cursor),\(others)}".utf8)
  }

  func open(_ url: URL, subprotocol: String) async throws -> any WebSocket { MuteSocket() }
}
