import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { MutatedSource, TESTED } from './mutants/mutated-source.ts'
import type { TestedMutant } from './mutants/tested.ts'

const VITEST = join(
  createRequire(import.meta.url).resolve('vitest/package.json'),
  '..',
  'vitest.mjs',
)

/** What a test said. */
export interface TestVerdict {
  readonly passed: number
  readonly failed: number
}

interface JsonReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[]
  }[]
}

/** Runs the test of a mutant on a copy of Weir, with its error or, where `isSound`, without. */
export async function runTest(
  { edits, file, test }: TestedMutant,
  { isSound = false } = {},
): Promise<TestVerdict> {
  using source = new MutatedSource(isSound ? undefined : { edits }, TESTED)
  const report = join(source.folder, 'report.json')
  const project = /^test\/(system|recovery)\//.test(file) ? 'system' : 'unit'
  const name = test.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const output = ['--reporter=json', `--outputFile=${report}`]
  const args = ['run', '--project', project, file, '-t', name, ...output]
  const child = spawn(process.execPath, [VITEST, ...args], { cwd: source.folder, stdio: 'ignore' })
  await once(child, 'close')
  return verdictOf(JSON.parse(readFileSync(report, 'utf8')) as JsonReport, test)
}

/** Tests of this name that ran: a copy that does not start has none, and proves nothing. */
function verdictOf({ testResults }: JsonReport, test: string): TestVerdict {
  const ran = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ title }) => title.includes(test))
  const count = (status: string): number => ran.filter((one) => one.status === status).length
  return { passed: count('passed'), failed: count('failed') }
}

/** Mutants of a list that their test does not find, in words. On Weir as it is the test must pass. */
export async function missedMutants(
  mutants: readonly TestedMutant[],
  say: (line: string) => void,
): Promise<readonly string[]> {
  const missed: string[] = []
  for (const mutant of mutants) {
    const sound = await runTest(mutant, { isSound: true })
    const wrong = await runTest(mutant)
    const isFound = sound.passed > 0 && sound.failed === 0 && wrong.failed > 0
    say(`${mutant.name}: ${isFound ? 'found' : 'NOT FOUND'} by ${mutant.file}`)
    if (!isFound) missed.push(`${mutant.name}: ${JSON.stringify({ sound, wrong })}`)
  }
  return missed
}
