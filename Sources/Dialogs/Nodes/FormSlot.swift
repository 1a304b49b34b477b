import Synchronization

/// A place for one encoded form of a shared value: written once by whoever
/// needs it first, read by all others. Two writers at once both encode; one
/// result is kept. Bounded: at most one value per form.
public final class FormSlot: Sendable {
  public enum Kind: Sendable {
    case xmpp, app
    /// For apps of people who may not know who the others are.
    case anonymized
  }

  private let forms = Mutex<(xmpp: (any Sendable)?, app: (any Sendable)?, anonymized: (any Sendable)?)>((nil, nil, nil))

  public init() {}

  public func form<Form: Sendable>(for kind: Kind, _ encode: () -> Form) -> Form {
    let kept = forms.withLock {
      switch kind {
      case .xmpp: $0.xmpp
      case .app: $0.app
      case .anonymized: $0.anonymized
      }
    }
    if let form = kept as? Form { return form }
    let form = encode()
    forms.withLock {
      switch kind {
      case .xmpp: $0.xmpp = form
      case .app: $0.app = form
      case .anonymized: $0.anonymized = form
      }
    }
    return form
  }
}
