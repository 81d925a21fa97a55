import { setImmediate as turn } from 'node:timers/promises'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import type { LearnedRow } from '../../../src/jobs/learning/write-back/changed-rows.ts'
import { publishLearned } from '../../../src/jobs/learning/write-back/publish.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'

/*
 * Main module of a process that writes rows of version 1 back until it is killed, and says so when some of them
 * are in the log.
 */

const [logDirectory = '', topic = ''] = process.argv.slice(2)
const topics = await openTopics({ logDirectory })
const [marker] = await readyVersions(topics, topic)
const before = await totalEnd()

async function totalEnd(): Promise<number> {
  return (await topics.bounds(topic)).reduce((sum, { end }) => sum + end, 0)
}

async function* rows(): AsyncGenerator<LearnedRow> {
  for (let user = 0; ; user++) {
    yield { key: `${user % 100}-U`, floats: new Uint8Array(4 * marker!.dimension), ratings: 1 }
    if (user % 1000 === 0) await turn()
    if (user % 10_000 === 0 && (await totalEnd()) > before) break
  }
  process.send?.('rows are in the log')
  await new Promise(() => setInterval(() => {}, 1000))
}

const learned = { atMs: 0, observations: 'observations', next: [1, 1, 1], folded: '' }
const place = { topics, topic, isPresent: () => true }
await publishLearned({ marker: marker!, learned, rows: rows() }, place)
