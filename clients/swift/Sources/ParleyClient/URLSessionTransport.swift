#if canImport(Darwin)
  public import Foundation

  /// HTTP and WebSockets of Apple's platforms.
  public final class URLSessionTransport: Transport {
    private let session: URLSession

    /// Creates a transport. The default configuration stores neither cookies nor answers.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
      session = URLSession(configuration: configuration, delegate: NoRedirection(), delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      var own = URLRequest(url: request.url)
      own.httpMethod = request.method
      own.httpBody = request.body
      for (name, value) in request.headers { own.addValue(value, forHTTPHeaderField: name) }
      let (body, answer) = try await session.data(for: own)
      guard let answer = answer as? HTTPURLResponse else { throw URLError(.badServerResponse) }
      guard body.count <= Limits.answerBytes else { throw URLError(.dataLengthExceedsMaximum) }
      var headers: [String: String] = [:]
      for (name, value) in answer.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
      return HTTPResponse(status: answer.statusCode, headers: headers, body: body)
    }

    public func open(_ url: URL, subprotocol: String) async throws -> any WebSocket {
      let task = session.webSocketTask(with: url, protocols: [subprotocol])
      task.maximumMessageSize = Limits.frameBytes
      task.resume()
      return URLSessionWebSocket(task: task)
    }
  }

  private final class NoRedirection: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest
    ) async -> URLRequest? { nil }
  }

  private struct URLSessionWebSocket: WebSocket {
    let task: URLSessionWebSocketTask

    func send(_ text: String) async throws { try await task.send(.string(text)) }

    func receive() async throws -> String {
      do {
        while true { if case .string(let text) = try await task.receive() { return text } }
      } catch {
        guard task.closeCode != .invalid else { throw error }
        let reason = task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? ""
        throw WebSocketClosed(code: UInt16(task.closeCode.rawValue), reason: reason)
      }
    }

    /// Codes of the application's range cannot be sent here: the server takes the loss of the connection as the client's return.
    func close(code: UInt16) async {
      guard let code = URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) else { return task.cancel() }
      task.cancel(with: code, reason: nil)
    }
  }
#endif
