import Accounts
import Basics
import Dialogs
import HTTPPort
import NIOCore

/// The commands of calls over a WebSocket.
extension AppSession {
  /// Moves a call, in order with the session's other commands.
  func signalCall(_ frame: CommandFrame, _ session: OpenSession) throws(Problem) {
    let input = try input(CallSignalInput.self, frame)
    try door.limiters.signals.take(session.caller.user.id, now: parley.clock.now)
    let intent = try SignalCall.intent(input, by: session.caller, parley)
    let loop = channel.eventLoop
    let bound = NIOLoopBound(self, eventLoop: loop)
    let completion = Post.Completion.callback { result in
      loop.execute {
        let me = bound.value
        guard let session = me.open else { return }
        me.signalled(result, re: frame.id, session)
        me.flush()
      }
    }
    let post = Post(author: session.caller.user, intent: intent, completion: completion, from: address)
    guard parley.submit(post) else { throw Problem.overloaded }
  }

  private func signalled(_ result: Result<Receipt, Problem>, re: String, _ session: OpenSession) {
    do throws(Problem) { accept(re, try session.rendering.call(result.get())) } catch { refuse(re, error) }
  }

  func tellCall(_ signal: CallSignal, _ session: OpenSession) {
    tell(.callSignal, session.rendering.signal(signal))
  }
}
