/// The time series of a metric: one for each case, so that there are never more than are written here. A label never has
/// a user, a domain or anything else that others choose as its value.
///
///     enum Door: Int, Series {
///       case xmpp, app
///       static let labels = ["door"]
///     }
public protocol Series: RawRepresentable<Int>, CaseIterable, Hashable, Sendable {
  /// The names of the labels.
  static var labels: [String] { get }
  /// The values of the labels, in the order of `labels`. By default the name of the case, for one label.
  var values: [String] { get }
}

extension Series {
  public var values: [String] { ["\(self)"] }
}

/// The one series of a metric without labels.
public enum Single: Int, Series {
  case only
  public static let labels: [String] = []
  public var values: [String] { [] }
}

/// The series of a metric with the labels of two others. Computing its number takes longer than for an enumeration:
/// use it where nothing happens once per message.
public struct Both<First: Series, Second: Series>: Series {
  public let first: First
  public let second: Second

  public init(_ first: First, _ second: Second) {
    self.first = first
    self.second = second
  }

  public init?(rawValue: Int) {
    let count = Second.allCases.count
    guard let first = First(rawValue: rawValue / count), let second = Second(rawValue: rawValue % count) else {
      return nil
    }
    self.init(first, second)
  }

  public var rawValue: Int { first.rawValue * Second.allCases.count + second.rawValue }
  public static var allCases: [Self] { First.allCases.flatMap { first in Second.allCases.map { Self(first, $0) } } }
  public static var labels: [String] { First.labels + Second.labels }
  public var values: [String] { first.values + second.values }
}
