/** Input of the server properties of one node. */
export interface KafkaNodeLayout {
  readonly id: number
  readonly clientPort: number
  readonly controllerPort: number
  /** Ports of the SASL listener and, with a key store, of the TLS listener. */
  readonly saslPort: number
  readonly logFolder: string
}

/** A listener behind a proxy. */
export interface ProxiedListener {
  readonly port: number
  readonly advertisedPort: number
}

/** Users of the SASL listener, and additional properties of the broker. */
export interface KafkaSettings {
  /** Passwords by user, for PLAIN. `kafka-configs` creates SCRAM users. */
  readonly plainUsers?: Readonly<Record<string, string>>
  /** PKCS12 key store for a listener with TLS, and its password. */
  readonly keyStore?: { readonly path: string; readonly password: string }
  /**
   * Another plain listener of each node at `port`, in the order of the nodes. The broker advertises it at
   * `advertisedPort`, which is a proxy.
   */
  readonly proxied?: readonly ProxiedListener[]
  /** More plain listeners of the first node, each behind a proxy of its own: the line of one client. */
  readonly lines?: readonly ProxiedListener[]
  /** Server properties that are added or replaced. */
  readonly properties?: Readonly<Record<string, string>>
}

/** The lines of `server.properties` of a node that is broker and controller. */
export function kafkaProperties(
  node: KafkaNodeLayout,
  nodes: readonly KafkaNodeLayout[],
  settings: KafkaSettings,
): string {
  const replicas = String(Math.min(nodes.length, 3))
  const inSync = nodes.length < 3 ? '1' : '2'
  const properties: Record<string, string> = {
    'process.roles': 'broker,controller',
    'node.id': String(node.id),
    'controller.quorum.voters': nodes
      .map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`)
      .join(','),
    ...listeners(node, settings),
    'log.dirs': node.logFolder,
    'num.partitions': '4',
    'auto.create.topics.enable': 'false',
    'default.replication.factor': replicas,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.replication.factor': replicas,
    'share.coordinator.state.topic.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.min.isr': inSync,
    'min.insync.replicas': inSync,
    // Fewer internal partitions than the default 50 make the start faster.
    'offsets.topic.num.partitions': '3',
    'transaction.state.log.num.partitions': '3',
    'group.initial.rebalance.delay.ms': '0',
    'transaction.max.timeout.ms': '3600000',
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': '1000',
    'log.segment.bytes': '268435456',
    // Tests write records with timestamps of 1970, which retention would delete after half a minute.
    'log.retention.ms': '-1',
    'log.cleaner.dedupe.buffer.size': '4194304',
    'log.cleaner.threads': '1',
    'log.cleaner.backoff.ms': '200',
    'num.network.threads': '2',
    'num.io.threads': '4',
    'background.threads': '2',
    'broker.heartbeat.interval.ms': '500',
    'broker.session.timeout.ms': '1500',
    ...settings.properties,
  }
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

function listeners(node: KafkaNodeLayout, settings: KafkaSettings): Record<string, string> {
  const open = [`PLAINTEXT://127.0.0.1:${node.clientPort}`]
  const protocols = ['PLAINTEXT:PLAINTEXT', 'CONTROLLER:PLAINTEXT']
  const more: Record<string, string> = {}
  if (settings.plainUsers !== undefined) {
    const protocol = settings.keyStore === undefined ? 'SASL_PLAINTEXT' : 'SASL_SSL'
    open.push(`SASL://127.0.0.1:${node.saslPort}`)
    protocols.push(`SASL:${protocol}`)
    more['listener.name.sasl.sasl.enabled.mechanisms'] = 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512'
    const users = Object.entries(settings.plainUsers)
      .map(([user, password]) => ` user_${user}="${password}"`)
      .join('')
    const modules = 'org.apache.kafka.common.security'
    more['listener.name.sasl.plain.sasl.jaas.config'] =
      `${modules}.plain.PlainLoginModule required${users};`
    for (const bits of ['256', '512']) {
      more[`listener.name.sasl.scram-sha-${bits}.sasl.jaas.config`] =
        `${modules}.scram.ScramLoginModule required;`
    }
  }
  if (settings.keyStore !== undefined) {
    more['listener.name.sasl.ssl.keystore.type'] = 'PKCS12'
    more['listener.name.sasl.ssl.keystore.location'] = settings.keyStore.path
    more['listener.name.sasl.ssl.keystore.password'] = settings.keyStore.password
    more['listener.name.sasl.ssl.key.password'] = settings.keyStore.password
  }
  const advertised = [...open]
  const proxied = settings.proxied?.[node.id - 1]
  if (proxied !== undefined) {
    open.push(`PROXIED://127.0.0.1:${proxied.port}`)
    advertised.push(`PROXIED://127.0.0.1:${proxied.advertisedPort}`)
    protocols.push('PROXIED:PLAINTEXT')
  }
  const lines = node.id === 1 ? (settings.lines ?? []) : []
  for (const [index, { port, advertisedPort }] of lines.entries()) {
    open.push(`LINE${index}://127.0.0.1:${port}`)
    advertised.push(`LINE${index}://127.0.0.1:${advertisedPort}`)
    protocols.push(`LINE${index}:PLAINTEXT`)
  }
  return {
    listeners: [...open, `CONTROLLER://127.0.0.1:${node.controllerPort}`].join(','),
    'advertised.listeners': advertised.join(','),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': protocols.join(','),
    ...more,
  }
}
