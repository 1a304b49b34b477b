import Foundation

/// Returns a path with its parts encoded.
func path(_ parts: String...) -> String {
  let allowed = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
  return parts.map { "/" + ($0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "") }.joined()
}

/// An error for an operation that took longer than it may.
struct TimeoutError: LocalizedError {
  var errorDescription: String? { "It took too long." }
}

/// Does work that ends when it is cancelled, and cancels it after a time.
func within<T: Sendable>(
  _ time: Duration, _ work: @escaping @Sendable () async throws -> T
) async throws -> T {
  try await withThrowingTaskGroup(of: T.self) { group in
    defer { group.cancelAll() }
    group.addTask { try await work() }
    group.addTask {
      try await Task.sleep(for: time)
      throw TimeoutError()
    }
    guard let first = try await group.next() else { throw CancellationError() }
    return first
  }
}

/// The parameters of a request; those without a value are left out.
typealias Query = [(name: String, value: String?)]

extension Parley {
  /// Any request of the protocol, with the access token: for what has no method here. The path is without `/v1`. An answer without a body
  /// is `null`.
  public func request(
    _ method: String, _ path: String, query: [String: String] = [:], body: JSONValue? = nil
  ) async throws -> JSONValue {
    let answer = try await send(
      method, path, query: query.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, body: body)
    return answer.body.isEmpty ? .null : try decoded(answer)
  }

  /// A request whose answer is of a type.
  func ask<T: Decodable>(
    _ method: String, _ path: String, query: Query = [], body: JSONValue? = nil, token: Bool = true
  ) async throws -> T {
    try decoded(try await send(method, path, query: query, body: body, token: token))
  }

  /// A request whose answer says nothing.
  func tell(
    _ method: String, _ path: String, query: Query = [], body: JSONValue? = nil, token: Bool = true
  ) async throws {
    _ = try await send(method, path, query: query, body: body, token: token)
  }

  private func decoded<T: Decodable>(_ answer: HTTPResponse) throws -> T {
    do { return try JSON.decode(T.self, from: answer.body) } catch {
      throw ParleyError("answer-malformed", "\(error)", status: answer.status)
    }
  }

  private func send(
    _ method: String, _ path: String, query: Query, body: JSONValue?, token: Bool = true
  ) async throws -> HTTPResponse {
    try await send(
      method, path, query: query, headers: body == nil ? [] : [("Content-Type", "application/json")],
      body: body.map(JSON.encode),
      token: token)
  }

  /// Sends a request. An expired token is replaced, and the request sent once more.
  func send(
    _ method: String, _ path: String, query: Query = [], headers: [(name: String, value: String)], body: Data?,
    token: Bool = true
  ) async throws -> HTTPResponse {
    if !isClosed { try await opened() }
    guard !isClosed else { throw ParleyError.closed }
    // A URL may be sent without these segments (RFC 3986 5.2.4): DELETE of members/.. would be one of the dialog.
    let segments = path.split(separator: "/").map { $0.removingPercentEncoding ?? "" }
    guard !segments.contains("."), !segments.contains("..") else {
      throw ParleyError("path-malformed", "\(path): nobody has this id.")
    }
    var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) ?? URLComponents()
    while parts.percentEncodedPath.hasSuffix("/") { parts.percentEncodedPath.removeLast() }
    parts.percentEncodedPath += "/v1" + path
    let items = query.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
    if !items.isEmpty {
      parts.queryItems = items
      // A plus sign is a space to many servers.
      parts.percentEncodedQuery = parts.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
    }
    guard let address = parts.url else { throw ParleyError.network("\(url) is no address of a server.") }
    let used = token ? session?.accessToken : nil
    if token, used == nil { throw ParleyError.signedOut }
    do {
      return try await once(method, address, headers: headers, body: body, token: used)
    } catch let error as ParleyError where error.isToken {
      guard let used else { throw error }
      try await refresh(used)
      return try await once(method, address, headers: headers, body: body, token: session?.accessToken)
    }
  }

  /// Sends a request once; throws the problem of an answer that is none of success.
  func once(
    _ method: String, _ url: URL, headers: [(name: String, value: String)] = [], body: Data? = nil, token: String? = nil
  ) async throws -> HTTPResponse {
    var headers = headers + [("Accept", "application/json, */*"), ("User-Agent", client)]
    if let token { headers.append(("Authorization", "Bearer " + token)) }
    let request = HTTPRequest(method: method, url: url, headers: headers, body: body)
    let answer: HTTPResponse
    do {
      answer = try await within(requestTimeout + .seconds((body?.count ?? 0) / Limits.slowest)) { [transport] in
        try await transport.send(request)
      }
    } catch {
      if Task.isCancelled { throw ParleyError.aborted }
      throw ParleyError.network("No answer to \(method) \(url.path): \(ParleyError.reason(of: error))")
    }
    guard (200..<300).contains(answer.status) else {
      let problem = (try? JSON.decode(Problem.self, from: answer.body)) ?? Problem(title: "HTTP \(answer.status)")
      throw ParleyError(problem, status: answer.status, retryAfter: answer.headers["retry-after"].flatMap(Double.init))
    }
    return answer
  }

  /// Replaces the access token `used`, unless it has been replaced meanwhile: once for all requests at a time, because a refresh token
  /// works once, but for a client that did not get the answer. Ends the session if the login has ended.
  func refresh(_ used: String) async throws {
    let task = refreshing ?? Task { try await replaceToken(used) }
    refreshing = task
    defer { if refreshing == task { refreshing = nil } }
    try await task.value
  }

  private func replaceToken(_ used: String) async throws {
    guard let session else { throw ParleyError.signedOut }
    guard session.accessToken == used else { return }
    do {
      let address = url.appendingPathComponent("v1/sessions")
      let body: JSONValue = ["grant": "refresh", "refreshToken": .string(session.refreshToken)]
      // A repeat has the same answer, as long as its tokens are not used.
      let answer = try await persist {
        try await once("POST", address, headers: [("Content-Type", "application/json")], body: JSON.encode(body))
      }
      try await keep(try decoded(answer))
    } catch let error as ParleyError {
      if error.status == 401 || error.status == 403 { await ended(error) }
      throw error
    }
  }

  /// Repeats a change, whose repetition has no further effect, until it is answered; a few times.
  func persist<T: Sendable>(_ work: () async throws -> T) async throws -> T {
    for attempt in 1...3 {
      do { return try await work() } catch let error as ParleyError where error.code == "network" {
        await pause(.milliseconds(500 * attempt))
        try Task.checkCancellation()
      }
    }
    return try await work()
  }
}
