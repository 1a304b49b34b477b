import Dialogs
import HTTPPort
import HTTPTypes
import Hummingbird
import NIOCore
import ServerMetrics

/// The site of the metrics' port: numbers for Prometheus, and whether the server works.
struct MetricsSite: Sendable {
  let parley: Parley
  let scrape: Scrape

  var site: HTTPSite {
    let health = Health(parley)
    return HTTPSite(routes: [
      OperationRunner.route(.get, "/metrics") { [self] _, _, _ in
        let text = parley.metrics.exposition(await scrape.readings())
        return Response(
          status: .ok, headers: [.contentType: Metrics.mediaType, .cacheControl: "no-store"],
          body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
      },
      OperationRunner.route(.get, "/healthz") { _, _, _ in
        try await health.checkWorking()
        return Self.ok
      },
      OperationRunner.route(.get, "/readyz") { _, _, _ in
        try await health.checkReady()
        return Self.ok
      },
    ])
  }

  private static var ok: Response { OperationRunner.response(200, Array(#"{"status":"ok"}"#.utf8)) }
}
