import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { ExampleError } from '../../../src/jobs/learning/error/example-error.ts'
import { liveVersionOf, type RegisteredVersion } from '../../../src/models/registry/version.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { HdfsCheckpointStorage } from '../../../src/runtime/checkpoint/storage/hdfs.ts'
import { pause } from '../../run/pause.ts'
import { until, untilPasses } from '../../run/until.ts'
import { type SharedHdfs, sharedHdfs } from '../../services/lending/hdfs.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { type CommandProcess, PATIENT, weir } from '../cli/command-process.ts'
import { runVerb } from './run-verb.ts'

const FEATURES = 200
const NON_ZEROS = 12
const HISTORY = 1500
const FRESH = 3000
const random = seededRandom(9)
const direction = Array.from({ length: FEATURES }, () => random.normal())

/** An example of the world, with a noisy label. */
interface Example {
  readonly label: number
  readonly ids: readonly number[]
  readonly values: readonly number[]
}

function example(): Example {
  const chosen = new Set<number>()
  while (chosen.size < NON_ZEROS) chosen.add(random.below(FEATURES))
  const ids = [...chosen].sort((a, b) => a - b)
  const values = ids.map(() => random.normal())
  const score = ids.reduce((sum, id, k) => sum + direction[id]! * values[k]!, 0.4)
  return { label: score + 0.5 * random.normal() > 0 ? 1 : -1, ids, values }
}

const examples = (count: number): readonly Example[] => Array.from({ length: count }, example)
const lineOf = ({ label, ids, values }: Example): string =>
  `${label} ${ids.map((id, k) => `${id}:${values[k]}`).join(' ')}`
const libsvm = (all: readonly Example[]): string => all.map((each) => `${lineOf(each)}\n`).join('')

const test = examples(1500)
let kafka: SharedKafka
let hdfs: SharedHdfs
let folder: string
let learning: CommandProcess
let loop: CommandProcess

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-thesis-svm-'))
  kafka = await sharedKafka()
  hdfs = await sharedHdfs()
})

afterAll(async () => {
  await loop?.[Symbol.asyncDispose]()
  await learning?.[Symbol.asyncDispose]()
  await kafka?.[Symbol.asyncDispose]()
  await hdfs?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

async function done(...argv: string[]): Promise<void> {
  const { code, err } = await runVerb([...argv, '--brokers', kafka.bootstrap])
  expect(code, `weir ${argv.join(' ')}: ${err}`).toBe(0)
}

async function liveVersion(): Promise<RegisteredVersion> {
  const place = { kafka: { brokers: kafka.bootstrap } }
  const state = await new ModelRegistry({ place, clock: systemClock }).read()
  return liveVersionOf(state, 'svm-model')!
}

async function append(count: number): Promise<void> {
  await using topics = await openTopics({ kafka: { brokers: kafka.bootstrap } })
  const producer = await topics.producer('examples')
  for (const [n, each] of examples(count).entries()) {
    producer.sendRecord(
      null,
      new TextEncoder().encode(lineOf(each)),
      systemClock.nowMs(),
      n % 2,
      [],
    )
  }
  await producer.sync()
  await producer.close()
}

/** Number of fresh examples that the live version was trained on or has learned. */
async function known(client: WeirClient): Promise<number> {
  const { number, lineage } = await liveVersion()
  const trained = lineage.ranges.reduce((sum, { read }) => sum + (read?.all.count ?? 0), 0)
  const [answer] = await client.values('LEARNING_ERROR', [String(number)])
  if (answer?.ok !== true) return trained
  return trained + msgpackSerializer<ExampleError>().read(new ByteReader(answer.value)).examples
}

/** The share of wrong labels on the test set, and the version that was live before it was measured. */
interface Sample {
  readonly version: number
  readonly wrong: number
}

async function sample(client: WeirClient): Promise<Sample> {
  await client.refreshRouting()
  const version = client.routing.states.find(({ name }) => name === 'SVM_MODEL')?.liveVersion ?? 0
  const answers = await Promise.all(
    test.map(async ({ label, ids, values }) => {
      const features = { ids: Uint32Array.from(ids), values: Float32Array.from(values) }
      return (await client.predictLinear('SVM_MODEL', features)).label === label
    }),
  )
  return { version, wrong: answers.filter((isRight) => !isRight).length / test.length }
}

it('a linear model of a history on HDFS is served, learned on, measured each second, and retrained with fresh examples, twice', async () => {
  const storage = new HdfsCheckpointStorage(hdfs.url('/thesis-svm'))
  const history = new TextEncoder().encode(libsvm(examples(HISTORY)))
  await storage.createExclusive('history/part-0', history)
  const place = hdfs.url('/thesis-svm/history')
  const at = (name: string): string => join(folder, name)
  writeFileSync(at('test.svm'), libsvm(test))
  writeFileSync(at('golden.svm'), libsvm(examples(1500)))

  await done('train', 'svm', '--examples', place, '--publish')
  await done('topic', 'create', 'examples', '--partitions', '2')
  const brokers = ['--brokers', kafka.bootstrap]
  const data = ['--data-dir', at('data')]
  learning = weir(['learn', 'svm', '--port', '0', '--json', ...brokers, ...data], { env: PATIENT })
  const port = (await learning.printed(/"started","port":(\d+)/))[1]!
  await learning.printed(/"event":"learning","version":1/)
  await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })
  // As "weir query --help" says it: the number of a range of features.
  const query = await runVerb(['query', 'SVM_MODEL', '0', '--port', port])
  expect(query.code, query.err).toBe(0)

  loop = weir(
    [
      ...['retrain', '--model', 'svm-model', '--examples', place, '--golden', at('golden.svm')],
      ...['--evaluate', at('test.svm'), '--every', '1', '--error-level', '0.001'],
      // Of a machine that runs other tests, too.
      ...['--max-latency', '60000', '--port', port, ...brokers, ...data],
    ],
    { env: PATIENT },
  )
  await loop.printed(
    /share of wrong labels [\d.]+ of version 1 on the 1500 observations of .*test.svm/,
  )

  const samples: Sample[] = []
  const watching = new AbortController()
  const watched = (async () => {
    while (!watching.signal.aborted) {
      samples.push(await sample(client))
      await pause(1000, 'the error is looked at each second, as a user of the thesis does')
    }
  })()
  for (const version of [2, 3]) {
    await append(FRESH)
    await loop.printed(new RegExp(`version ${version} is live`))
    await learning.printed(new RegExp(`"event":"learning","version":${version}`))
    await until(`version ${version} is measured`, () =>
      samples.some((each) => each.version >= version),
    )
  }
  await untilPasses(async () => expect(await known(client)).toBe(2 * FRESH))
  samples.push(await sample(client))
  watching.abort()
  await watched
  console.info(JSON.stringify(samples))

  const { lineage } = await liveVersion()
  expect(lineage.files).toMatchObject([{ read: { count: HISTORY } }])
  expect(learning.hasEnded).toBe(false)
  expect(loop.hasEnded).toBe(false)
  for (const [n, { version, wrong }] of samples.entries()) {
    const before = samples.slice(0, n).findLast((each) => each.version < version)
    if (before !== undefined) expect(wrong).toBeLessThanOrEqual(before.wrong + 0.01)
  }
  expect(samples.at(-1)!.wrong).toBeLessThan(samples[0]!.wrong)
})
