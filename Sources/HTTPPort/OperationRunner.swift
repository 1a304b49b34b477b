import Basics
public import Dialogs
public import HTTPTypes
public import Hummingbird
public import JSON
import NIOCore

// The common part of the operations for apps and for backends over HTTP: reading token and input, and writing answers
// and problems. The sites determine the operation and the permitted callers.

/// The input of an operation: JSON, or bytes for an operation that takes them.
public struct OperationInput: Sendable {
  public var json = JSONValue.object([])
  public var bytes: [UInt8] = []
  /// The length of the body in bytes.
  public private(set) var length = 0
  /// The parameters of path and query. As members of the input they override those of the body.
  public var parameters: [String: String] = [:]

  public init() {}

  /// Reads the parameters of a request, and its body, if the method has one.
  ///
  /// - Parameters:
  ///   - pathParameters: The names in the braces of the route's path; they override the query.
  ///   - bytesMax: The maximum length of the body in bytes; nothing of a longer one is read.
  ///   - takesBytes: Whether the body is bytes instead of JSON.
  /// - Throws: `.malformed` if the input is unreadable; an `HTTPRefusal` (413) if it is too long.
  public init(
    _ request: Request, _ context: HTTPContext, _ method: Method, pathParameters: [String], bytesMax: Int,
    takesBytes: Bool = false
  ) async throws {
    for name in pathParameters {
      guard let value = context.parameters.get(name).flatMap({ PercentEncoding.decode($0) }) else {
        throw Problem(.malformed, "path-malformed", "The path's \(name) is not percent-encoded UTF-8.", field: name)
      }
      parameters[name] = value
    }
    guard method.hasBody else {
      for (name, value) in request.uri.queryParameters where !pathParameters.contains(String(name)) {
        guard parameters.updateValue(String(value), forKey: String(name)) == nil else {
          let field = Line.beginning(of: String(name))
          throw Problem(.malformed, "input-malformed", "The query has \(Line.safe(field)) twice.", field: field)
        }
      }
      return
    }
    let read = try await Self.body(of: request, context, upTo: bytesMax)
    let body = Array(read.readableBytesView)
    length = body.count
    if takesBytes {
      bytes = body
    } else if !body.isEmpty {
      do throws(JSONError) { json = try JSONValue(parsing: body, valuesMax: HTTPLimits.jsonValuesMax) } catch {
        throw Problem(error)
      }
      guard case .object = json else {
        throw Problem(.malformed, "input-malformed", "The body must be a JSON object.")
      }
    }
  }

  private static func body(of request: Request, _ context: HTTPContext, upTo bytesMax: Int) async throws -> ByteBuffer {
    // An announced length is checked before reading.
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bytesMax {
      throw HTTPContext.tooLarge(bytesMax)
    }
    return try await context.body(of: request, upTo: bytesMax)
  }

  /// Decodes an operation's input.
  public func decode<Input: Decodable>(_ type: Input.Type) throws(Problem) -> Input {
    do throws(InputError) { return try InputDecoder.decode(type, from: json, parameters: parameters) } catch {
      throw Problem(error)
    }
  }
}

extension OperationInput {
  /// Decodes an operation's input, and refuses members that are unknown or also in the path.
  public func decodeStrictly<Input: Decodable>(_ type: Input.Type) throws(Problem) -> Input {
    if case .object(let members) = json, let name = members.first(where: { parameters[$0.name] != nil })?.name {
      throw Problem(.malformed, "field-unknown", "This operation has no \(name) in its body.", field: name)
    }
    let decoded: (input: Input, unknown: String?)
    do throws(InputError) {
      decoded = try InputDecoder.decodeNotingUnknown(type, from: json, parameters: parameters)
    } catch {
      throw Problem(error)
    }
    if let name = decoded.unknown.map({ Line.beginning(of: $0) }) {
      throw Problem(.malformed, "field-unknown", "This operation knows no \(Line.safe(name)).", field: name)
    }
    return decoded.input
  }
}

/// Runs operations over HTTP and writes their outcomes.
public enum OperationRunner {
  /// Returns the route of an operation. Its answers contain the state of the rates, and its problems become answers. Until the user is
  /// known its reads are scheduled by the client's network.
  public static func route(
    _ method: Method, _ path: String,
    _ answer: @escaping @Sendable (Request, HTTPContext, RateLog) async throws -> Response
  ) -> HTTPRoute {
    HTTPRoute(method.http, path) { request, context in
      try await RateLog.told { rates in
        do {
          return try await ReadOwner.$current.withValue(.network(context.peer(of: request).address)) {
            try await answer(request, context, rates)
          }
        } catch let problem as Problem {
          return response(problem, to: request, context)
        }
      }
    }
  }

  /// Returns the token of a request (RFC 6750 2.1); nil if there is none.
  public static func bearer(_ request: Request) -> String? {
    guard let field = request.headers[.authorization] else { return nil }
    let parts = field.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }

  /// Returns an answer in JSON, or one without content if there are no bytes. Caches must not store it unless the
  /// headers allow it: answers contain tokens and private messages.
  public static func response(_ status: Int, _ json: [UInt8]?, _ extra: HTTPFields = [:]) -> Response {
    var headers = extra
    if headers[.cacheControl] == nil { headers[.cacheControl] = "no-store" }
    guard let json else { return Response(status: .noContent, headers: headers) }
    headers[.contentType] = "application/json"
    return Response(
      status: HTTPResponse.Status(code: status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
  }

  /// Returns a problem as an answer, and logs it.
  public static func response(_ problem: Problem, to request: Request, _ context: HTTPContext) -> Response {
    RateLog.current?.note(problem)
    var headers: HTTPFields = [:]
    if let seconds = problem.retryAfter { headers[.retryAfter] = "\(seconds)" }
    if problem.kind == .unauthenticated { headers[.wwwAuthenticate] = "Bearer" }
    return context.refuse(request, ProblemBody(problem), headers)
  }
}
