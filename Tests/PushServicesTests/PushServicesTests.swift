import Testing

@testable import PushServices
