import AppProtocol
import Dialogs
import HTTPPort

/// The face of a domain error in HTTP. Exhaustive: a new kind does not compile
/// until it has one.
extension Problem.Kind {
  var status: Int {
    switch self {
    case .malformed: 400
    case .unauthenticated: 401
    case .forbidden, .blocked, .refused: 403
    // Who may not be reached looks like who is not there.
    case .missing, .unreachable: 404
    case .conflict: 409
    case .tooLarge: 413
    case .foreign: 422
    case .tooFast: 429
    case .internal: 500
    case .unsupported: 501
    case .overloaded: 503
    }
  }
}

extension ProblemBody {
  init(_ problem: Problem, requestID: String?) {
    self.init(
      title: Titles.title(problem.kind.status), status: problem.kind.status, detail: problem.text,
      code: problem.code, field: problem.field, retryAfter: problem.retryAfter, requestId: requestID,
      challenge: problem.challenge, secondFactor: problem.secondFactor)
  }
}

extension Problem {
  /// An input that does not fit its operation.
  init(_ error: InputError) {
    let text = error.path.isEmpty ? "\(error.text)." : "\(error.path) \(error.text)."
    self.init(.malformed, "input-malformed", text, field: error.path.isEmpty ? nil : error.path)
  }

  init(_ error: JSONError) {
    self.init(.malformed, "json-malformed", "\(error.reason), at byte \(error.offset).")
  }
}
