// On Linux it is compiled for the repository's tests only: FoundationNetworking would bring libcurl into every app.
#if canImport(Darwin) || PARLEY_URLSESSION
  public import Foundation
  #if canImport(FoundationNetworking)
    public import FoundationNetworking
  #endif

  /// HTTP and WebSockets of Apple's platforms.
  public final class URLSessionTransport: Transport {
    private let session: URLSession

    /// Creates a transport. The default configuration keeps neither cookies nor answers.
    public init(configuration: URLSessionConfiguration? = nil) {
      session = URLSession(configuration: configuration ?? Self.forgetful)
    }

    private static var forgetful: URLSessionConfiguration {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpCookieStorage = nil
      configuration.urlCache = nil
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      return configuration
    }

    deinit { session.finishTasksAndInvalidate() }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
      var own = URLRequest(url: request.url)
      own.httpMethod = request.method
      own.httpBody = request.body
      for (name, value) in request.headers { own.addValue(value, forHTTPHeaderField: name) }
      let (body, answer) = try await session.data(for: own, delegate: NoRedirection())
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
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
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
        throw WebSocketClosed(code: UInt16(clamping: task.closeCode.rawValue), reason: reason)
      }
    }

    /// A code that the platform cannot send becomes a loss of the connection, which the server takes as a client that returns.
    func close(code: UInt16) async {
      guard let code = URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) else { return task.cancel() }
      task.cancel(with: code, reason: nil)
    }
  }
#endif
