import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, onTestFinished } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { Installation } from '../../combinations/installation.ts'
import { explicitKind, hingeKind, implicitKind, textKind } from '../../combinations/kinds.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { Week } from './week.ts'

const KINDS = [
  ['explicit ratings', () => explicitKind()],
  ['an SVM', () => hingeKind()],
  ['implicit events', () => implicitKind()],
  ['text rows', () => textKind()],
] as const
const seed = commitSeed()
/** The short part has one kind, by the seed: not that of the week on Kafka. CI has two in each sixth commit. */
const CHOSEN = KINDS.filter((_, n) =>
  campaignSize(n === (seed + 2) % KINDS.length, true, n % 2 === seed % 2),
)

it.each(CHOSEN)(
  'a week with %s on the embedded log: each day what is served, counted and measured is right',
  async (_, kind) => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-week-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const machine = (name: string): Installation =>
      new Installation(join(folder, name), { runCommand: inProcess })
    const week = new Week(kind(), machine('first'), machine)
    onTestFinished(() => week.end())
    await week.run()
  },
)
