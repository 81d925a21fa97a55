import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { parseWebHdfsUrl } from '../../../src/files/webhdfs/address.ts'
import { WebHdfsClient } from '../../../src/files/webhdfs/client.ts'
import { formatRating } from '../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { type SharedHdfs, sharedHdfs } from '../../services/lending/hdfs.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { leaveTransactionOpen } from '../kafka/open-transaction.ts'
import { commandsOf, guidePage } from './page-commands.ts'
import { runPage } from './page-session.ts'

/** Whether a page runs: in the short part one of the two, by the seed. */
const runs = (page: number): boolean => campaignSize(commitSeed() % 2 === page, true)

let folder: string
let kafka: SharedKafka

/** Ratings that the page trains on, and those that arrive later. */
const TRAINING = 36_000
const FRESH = 6_000

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-kafka-pages-'))
  kafka = await sharedKafka()
  // A service starts on a machine that may be busy.
})

afterAll(async () => {
  await kafka?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** What the page does with "hdfs dfs -put": two part files to train on, one of them packed, and a fresh one. */
async function putRatings(hdfs: SharedHdfs): Promise<void> {
  const shape = { users: 600, items: 200, ratings: TRAINING + FRESH, seed: 1, drift: 1 }
  const lines = [...generateRatings(shape)].map((rating) => `${formatRating(rating, 'tab')}\n`)
  const half = TRAINING / 2
  const client = new WebHdfsClient(parseWebHdfsUrl(hdfs.url('/')))
  const put = (path: string, from: number, to: number): Promise<unknown> => {
    const bytes = Buffer.from(lines.slice(from, to).join(''))
    return client.writeFile(path, path.endsWith('.gz') ? gzipSync(bytes) : bytes)
  }
  try {
    await put('/ratings/train/part-00000', 0, half)
    await put('/ratings/train/part-00001.gz', half, TRAINING)
    await put('/ratings/fresh/part-00000', TRAINING, TRAINING + FRESH)
  } finally {
    client.close()
  }
}

if (runs(0)) {
  it('docs/guide/from-flink.md: its commands run on a real Kafka and HDFS', async () => {
    await using hdfs = await sharedHdfs()
    await putRatings(hdfs)
    const page = guidePage('from-flink.md')
      .replaceAll('namenode:9870', hdfs.authority)
      .replaceAll('user.name=flink', `user.name=${userInfo().username}`)
      .replaceAll('localhost:9092', kafka.bootstrap)
    const commands = commandsOf(page)
    expect(commands.length).toBeGreaterThan(10)
    const { stdout } = await runPage(commands, { folder: join(folder, 'session') })
    const errors = [...stdout.matchAll(/^MSE +([0-9.]+)/gm)].map(([, mse]) => Number(mse))
    expect(errors).toHaveLength(2)
    expect(errors[1], 'learning lowers the error').toBeLessThan(errors[0]!)
    const accuracy = /^accuracy +([0-9.]+) %/m.exec(stdout)?.[1]
    expect(Number(accuracy)).toBeGreaterThan(75)
  })
}

if (runs(1)) {
  it('docs/guide/kafka.md: its commands run, one after the other', async () => {
    await using topics = await openTopics({ kafka: { brokers: kafka.bootstrap } })
    await topics.create('notes', { partitions: 1 })
    for (const id of ['weir/t/a', 'weir/t/b']) {
      await leaveTransactionOpen(kafka.bootstrap, 'notes', id)
    }
    const page = guidePage('kafka.md').replaceAll('localhost:9092', kafka.bootstrap)
    await runPage(commandsOf(page), { folder: join(folder, 'kafka') })
  })
}
