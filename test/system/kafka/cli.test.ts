import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KafkaClientOptions } from '../../../src/connectors/kafka/client/options.ts'
import { deleteKafkaTopic } from '../../../src/connectors/kafka/client/topics.ts'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { messageOf } from '../../../src/core/errors.ts'
import { topicStoreContract } from '../../contracts/topic-store.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { jsonLines, npmStart, weir } from '../cli/command-process.ts'
import { checkLoop, LOOP_SIZE, writeLoopRatings } from '../cli/quickstart-loop-fixture.ts'
import { openCluster } from './fixture.ts'
import { grantedRights } from './granted-rights.ts'
import { leaveTransactionOpen } from './open-transaction.ts'
import { type Outcome, runVerb } from './run-verb.ts'

/** Environment with the password of the user `eve`. */
const EVE = { WEIR_SASL_PASSWORD: 'eve-secret' }
/** Short training, for tests of other features. */
const QUICK = ['--factors', '4', '--iterations', '2', '--threads', '0']

let broker: SharedKafka
let folder: string
let authority: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-kafka-cli-'))
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

describe('a Kafka', () => {
  topicStoreContract('It', () => openTopics({ kafka: { brokers: broker.bootstrap } }))

  it('distinguishes a topic from a later one of the same name', async () => {
    await using topics = await openTopics({ kafka: { brokers: broker.bootstrap } })
    await topics.create('reborn', { partitions: 1 })
    const before = await topics.identity('reborn')
    expect(before.id).toMatch(/^[0-9a-f-]{36}$/)
    expect(before.cluster).toMatch(/^[\w-]{22}$/)
    expect(await topics.identity('reborn')).toEqual(before)
    await deleteKafkaTopic(openCluster({ brokers: broker.bootstrap }), 'reborn')
    await expect.poll(() => topics.has('reborn')).toBe(false)
    await topics.create('reborn', { partitions: 1 })
    expect((await topics.identity('reborn')).id).not.toBe(before.id)
  })
})

