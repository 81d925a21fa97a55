import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { untilPasses } from '../../run/until.ts'
import { PATIENT, weir } from '../cli/command-process.ts'

const RECORDS = 6000
const KILLS = 4

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-archive-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const archive = (): string => join(folder, 'archive')

/** The lines of the part files. */
function archived(): readonly string[] {
  return readdirSync(archive())
    .filter((name) => name.startsWith('part-'))
    .flatMap((name) => readFileSync(join(archive(), name), 'utf8').trimEnd().split('\n'))
}

it('has each record once although it is killed again and again, and is trained on', async () => {
  const argv = ['topic', 'archive', 'ratings', '--ratings', '--to', archive(), '--data-dir', folder]
  const topics = new LogTopics(join(folder, 'log'))
  await topics.create('ratings', { partitions: 3 })
  const producer = await topics.producer('ratings')
  const random = seededRandom(3)
  const encoder = new TextEncoder()
  const expected: string[] = []
  for (let kill = 1; kill <= KILLS; kill++) {
    const running = weir([...argv, '--every', '0.05'], { env: PATIENT })
    for (let n = 0; n < RECORDS / KILLS; n++) {
      const line = `${random.below(200)},${random.below(80)},${1 + random.below(5)},${expected.length}`
      expected.push(line)
      producer.sendRecord(null, encoder.encode(line), 0, expected.length % 3, [])
      if (n % 100 === 0) await producer.sync()
    }
    await producer.sync()
    // The kill comes at another moment each time, in the middle of what is new.
    const before = expected.length - 1 - random.below(RECORDS / KILLS / 2)
    await untilPasses(() => expect(archived().length).toBeGreaterThan(before))
    await running[Symbol.asyncDispose]()
  }
  await producer.close()
  const { code, stdout, stderr } = await weir([...argv, '--json'], { env: PATIENT }).ended
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ topic: 'ratings', to: archive() })
  expect(archived().toSorted()).toEqual(expected.toSorted())
  await topics[Symbol.asyncDispose]()
  const train = [
    'train',
    'popularity',
    '--ratings',
    archive(),
    '--no-publish',
    '--data-dir',
    folder,
  ]
  const trained = await weir(train, { env: PATIENT }).ended
  expect(trained.stdout, trained.stderr).toContain(`${RECORDS} ratings`)
})
