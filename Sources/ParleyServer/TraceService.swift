import Logging
import ServerConfiguration
import ServerMetrics
import ServiceLifecycle
import TraceExport
import WebClient

/// Sends the spans of the server to the collector of `tracing.endpoint`.
struct TraceService: Service {
  let exporter: TraceExporter
  let client: WebClient

  static func exporter(_ settings: Settings, _ metrics: Metrics, _ logger: Logger) -> TraceExporter? {
    settings.tracing.map {
      TraceExporter(
        .init(url: $0.url, ratio: $0.ratio, service: $0.serviceName, version: Version.number), metrics: metrics,
        logger: logger)
    }
  }

  func run() async throws {
    await cancelWhenGracefulShutdown { await exporter.run(by: client) }
    // The service's own task may be cancelled, and then sends nothing.
    await Task { await exporter.finish(by: client) }.value
  }
}