describe('weir topic --brokers', () => {
  it('creates, fills, reads and lists a topic', async () => {
    const created = await ask('topic', 'create', 'notes', '--partitions', '1', '--json')
    expect(created.json()).toMatchObject([{ topic: 'notes', partitions: 1, replicationFactor: 1 }])
    const produce = weir(
      ['topic', 'produce', 'notes', '--key-separator', ':', '--brokers', broker.bootstrap],
      { cwd: folder },
    ).input('a:one\nb:two\n')
    expect(await produce.ended).toMatchObject({ code: 0, stdout: 'appended 2 records to notes\n' })
    expect((await ask('topic', 'consume', 'notes')).out).toBe('0:0  a  one\n0:1  b  two')
    const first = await ask('topic', 'consume', 'notes', '--limit', '1', '--json')
    expect(first.json()).toMatchObject([{ partition: 0, offset: 0, key: 'a', value: 'one' }])
    const { out } = await ask('topic', 'list')
    expect(out).toMatch(/^notes +1 x 1 partitions, delete, offsets 0\.\.2$/m)
  })

  it('refuses a model whose deltas are compacted, and warns about retention', async () => {
    await ask('topic', 'create', 'worn', '--partitions', '1')
    await ask('topic', 'create', 'worn-deltas', '--partitions', '1', '--cleanup', 'compact')
    const rows = join(folder, 'worn.txt')
    writeFileSync(rows, '1,U,0.5;0.5\n2,I,0.5;0.5\n')
    const load = await ask('model', 'load', rows, '--topic', 'worn')
    expect(load).toMatchObject({ code: 1 })
    expect(load.err).toMatch(/TOPIC_EXISTS: topic "worn-deltas" is compacted/)
  })

  it('creates the two topics of a model, one compacted, one never', async () => {
    const { json } = await ask('topic', 'create', 'films', '--model', '--partitions', '2', '--json')
    expect(json()).toMatchObject([
      { topic: 'films', partitions: 2, cleanupPolicy: 'compact' },
      { topic: 'films-deltas', partitions: 2, cleanupPolicy: 'delete', retentionMs: -1 },
    ])
    const again = await ask('topic', 'create', 'films', '--model')
    expect(again).toMatchObject({ code: 1 })
    expect(again.err).toMatch(/TOPIC_EXISTS: the topics of model "films" already exist/)
    const mixed = await ask('topic', 'create', 'more', '--model', '--cleanup', 'delete')
    expect(mixed).toMatchObject({ code: 2 })
  })

  it('says what to do when a topic exists, cannot be created, or is missing', async () => {
    await ask('topic', 'create', 'taken')
    const exists = await ask('topic', 'create', 'taken')
    expect(exists.err).toMatch(/TOPIC_EXISTS: .*"taken".* take another name/)
    const copies = await ask('topic', 'create', 'wide', '--replication-factor', '3')
    expect(copies.err).toMatch(/UNSUPPORTED: .*INVALID_REPLICATION_FACTOR.* check its name/)
    const missing = await ask('topic', 'consume', 'nothing')
    expect(missing.err).toMatch(
      /UNKNOWN_TOPIC: topic "nothing" does not exist; create it with weir topic create/,
    )
  })

  it('reports that no broker answers, and that an address is invalid', async () => {
    const nobody = await runVerb(['topic', 'list', '--brokers', '127.0.0.1:1'])
    expect(nobody).toMatchObject({ code: 1, out: '' })
    expect(nobody.err).toMatch(/CONNECTOR_FAILED: .*ECONNREFUSED.*check the brokers' addresses/)
    expect(await runVerb(['topic', 'list', '--brokers', 'kafka'])).toMatchObject({ code: 2 })
  })
})

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
  await using topics = await openTopics({ kafka: { ...kafka, deliveryTimeoutMs: 5_000 } })
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
    writeFileSync(password, 'ada-secret\n')
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
      .poll(async () => (await runVerb([...load, ...as('eve')], EVE)).err, { timeout: 60_000 })
      .toMatch(/^(loading .*)?$/)
    const listed = await runVerb(['topic', 'list', ...as('eve')], EVE)
    expect(listed).toMatchObject({ code: 0, err: '' })
    expect(listed.out).toMatch(
      /^eve-model +1 x 1 partitions, cleanup policy unknown, offsets 0\.\.[1-9]/m,
    )
    expect(listed.out.split('\n')).toHaveLength(2)
  })
})

describe('weir kafka transactions', () => {
  it('lists those that stay open, and commits or aborts exactly one', async () => {
    await ask('topic', 'create', 'ledger', '--partitions', '1')
    for (const id of ['job/a', 'job/b', 'other']) {
      await leaveTransactionOpen(broker.bootstrap, 'ledger', id)
    }
    const list = async (): Promise<Record<string, unknown>[]> =>
      (await ask('kafka', 'transactions', 'list', '--prefix', 'job/', '--json')).json()
    const open = await list()
    expect(open.map(({ transactionalId }) => transactionalId)).toEqual(['job/a', 'job/b'])
    expect(open[0]).toMatchObject({
      state: 'Ongoing',
      partitions: ['ledger/0'],
      timeoutMs: 600_000,
    })
    expect(open[0]!['ageMs']).toBeLessThan(60_000)
    const { producerId, epoch } = open[0]!
    const stale = await ask('kafka', 'transactions', 'commit', 'job/a', '--epoch', '9')
    expect(stale.err).toMatch(/INVALID_TRANSACTION: .*which differ from the flags/)
    const meant = ['--producer-id', String(producerId), '--epoch', String(epoch)]
    const committed = await ask('kafka', 'transactions', 'commit', 'job/a', ...meant, '--json')
    expect(committed.json()).toMatchObject([{ transactionalId: 'job/a', state: 'committed' }])
    expect((await list()).map(({ transactionalId }) => transactionalId)).toEqual(['job/b'])
    expect(await ask('kafka', 'transactions', 'abort', 'job/b')).toMatchObject({ code: 0 })
    expect(await ask('kafka', 'transactions', 'abort', 'other')).toMatchObject({ code: 0 })
    await expect
      .poll(async () => (await ask('topic', 'consume', 'ledger')).out)
      .toBe('0:0  job/a  v')
  })

  it('rejects a transaction that is not open, and needs brokers', async () => {
    const unknown = await ask('kafka', 'transactions', 'commit', 'nobody')
    expect(unknown.err).toMatch(/INVALID_TRANSACTION: unknown transactional id "nobody"/)
    await ask('topic', 'create', 'ended', '--partitions', '1')
    await leaveTransactionOpen(broker.bootstrap, 'ended', 'ended/a')
    expect(await ask('kafka', 'transactions', 'commit', 'ended/a')).toMatchObject({ code: 0 })
    const ended = await ask('kafka', 'transactions', 'abort', 'ended/a')
    expect(ended.err).toMatch(/INVALID_TRANSACTION: .*is not open; its state is CompleteCommit/)
    expect(await runVerb(['kafka', 'transactions', 'list'])).toMatchObject({ code: 2 })
  })
})

