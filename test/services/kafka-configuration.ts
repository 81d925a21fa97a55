/** What the server properties of one node are made of. */
export interface KafkaNodeLayout {
  readonly id: number
  readonly clientPort: number
  readonly controllerPort: number
  /** Port of the listener with SASL and, where a key store is given, of the one with TLS. */
  readonly saslPort: number
  readonly logFolder: string
}

/** Users of the SASL listener and what the broker's properties add. */
export interface KafkaSettings {
  /** User to password, for PLAIN; SCRAM users are made with `kafka-configs`. */
  readonly plainUsers?: Readonly<Record<string, string>>
  /** PKCS12 key store for a listener with TLS, and its password. */
  readonly keyStore?: { readonly path: string; readonly password: string }
  /**
   * One more plain listener of the first node, at `port`, of which clients are told that it is at
   * `advertisedPort`: a proxy stands there.
   */
  readonly proxied?: { readonly port: number; readonly advertisedPort: number }
  /** More or other server properties. */
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
    // Tests write records of 1970, which retention would take away after half a minute.
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
  if (settings.proxied !== undefined && node.id === 1) {
    open.push(`PROXIED://127.0.0.1:${settings.proxied.port}`)
    advertised.push(`PROXIED://127.0.0.1:${settings.proxied.advertisedPort}`)
    protocols.push('PROXIED:PLAINTEXT')
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
