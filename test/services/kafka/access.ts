/** A running Kafka for tests: where it listens, and its own tools. */
export interface KafkaAccess {
  /** `host:port` of every node, joined by commas. */
  readonly bootstrap: string
  /** `host:port` of the listener with SASL of the first node. */
  readonly saslBootstrap: string
  /**
   * Runs one of Kafka's tools and returns its output; `input` is its standard input. This method adds
   * `--bootstrap-server`.
   */
  tool(mainClass: string, args: readonly string[], input?: string): Promise<string>
}
