import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KafkaClientOptions } from '../../../src/connectors/kafka/client/options.ts'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { messageOf } from '../../../src/core/errors.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { grantedRights } from './granted-rights.ts'
import { type Outcome, runVerb } from './run-verb.ts'

/** Environment with the password of the user `eve`. */
const EVE = { WEIR_SASL_PASSWORD: 'eve-secret' }

let broker: SharedKafka
let folder: string
let authority: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-kafka-cli-security-'))
  broker = await sharedKafka()
  authority = join(folder, 'ca.pem')
  writeFileSync(authority, broker.certificate)
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a verb on the open listener. */
function ask(...argv: string[]): Promise<Outcome> {
  return runVerb([...argv, '--brokers', broker.bootstrap])
}

/** Flags of a user with a password over TLS. */
function as(user: string): string[] {
  const sasl = ['--sasl-mechanism', 'PLAIN', '--sasl-username', user]
  return ['--brokers', broker.saslBootstrap, ...sasl, '--tls-ca', authority]
}

/** Connection of the user `bob`, for code. */
function bob(): KafkaClientOptions {
  return {
    brokers: broker.saslBootstrap,
    sasl: { mechanism: 'PLAIN', username: 'bob', password: 'bob-secret' },
    tls: { ca: readFileSync(authority) },
  }
}

/** Appends a record to the topic `secret`. */
async function write(kafka: KafkaClientOptions, transactionalId?: string): Promise<void> {
  await using topics = await openTopics({ kafka: { ...kafka, deliveryTimeoutMs: 60_000 } })
  const producer = await topics.producer('secret', transactionalId)
  try {
    producer.sendRecord(null, Buffer.from('x'), 0, 0, [])
    await producer.sync()
  } finally {
    await producer.close()
  }
}

describe('security flags', () => {
  it('let a user in over TLS with a password from a file or the environment', async () => {
    const password = join(folder, 'password')
    writeFileSync(password, 'ada-secret\n', { mode: 0o600 })
    await ask('topic', 'create', 'seen')
    const byFile = await runVerb(['topic', 'list', ...as('ada'), '--sasl-password-file', password])
    expect(byFile).toMatchObject({ code: 0, err: '' })
    expect(byFile.out).toMatch(/^seen /m)
    const byVariable = await runVerb(['topic', 'list', ...as('ada')], {
      WEIR_SASL_PASSWORD: 'ada-secret',
    })
    expect(byVariable).toMatchObject({ code: 0 })
  })

  it('can be in the configuration file too', async () => {
    const config = join(folder, 'secure.yaml')
    writeFileSync(
      config,
      `brokers: ${broker.saslBootstrap}
sasl-mechanism: PLAIN
sasl-username: ada
sasl-password: ada-secret
tls-ca: ${authority}
`,
    )
    await ask('topic', 'create', 'seen-by-file')
    const { code, out } = await runVerb(['topic', 'list', '--config', config, '--json'])
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('"seen-by-file"') })
  })

  it('accept SCRAM', async () => {
    await broker.tool('kafka.admin.ConfigCommand', [
      ...['--alter', '--entity-type', 'users', '--entity-name', 'ada'],
      ...['--add-config', 'SCRAM-SHA-512=[password=scram-secret]'],
    ])
    const words = as('ada').map((word) => (word === 'PLAIN' ? 'SCRAM-SHA-512' : word))
    const env = { WEIR_SASL_PASSWORD: 'scram-secret' }
    expect(await runVerb(['topic', 'list', ...words], env)).toMatchObject({ code: 0, err: '' })
  })

  it('reject a secret on the command line, and incomplete flags', async () => {
    const shown = await runVerb(['topic', 'list', ...as('ada'), '--sasl-password', 'ada-secret'])
    expect(shown).toMatchObject({ code: 2 })
    expect(shown.err).toContain('set WEIR_SASL_PASSWORD or use --sasl-password-file')
    const missing = await runVerb(['topic', 'list', ...as('ada')])
    expect(missing).toMatchObject({ code: 2 })
    expect(missing.err).toContain('--sasl-username needs a password')
  })

  it('lead to an error when the password is wrong or the user lacks the right', async () => {
    const wrong = await runVerb(['topic', 'list', ...as('ada')], { WEIR_SASL_PASSWORD: 'no' })
    expect(wrong).toMatchObject({ code: 1 })
    expect(wrong.err).toContain('UNAUTHENTICATED: ')
    const withoutTls = as('ada').filter((word) => word !== '--tls-ca' && word !== authority)
    const plain = await runVerb(['topic', 'list', ...withoutTls], {
      WEIR_SASL_PASSWORD: 'ada-secret',
    })
    expect(plain).toMatchObject({ code: 1 })
    expect(plain.err).toMatch(/CONNECTOR_FAILED: .* did not answer the login: .*--tls/)
    const noTls = await runVerb(['topic', 'list', '--brokers', broker.saslBootstrap])
    expect(noTls.err).toMatch(
      /speaks TLS, (and plain was asked for; )?ask for it with .*--tls-ca FILE/,
    )
    const tls = await runVerb(['topic', 'list', '--brokers', broker.bootstrap, '--tls'])
    expect(tls.err).toMatch(/if the listener speaks plain, leave out .*--tls/)
    const nothing = await runVerb(['topic', 'list', ...as('eve')], EVE)
    expect(nothing).toMatchObject({ code: 0, out: '' })
    expect(nothing.err).toMatch(/no topics in Kafka at .* that this user may see.*DESCRIBE/)
    const create = await runVerb(['topic', 'create', 'hers', ...as('eve')], EVE)
    expect(create.err).toMatch(/ACCESS_DENIED: .*User:eve needs CREATE on topic "hers"/)
  })

  it('lead, one by one, to the rights that a user needs, with the command that grants each', async () => {
    await ask('topic', 'create', 'secret', '--partitions', '1')
    await write({ brokers: broker.bootstrap })
    const env = { WEIR_SASL_PASSWORD: 'bob-secret' }
    const read = () => runVerb(['topic', 'consume', 'secret', ...as('bob')], env)
    expect(await grantedRights(broker, async () => (await read()).err)).toEqual([
      'Describe --topic secret',
      'Read --topic secret',
    ])
    const grants = await grantedRights(broker, () =>
      write(bob(), 'weir/test/1').then(() => '', messageOf),
    )
    expect(grants).toEqual([
      'Write --transactional-id weir/ --resource-pattern-type prefixed',
      'Write --topic secret',
    ])
  })
})

