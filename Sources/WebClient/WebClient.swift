public import Basics
import CCurl
import Glibc
public import Logging
import Synchronization
public import Tracing

/// Sends HTTP requests to other servers (libcurl): push services, webhooks, issuers of identity tokens, S3.
///
/// One thread drives all transfers; callers wait for a callback or a task. Redirects are not followed. A client either
/// connects only to servers that the operator has named, or only to public addresses: connections are kept, so the two
/// never share one.
///
///     let client = WebClient(.anywhere, logger: logger)
///     let answer = try await client.send(WebRequest(.get, "https://example.org/keys"))
///     client.stop()
public final class WebClient: Sendable {
  public enum Reach: Sendable {
    /// The URLs of the configuration.
    case anywhere
    /// URLs that users gave. They are checked where the connection is made, so that a name cannot change its address
    /// meanwhile.
    case publicOnly(PublicAddresses)
  }

  private struct State {
    var arriving: [Transfer] = []
    var cancelled: [Transfer] = []
    var count = 0
    var isStopped = false
    /// The client's thread, until somebody waits for its end.
    var thread: Thread?
  }
  let reach: Reach
  /// A PEM file of authorities that are trusted besides the system's.
  let authorities: String?
  private let multi: Multi
  private let state = Mutex(State())
  /// The tracer of requests that are made within a span; nil for none.
  private let tracer: (any Tracer)?
  private let logger: Logger

  /// The libcurl handle: `curl_multi_wakeup` may be called from any thread, everything else by the client's own alone.
  private struct Multi: @unchecked Sendable { let handle: UnsafeMutableRawPointer }

  /// A `pthread_t` may be compared and joined from any thread.
  private struct Thread: @unchecked Sendable { let id: pthread_t }

