import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deleteKafkaTopic } from '../../../src/connectors/kafka/client/topics.ts'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { topicStoreContract } from '../../contracts/topic-store.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { jsonLines, weir } from '../cli/command-process.ts'
import { checkLoop, LOOP_SIZE, writeLoopRatings } from '../cli/quickstart-loop-fixture.ts'
import { openCluster } from './fixture.ts'
import { leaveTransactionOpen } from './open-transaction.ts'
import { type Outcome, runVerb } from './run-verb.ts'

/** Of tests that are alike, the short part has one, by the seed: another one than on the embedded log. */
const isChosen = (n: number): boolean => campaignSize(commitSeed() % 2 !== n, true)

/** Short training, for tests of other features. */
const QUICK = ['--factors', '4', '--iterations', '2', '--threads', '0']

let broker: SharedKafka
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-kafka-cli-'))
  broker = await sharedKafka()
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a verb on the open listener. */
function ask(...argv: string[]): Promise<Outcome> {
  return runVerb([...argv, '--brokers', broker.bootstrap])
}

/** A file of ratings that are generated. */
async function generated(sizes: Readonly<Record<string, number>>): Promise<string> {
  const file = join(folder, `${Object.values(sizes).join('-')}.data`)
  const flags = Object.entries(sizes).flatMap(([name, size]) => [`--${name}`, String(size)])
  await runVerb(['generate', 'ratings', ...flags, '--output', file])
  return file
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
    expect(copies.err).toMatch(/INVALID_ARGUMENT: .*INVALID_REPLICATION_FACTOR.*only 1 broker/)
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
    const ratings = await generated({ users: 80, items: 40 })
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
    // Whether the server was within the 5 s of "served" is not asked: it has more time on a busy machine.
    expect((await ask(...promote)).json()).toMatchObject([{ live: 2, before: 1 }])
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
      .poll(async () => (await runVerb(asked)).json())
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
      .poll(async () => (await runVerb(classify)).json())
      .toMatchObject([{ decision: 2.75 }])
  })

  it('is rejected when there is no such topic', async () => {
    const { code, err } = await ask('run', 'als-serving', '--topic', 'none', '--data-dir', folder)
    expect(code).toBe(1)
    expect(err).toMatch(/UNKNOWN_TOPIC: there is no model topic "none" in Kafka at .*; publish one/)
  })
})

