import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { checkLog } from '../../../src/connectors/log/check/log-check.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { Person } from '../../../src/jobs/erasure/person.ts'
import { isLeft, prove } from '../../../src/jobs/erasure/prove.ts'
import { ModelDeltaBuffer } from '../../../src/models/als/online/model-delta.ts'
import { rowPartition } from '../../../src/models/topic/row-partition.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { pause } from '../../run/pause.ts'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const PROCESS = new URL('./killed.process.ts', import.meta.url)
const USERS = 12
const RATINGS = 1800
const root = mkdtempSync(join(tmpdir(), 'weir-forget-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const TOPICS = {
  observations: { partitions: 3, segmentBytes: 3000 },
  golden: { partitions: 1, segmentBytes: 2000 },
  refused: { partitions: 1 },
  'als-model-deltas': { partitions: 3, segmentBytes: 5000 },
  'als-model': { partitions: 2, cleanupPolicy: 'compact', segmentBytes: 2000 },
} as const

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Topics of a model of several versions, with ratings and a delta of each. */
async function fill(topics: LogTopics): Promise<void> {
  for (const [topic, config] of Object.entries(TOPICS)) await topics.create(topic, config)
  const delta = new ModelDeltaBuffer('step', 4)
  await send(topics, 'observations', (i) => [`${i % USERS}`, `${i % USERS},${i % 40},4`, i % 3])
  await send(topics, 'golden', (i) => [null, `${i % USERS},${i % 7},3`, 0], 300)
  await send(topics, 'refused', (i) => [null, `${i % USERS},no rating`, 0], 60)
  await send(topics, 'als-model-deltas', (i) => {
    delta.setOrigin(i % USERS, i % 3, Math.floor(i / 3), 1)
    return [`${i % 40}-I@1`, delta.bytes.slice(), i % 3]
  })
  const rows = ['U', 'I'].flatMap((kind) => Array.from({ length: USERS }, (_, i) => `${i}-${kind}`))
  for (const version of [1, 2, 3]) {
    await send(
      topics,
      'als-model',
      (i) => [`${rows[i]!}@${version}`, '0123456789abcdef', rowPartition(rows[i]!, 2)],
      24,
    )
  }
}

async function send(
  topics: LogTopics,
  topic: string,
  make: (i: number) => [key: string | null, value: string | Uint8Array, partition: number],
  count = RATINGS,
): Promise<void> {
  const producer = await topics.producer(topic)
  for (let i = 0; i < count; i++) {
    const [key, value, partition] = make(i)
    const encoded = typeof value === 'string' ? bytes(value) : value
    producer.sendRecord(key === null ? null : bytes(key), encoded, 1000 + i, partition, [])
    if (i % 20 === 19) await producer.sync()
  }
  await producer.sync()
  await producer.close()
}

/** All records by place, each with whether it is of the person. Deltas are of it by the ratings that they come from. */
async function contentOf(topics: LogTopics, person: Person) {
  const others = new Map<string, string>()
  const own = new Set<string>()
  for (const topic of Object.keys(TOPICS)) {
    await topics.stored.visit(topic, {
      record(record, partition) {
        const place = `${topic}/${partition}/${record.offset}`
        const hex = [record.key(), record.value()].map((each) => Buffer.from(each ?? 'null'))
        const text = `${hex[0]!.toString('hex')} ${hex[1]!.toString('hex')} ${record.timestamp}`
        const isDelta = topic === 'als-model-deltas'
        const isOwn = isDelta
          ? hex[1]!.readUInt16LE(2) === Number(person.user)
          : person.rowIn(record) !== undefined ||
            person.hasRated(record) ||
            person.isForgottenIn(record)
        if (isOwn) own.add(place)
        else others.set(place, text)
      },
    })
  }
  return { others, own }
}

/** Runs the process and kills it after some time, if it lives so long; returns whether it was done. */
async function forgetAndKill(directory: string, user: string, afterMs: number): Promise<boolean> {
  const child = fork(PROCESS, [directory, user], {
    execArgv: [BUILT_MODULES_FLAG],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  let isDone = false
  child.on('message', (message) => {
    isDone ||= message === 'done'
  })
  const exit = once(child, 'exit')
  await Promise.race([once(child, 'message'), exit])
  await Promise.race([pause(afterMs, 'a random moment of a kill'), exit])
  child.kill('SIGKILL')
  const [code] = await exit
  expect(code === 0 || code === null, errors).toBe(true)
  return isDone
}

it('erases everything of a person and nothing of anyone else, wherever it is killed and goes on', async () => {
  const seed = commitSeed()
  const random = seededRandom(seed)
  const directory = join(root, 'log')
  await using topics = new LogTopics(directory)
  await fill(topics)
  await topics[Symbol.asyncDispose]()
  let kills = 0
  for (const user of ['3', '7', '11'].slice(0, campaignSize(2, 3))) {
    const person = new Person(user)
    const { others, own } = await contentOf(topics, person)
    expect(own.size).toBeGreaterThan(2 * (RATINGS / USERS))
    for (let isDone = false; !isDone; ) {
      // Later tries get more time, so that each comes to its end.
      isDone = await forgetAndKill(directory, user, random.below(100 * 2 ** Math.min(kills, 10)))
      if (!isDone) kills++
      const now = await contentOf(topics, person)
      const lost = [...others].filter(([place, text]) => now.others.get(place) !== text)
      expect(lost, `WEIR_SEED=${seed}, after ${kills} kills`).toEqual([])
      expect(now.others.size, `WEIR_SEED=${seed}`).toBe(others.size)
    }
    const findings = await prove({
      ...{ topics, user, versions: [], model: 'als-model', observations: 'observations' },
      ...{ also: ['golden'], quarantine: ['refused'], storage: undefined, served: [], files: [] },
    })
    expect(isLeft(findings), JSON.stringify(findings)).toBe(false)
    const left = await contentOf(topics, person)
    // One tombstone for each version, and one in each partition of the ratings, however often the command was repeated.
    const partitions = [...left.own].map((place) => place.split('/', 2).join('/')).toSorted()
    const row = `als-model/${rowPartition(person.rowKey, 2)}`
    expect(partitions).toEqual([
      ...[row, row, row, 'golden/0', 'observations/0', 'observations/1', 'observations/2'],
    ])
  }
  expect(kills).toBeGreaterThan(0)
  expect([...checkLog(directory)].filter(({ damage }) => damage !== undefined)).toEqual([])
})
