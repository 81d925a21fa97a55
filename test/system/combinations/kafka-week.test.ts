import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, it, onTestFinished } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { Installation } from '../../combinations/installation.ts'
import type { Kind } from '../../combinations/kind.ts'
import { explicitKind, hingeKind, implicitKind, textKind } from '../../combinations/kinds.ts'
import { openKafka } from '../../combinations/storage.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { Week } from './week.ts'

let broker: SharedKafka
let folder: string

beforeAll(async () => {
  broker = await sharedKafka()
  folder = mkdtempSync(join(tmpdir(), 'weir-kafka-week-'))
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

// One Kafka has them all: of the models of factors, only one can have the default topics.
const KINDS: readonly (readonly [string, () => Kind])[] = [
  ['explicit ratings', () => explicitKind()],
  ['an SVM', () => hingeKind()],
  ['implicit events', () => implicitKind('uses-model')],
  ['text rows', () => textKind('text-model')],
]
const seed = commitSeed()
/** Every second kind, by the seed, and one in the short part: the weeks on the embedded log have all. */
const CHOSEN = KINDS.filter((_, n) => campaignSize(n === seed % KINDS.length, n % 2 === seed % 2))

it.each(CHOSEN)(
  'a week with %s on Kafka: each day what is served, counted and measured is right',
  async (name, kind) => {
    const machine = (place: string): Installation => {
      // Who imports has no Kafka; a copy of the folder goes on with the same one.
      const kafka = place === 'imported' ? {} : { storage: openKafka(broker) }
      return new Installation(join(folder, name, place), { ...kafka, runCommand: inProcess })
    }
    const week = new Week(kind(), machine('first'), machine)
    onTestFinished(() => week.end())
    await week.run()
  },
)