describe('a model on Kafka', () => {
  it('is trained, served, queried, and followed by a version that is loaded', async () => {
    const ratings = join(folder, 'u.data')
    await runVerb([
      'generate',
      'ratings',
      ...['--users', '80', '--items', '40'],
      '--output',
      ratings,
    ])
    const trained = await ask(
      ...['train', 'als', '--ratings', ratings, '--topic', 'm', '--no-biases', '--json'],
      ...QUICK,
    )
    expect(trained.json()).toMatchObject([{ topic: 'm', version: 1, items: 40 }])
    await using served = weir([
      ...['run', 'als-serving', '--topic', 'm', '--brokers', broker.bootstrap, '--port', '0'],
      ...['--data-dir', join(folder, 'served'), '--json'],
    ])
    const port = (await served.printed(/"started","port":(\d+)/))[1]!
    await served.printed(/"event":"live","version":1/)
    const rows = join(folder, 'rows.txt')
    writeFileSync(rows, '1,U,1;0;0;0\n1,I,2.5;0;0;0\n')
    const loaded = await ask('model', 'load', rows, '--topic', 'm', '--json')
    expect(loaded.json()).toMatchObject([{ version: 2, users: 1, items: 1, dimension: 4 }])
    const promote = ['model', 'promote', '2', '--model', 'm', '--force', 'a test', '--json']
    expect((await ask(...promote)).json()).toMatchObject([{ live: 2, before: 1, served: true }])
    await served.printed(/"event":"live","version":2,"users":1,"items":1/)
    const asked = await runVerb(['predict', '1', '1', '--port', port, '--json'])
    expect(asked.json()).toMatchObject([{ score: 2.5, modelVersion: 2 }])
  })

  it('is served from text rows without keys, whose length is that of floats, too', async () => {
    await ask('topic', 'create', 'texts', '--partitions', '2')
    await using topics = await openTopics({ kafka: { brokers: broker.bootstrap } })
    const producer = await topics.producer('texts')
    for (const line of ['1,U,0.5;1.5;2;-1', '1,I,1.5;2;0.5;0']) {
      producer.sendRecord(null, Buffer.from(line), Date.now(), -1, [])
    }
    await producer.sync()
    await producer.close()
    await using served = weir([
      ...['run', 'als-serving', '--topic', 'texts', '--brokers', broker.bootstrap, '--port', '0'],
      ...['--data-dir', join(folder, 'texts'), '--json'],
    ])
    const port = (await served.printed(/"started","port":(\d+)/))[1]!
    const asked = ['predict', '1', '1', '--version', '1', '--port', port, '--json']
    await expect
      .poll(async () => (await runVerb(asked)).json(), { timeout: 60_000 })
      .toMatchObject([{ score: 0.5 * 1.5 + 1.5 * 2 + 2 * 0.5, modelVersion: 1 }])
    const weights = ['7,2.5', 'bias,0.25']
    await ask('topic', 'create', 'weights', '--partitions', '1')
    const linear = await topics.producer('weights')
    for (const line of weights) linear.sendRecord(null, Buffer.from(line), Date.now(), 0, [])
    await linear.sync()
    await linear.close()
    await using classifier = weir([
      ...['run', 'svm-serving', '--topic', 'weights', '--brokers', broker.bootstrap, '--port', '0'],
      ...['--data-dir', join(folder, 'weights'), '--dimension', '16', '--json'],
    ])
    const at = (await classifier.printed(/"started","port":(\d+)/))[1]!
    const classify = ['classify', '7:1', '--version', '1', '--port', at, '--json']
    await expect
      .poll(async () => (await runVerb(classify)).json(), { timeout: 60_000 })
      .toMatchObject([{ decision: 2.75 }])
  })

  it('is rejected when there is no such topic', async () => {
    const { code, err } = await ask('run', 'als-serving', '--topic', 'none', '--data-dir', folder)
    expect(code).toBe(1)
    expect(err).toMatch(/UNKNOWN_TOPIC: there is no model topic "none" in Kafka at .*; publish one/)
  })
})