describe('a user with few rights', () => {
  it('publishes to topics that others created, and sees what the rights allow', async () => {
    await ask('topic', 'create', 'eve-model', '--model', '--partitions', '1')
    await broker.tool('org.apache.kafka.tools.AclCommand', [
      ...['--add', '--force', '--allow-principal', 'User:eve', '--operation', 'Read'],
      ...['--operation', 'Write', '--operation', 'Describe'],
      ...['--topic', 'eve-', '--resource-pattern-type', 'prefixed'],
    ])
    const rows = join(folder, 'eve.txt')
    writeFileSync(rows, '1,U,1;0\n1,I,2.5;0\n')
    const load = ['model', 'load', rows, '--topic', 'eve-model', '--json']
    await expect
      .poll(async () => (await runVerb([...load, ...as('eve')], EVE)).err)
      .toMatch(/^(loading .*)?$/)
    const listed = await runVerb(['topic', 'list', ...as('eve')], EVE)
    expect(listed).toMatchObject({ code: 0, err: '' })
    expect(listed.out).toMatch(
      /^eve-model +1 x 1 partitions, cleanup policy unknown, offsets 0\.\.[1-9]/m,
    )
    expect(listed.out.split('\n')).toHaveLength(2)
  })
})
it('weir doctor says why it cannot list the topics of a broker', async () => {
  const words = ['doctor', ...as('ada'), '--data-dir', join(folder, 'doctor'), '--json']
  const stranger = await runVerb(words, { WEIR_SASL_PASSWORD: 'wrong' })
  expect(stranger.code).toBe(1)
  const [finding] = stranger.json().filter(({ check }) => check === 'kafka')
  expect(finding).toMatchObject({
    verdict: 'problem',
    found: expect.stringMatching(/password|auth/i),
  })
})
