import JSON

/// `GET /healthz`: the server works; `GET /readyz`: it takes new clients.
struct HealthBody: Hashable, Sendable, JSONObjectWritable {
  let status = "ok"

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("status", status)
  }
}