describe('npm start -- --brokers', () => {
  async function once(more = ['--no-loop']): Promise<Record<string, unknown>> {
    const args = ['--once', '--json', '--data-dir', join(folder, 'quickstart'), ...more]
    await using process = npmStart([...args, '--brokers', broker.bootstrap])
    const { code, stdout, stderr } = await process.ended
    expect({ code, stderr }).toMatchObject({ code: 0 })
    return { ...jsonLines(stdout).at(-1)!, told: stderr }
  }

  it('feeds, trains, serves and evaluates on Kafka, and finds everything again after a restart', async () => {
    const first = await once()
    expect(first).toMatchObject({ version: 1, trained: true, restoredCheckpoint: 0, users: 2000 })
    expect(first['told']).toContain('179,702 ratings written to topic ratings of Kafka')
    expect(first['rmse']).toBeLessThan(0.75)
    const second = await once()
    expect(second).toMatchObject({ version: 1, trained: false, users: 2000, items: 800 })
    expect(second['restoredCheckpoint']).toBeGreaterThan(0)
    expect(second['rmse']).toBe(first['rmse'])
    const lag = (await ask('topic', 'list', '--json')).json()
    const sizes = lag.find(({ topic }) => topic === 'ratings')!['offsets'] as { end: number }[]
    // Once, with one marker of the transaction in each partition.
    expect(sizes.reduce((sum, { end }) => sum + end, 0)).toBe(179_702 + 4)
  })

  it('learns, detects a drift, retrains, promotes and rolls back on Kafka', async () => {
    const topics = ['--topic', 'loop-model', '--ratings-topic', 'loop-ratings']
    const ratings = ['--ratings', writeLoopRatings(folder), '--observations', 'loop-observations']
    checkLoop(await once([...topics, ...ratings, ...LOOP_SIZE]))
  })

  it('continues the loop after SIGKILL, with the ratings that it had streamed', async () => {
    const data = join(folder, 'killed')
    const topics = ['--topic', 'killed-model', '--ratings-topic', 'killed-ratings']
    const ratings = ['--ratings', writeLoopRatings(folder), '--observations', 'killed-observations']
    const args = [...topics, ...ratings, ...LOOP_SIZE, '--data-dir', data]
    const process = npmStart([...args, '--port', '0', '--brokers', broker.bootstrap])
    await process.printed(/ratings: RMSE/)
    process.signal('SIGKILL')
    await process.ended
    const { loop } = (await once(args)) as { loop: Record<string, unknown> }
    expect(loop).toMatchObject({ ran: true, rolledBackTo: 1, liveVersion: 2, failedRequests: 0 })
  })
})

describe('weir doctor --brokers', () => {
  it('lists the topics of a broker, and says why it cannot', async () => {
    const data = ['--data-dir', join(folder, 'doctor'), '--json']
    const works = await ask('doctor', ...data)
    expect(works.json()).toContainEqual(expect.objectContaining({ check: 'kafka', verdict: 'ok' }))
    const stranger = await runVerb(['doctor', ...as('ada'), ...data], {
      WEIR_SASL_PASSWORD: 'wrong',
    })
    expect(stranger.code).toBe(1)
    const [finding] = stranger.json().filter(({ check }) => check === 'kafka')
    expect(finding).toMatchObject({
      verdict: 'problem',
      found: expect.stringMatching(/password|auth/i),
    })
  })
})