describe('npm start -- --brokers', () => {
  async function once(more: readonly string[]): Promise<Record<string, unknown>> {
    const data = more.includes('--data-dir') ? [] : ['--data-dir', join(folder, 'quickstart')]
    const args = ['--once', '--json', ...data, ...more]
    const words = ['quickstart', ...args, '--brokers', broker.bootstrap]
    const { code, stdout, stderr } = await weir(words).ended
    expect(code, stderr).toBe(0)
    return { ...jsonLines(stdout).at(-1)!, told: stderr }
  }

  it('feeds, trains, serves and evaluates on Kafka, and finds everything again after a restart', async () => {
    const ratings = await generated({ users: 300, items: 120, ratings: 20_000 })
    const first = await once(['--no-loop', '--ratings', ratings])
    expect(first).toMatchObject({ version: 1, trained: true, restoredCheckpoint: 0 })
    const written = /([\d,]+) ratings written to topic ratings of Kafka/.exec(`${first['told']}`)
    const count = Number(written![1]!.replaceAll(',', ''))
    expect(count).toBeGreaterThan(15_000)
    expect(first['users']).toBeGreaterThan(290)
    expect(first['rmse']).toBeLessThan(0.9)
    const second = await once(['--no-loop', '--ratings', ratings])
    expect(second).toMatchObject({ version: 1, trained: false, users: first['users'] })
    expect(second['restoredCheckpoint']).toBeGreaterThan(0)
    expect(second['rmse']).toBe(first['rmse'])
    const lag = (await ask('topic', 'list', '--json')).json()
    const sizes = lag.find(({ topic }) => topic === 'ratings')!['offsets'] as { end: number }[]
    // Once, with one marker of the transaction in each partition.
    expect(sizes.reduce((sum, { end }) => sum + end, 0)).toBe(count + 4)
  })

  if (isChosen(0)) {
    it('learns, detects a drift, retrains, promotes and rolls back on Kafka', async () => {
      const topics = ['--topic', 'loop-model', '--ratings-topic', 'loop-ratings']
      const ratings = ['--ratings', writeLoopRatings(folder), '--observations', 'loop-observations']
      checkLoop(await once([...topics, ...ratings, ...LOOP_SIZE]))
    })
  }

  if (isChosen(1)) {
    it('continues the loop after SIGKILL, with the ratings that it had streamed', async () => {
      const data = join(folder, 'killed')
      const topics = ['--topic', 'killed-model', '--ratings-topic', 'killed-ratings']
      const observations = ['--observations', 'killed-observations']
      const ratings = ['--ratings', writeLoopRatings(folder), ...observations]
      const args = [...topics, ...ratings, ...LOOP_SIZE, '--data-dir', data]
      const words = ['quickstart', ...args, '--port', '0', '--brokers', broker.bootstrap]
      await using process = weir(words)
      await process.printed(/ratings: RMSE/)
      process.signal('SIGKILL')
      await process.ended
      const { loop } = (await once(args)) as { loop: Record<string, unknown> }
      expect(loop).toMatchObject({ ran: true, rolledBackTo: 1, liveVersion: 2, failedRequests: 0 })
    })
  }
})

describe('weir doctor --brokers', () => {
  it('lists the topics of a broker', async () => {
    const works = await ask('doctor', '--data-dir', join(folder, 'doctor'), '--json')
    expect(works.json()).toContainEqual(expect.objectContaining({ check: 'kafka', verdict: 'ok' }))
  })
})

describe('weir forget --brokers', () => {
  it('says where ratings stay, and that not all is erased, or deletes them with all before them', async () => {
    await using topics = await openTopics({ kafka: { brokers: broker.bootstrap } })
    const weekMs = 7 * 24 * 60 * 60 * 1000
    await topics.create('forget-ratings', { partitions: 1, retentionMs: weekMs })
    await topics.create('forget-model', { partitions: 1, cleanupPolicy: 'compact' })
    const producer = await topics.producer('forget-ratings')
    const [before, lines] = [Date.now(), ['4,1,1', '5,1,1', '6,1,1', '5,2,2', '6,2,2']]
    for (const line of lines) producer.sendRecord(null, Buffer.from(line), before, 0, [])
    await producer.sync()
    await producer.close()
    const words = ['forget', '--user', '5', '--model', 'forget-model']
    const forget = (...more: readonly string[]): Promise<Outcome> =>
      ask(...words, '--observations', 'forget-ratings', '--data-dir', folder, ...more)
    expect((await forget()).err).toContain('--on-kafka keep')
    const kept = await forget('--on-kafka', 'keep')
    expect(kept.code, kept.err).toBe(1)
    expect(kept.err).toContain('not all')
    const until = new Date(before + weekMs).toISOString()
    expect(kept.out).toContain(
      `  partition 0, offsets 1 to 3: 2 records, not removed before ${until}`,
    )
    expect((await forget('--prove')).code).toBe(1)
    const gone = await forget('--on-kafka', 'delete-before')
    expect(gone.code, gone.err).toBe(0)
    expect((await ask('topic', 'consume', 'forget-ratings')).out).toMatch(
      /^0:4 +- +6,2,2\n0:5 +5 +\(deleted\)\n0:6 +5 +\(deleted\)$/,
    )
    const proved = await forget('--prove')
    expect(proved.code, proved.out).toBe(0)
    expect(proved.out).toMatch(/^only-id +observations forget-ratings: 2 tombstones/m)
  })
})
