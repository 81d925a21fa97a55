import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, onTestFinished } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { Installation } from '../../combinations/installation.ts'
import type { Kind } from '../../combinations/kind.ts'
import { explicitKind, hingeKind, implicitKind, textKind } from '../../combinations/kinds.ts'
import { openKafka } from '../../combinations/storage.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { sharedKafka } from '../../services/lending/kafka.ts'
import { Week } from './week.ts'

const KINDS: readonly (readonly [string, () => Kind])[] = [
  ['explicit ratings', () => explicitKind()],
  ['an SVM', () => hingeKind()],
  ['implicit events', () => implicitKind()],
  ['text rows', () => textKind()],
]
const WEEKS = KINDS.flatMap(([name, kind]) =>
  (['the embedded log', 'Kafka'] as const).map((place) => ({ name, kind, place })),
)
const seed = commitSeed()
/** Whether a week is the one of the seed, or comes so many after it. */
const isAfter = (n: number, count: number): boolean => n === (seed + count) % WEEKS.length
/**
 * The short part has one week, by the seed. CI has two in each sixth commit: of two kinds, one on Kafka. The whole has each
 * kind on the embedded log, and every second one on Kafka, too.
 */
const CHOSEN = WEEKS.filter(({ place }, n) =>
  campaignSize(
    isAfter(n, 0),
    place !== 'Kafka' || (n >> 1) % 2 === seed % 2,
    isAfter(n, 0) || isAfter(n, 3),
  ),
)

it.each(CHOSEN)(
  'a week with $name on $place: each day what is served, counted and measured is right',
  async ({ kind, place }) => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-week-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const kafka = place === 'Kafka' ? await sharedKafka() : undefined
    onTestFinished(() => kafka?.[Symbol.asyncDispose]())
    const machine = (name: string): Installation => {
      // Who imports has no Kafka; a copy of the folder goes on with the same one.
      const storage = kafka && name !== 'imported' ? openKafka(kafka) : undefined
      return new Installation(join(folder, name), { storage, runCommand: inProcess })
    }
    const week = new Week(kind(), machine('first'), machine)
    onTestFinished(() => week.end())
    await week.run()
  },
)
