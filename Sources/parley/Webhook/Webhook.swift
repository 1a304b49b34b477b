import ArgumentParser

struct Webhook: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Webhooks: URLs of your backend that receive events.",
    discussion: """
      Examples:
        parley webhook add http://127.0.0.1:9000/hook --event 'message.*'
        parley webhook list
        parley webhook test 4711
        parley webhook failures 4711 --again
        parley webhook remove 4711
      """,
    subcommands: [
      WebhookAdd.self, WebhookList.self, WebhookTest.self, WebhookFailures.self, WebhookEnable.self,
      WebhookRotate.self, WebhookRemove.self,
    ])
}