  /// Whether libcurl was initialised, which must happen once, before any thread uses it.
  static let isBegun: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  public init(
    _ reach: Reach, authorities: String? = nil, tracer: (any Tracer)? = nil, logger: Logger
  ) {
    precondition(Self.isBegun, "libcurl does not start")
    guard let handle = curl_multi_init() else { preconditionFailure("out of memory") }
    self.reach = reach
    self.authorities = authorities
    self.tracer = tracer
    self.logger = logger
    multi = Multi(handle: handle)
    _ = parley_curl_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, WebLimits.connectionsMax)
    _ = parley_curl_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, WebLimits.connectionsPerHostMax)
    _ = parley_curl_multi_set_long(handle, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self)
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<WebClient>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    precondition(code == 0, "no thread for the web client")
    state.withLock { [thread = Thread(id: thread)] in $0.thread = thread }
  }

  /// Ends all transfers, and accepts no more. Returns when the client's connections are closed and its thread has ended: libcurl's
  /// TLS library frees what it has when the process exits, and must not be closing a connection then.
  public func stop() {
    let thread = state.withLock { state in
      defer { state.thread = nil }
      if !state.isStopped { curl_multi_wakeup(multi.handle) }
      state.isStopped = true
      return state.thread
    }
    guard let thread else { return }
    // The last reference to a client may be one of a completion, which its own thread runs.
    if pthread_equal(thread.id, pthread_self()) != 0 { pthread_detach(thread.id) } else { pthread_join(thread.id, nil) }
  }

  /// Sends a request. Returns the answer, whatever its status.
  public func send(_ request: WebRequest) async throws(WebFailure) -> WebAnswer {
    guard let tracer, let context = ServiceContext.current else { return try await run(transfer(request)).get() }
    let span = tracer.startSpan(request.method.rawValue, context: context, ofKind: .client)
    defer { span.end() }
    let result = await run(transfer(request.traced(by: tracer, in: span.context)))
    if span.isRecording { span.tell(result, of: request) }
    return try result.get()
  }

  /// Sends a request on a thread that may block.
  public func wait(_ request: WebRequest) throws(WebFailure) -> WebAnswer {
    let transfer = transfer(request)
    let done = Done()
    let outcome = Mutex<Result<WebAnswer, WebFailure>?>(nil)
    submit(transfer) { result in
      outcome.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    guard let result = outcome.withLock({ $0 }) else { throw .cancelled }
    return try result.get()
  }

  private func transfer(_ request: WebRequest) -> Transfer {
    if case .publicOnly(let addresses) = reach {
      return Transfer(request, addresses: addresses, authorities: authorities)
    }
    return Transfer(request, addresses: nil, authorities: authorities)
  }

  private func run(_ transfer: Transfer) async -> Result<WebAnswer, WebFailure> {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        submit(transfer) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      state.withLock { state in
        // The thread of a stopped client ends its transfers itself, and the handle with them.
        guard !state.isStopped else { return }
        state.cancelled.append(transfer)
        curl_multi_wakeup(multi.handle)
      }
    }
  }

  /// Submits a transfer.
  ///
  /// - Parameter completion: called once: on the client's thread, or here if the transfer cannot begin.
  private func submit(
    _ transfer: Transfer, _ completion: @escaping @Sendable (Result<WebAnswer, WebFailure>) -> Void
  ) {
    transfer.completion = completion
    let refusal: WebFailure? = state.withLock { state in
      if state.isStopped { return .cancelled }
      if state.count >= WebLimits.requestsMax { return WebFailure(.overloaded, "too many requests are under way") }
      state.count += 1
      state.arriving.append(transfer)
      curl_multi_wakeup(multi.handle)
      return nil
    }
    if let refusal { return completion(.failure(refusal)) }
  }

  // MARK: The thread

  private func run() {
    var running: [UnsafeMutableRawPointer: Transfer] = [:]
    while true {
      let (arriving, cancelled, isStopped) = state.withLock { state in
        defer { (state.arriving, state.cancelled) = ([], []) }
        return (state.arriving, state.cancelled, state.isStopped)
      }
      for transfer in cancelled {
        transfer.isCancelled = true
        guard let easy = transfer.easy, running.removeValue(forKey: easy) != nil else { continue }
        curl_multi_remove_handle(multi.handle, easy)
        end(transfer, .failure(.cancelled))
      }
      for transfer in arriving {
        // It may have been cancelled before it was submitted.
        if transfer.isCancelled {
          end(transfer, .failure(.cancelled))
          continue
        }
        do throws(WebFailure) {
          let easy = try transfer.begin()
          running[easy] = transfer
          curl_multi_add_handle(multi.handle, easy)
        } catch { end(transfer, .failure(error)) }
      }
      if isStopped {
        for (easy, transfer) in running {
          curl_multi_remove_handle(multi.handle, easy)
          end(transfer, .failure(.cancelled))
        }
        curl_multi_cleanup(multi.handle)
        return
      }
      var count: Int32 = 0
      curl_multi_perform(multi.handle, &count)
      var left: Int32 = 0
      while let message = curl_multi_info_read(multi.handle, &left) {
        guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
          let transfer = running.removeValue(forKey: easy)
        else { continue }
        let code = parley_curl_result(message)
        curl_multi_remove_handle(multi.handle, easy)
        end(transfer, transfer.result(code))
      }
      // Returns early when there is something to do.
      curl_multi_poll(multi.handle, nil, 0, 60_000, nil)
    }
  }

  private func end(_ transfer: Transfer, _ result: Result<WebAnswer, WebFailure>) {
    transfer.finish()
    state.withLock { $0.count -= 1 }
    transfer.completion?(result)
  }
}

/// A semaphore on which one thread waits once for another.
private final class Done: @unchecked Sendable {
  private var semaphore = sem_t()
  init() { sem_init(&semaphore, 0, 0) }
  deinit { sem_destroy(&semaphore) }
  func signal() { sem_post(&semaphore) }
  func wait() { while sem_wait(&semaphore) != 0 {} }
}
