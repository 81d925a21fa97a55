/**
 * Features of users from a topic of the embedded log: queried while the job runs, and exported for training. Run it with
 *
 *   npx node examples/13-features/main.ts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import { WeirClient } from '../../src/client/index.ts'
import { EmbeddedLog, exportFeatures, ServedJob } from '../../src/index.ts'
import { FEATURES, type Purchase } from './features.ts'

const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 1)
const USERS = ['ann', 'bob', 'eve']

const PURCHASES = 3 * 24 * 6

/** A purchase each ten minutes, for three days. The last one is of a new film, so that a row that has it is the newest. */
const purchases = Array.from(
  { length: PURCHASES },
  (_, i): Purchase => ({
    user: USERS[i % 3]!,
    film: i + 1 === PURCHASES ? 'film-23' : `film-${(i * i) % 23}`,
    price: 2 + ((i * 7) % 10),
    time: START + (i * HOUR) / 6,
  }),
)

const folder = await mkdtemp(join(tmpdir(), 'weir-example-'))
const directory = join(folder, 'log')
{
  await using log = await EmbeddedLog.open(directory)
  await log.createTopic('purchases', { partitions: 2 })
  const producer = log.producer('purchases')
  const bytes = (text: string) => new TextEncoder().encode(text)
  for (const purchase of purchases) {
    producer.send(bytes(purchase.user), bytes(JSON.stringify(purchase)), purchase.time)
  }
  await producer.sync()
}

{
  await using job = await ServedJob.start({
    module: new URL('./job.ts', import.meta.url),
    jobOptions: { directory },
    configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
    seed: 1,
    port: 0,
  })
  await job.execution.waitFor('RUNNING')
  await using client = await WeirClient.connect({ port: job.port })
  const newest = purchases.at(-1)!
  for (;;) {
    const [answer] = await client.values('USERS', [newest.user])
    const row = answer?.ok === true ? unpack(answer.value) : undefined
    if (row?.last[0] === newest.film) {
      console.log(`${newest.user} now`, row)
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const labels = [
  { key: 'ann', time: START + HOUR, label: 'stayed' },
  { key: 'ann', time: START + 48 * HOUR, label: 'left' },
]
const examples = await exportFeatures(FEATURES, purchases, labels, {
  keyOf: ({ user }) => user,
  timeOf: ({ time }) => time,
})
for (const example of examples) console.log(JSON.stringify(example))
await rm(folder, { recursive: true })
