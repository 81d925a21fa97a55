import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { COSTS_VARIABLE } from '../test/run/costs/file-costs.ts'
import { BUILT_MODULES_VARIABLE } from '../test/run/setup/built-modules.ts'
import { LEFTOVERS } from '../test/run/setup/leftovers.ts'
import { commitSeed } from '../test/services/commit-seed.ts'
import { HOST_VARIABLE } from '../test/services/lending/lease.ts'
import { BUILT_ENTRY_VARIABLE, BUILT_PACKAGE_VARIABLE } from '../test/system/cli/command-process.ts'
import { MutatedSource, TESTED } from './mutants/mutated-source.ts'
import type { TestedMutant } from './mutants/tested.ts'

const VITEST = join(
  createRequire(import.meta.url).resolve('vitest/package.json'),
  '..',
  'vitest.mjs',
)
/** A run of tests that takes longer hangs. */
const LONGEST_RUN_MS = 300_000

/**
 * The environment of a run: it is one of its own, which waits for no other test file and whose costs are not those of
 * Weir's tests, and it joins its own modules: those of Weir have no error. Its campaigns are short: a short part that does
 * not find the error would be too short.
 */
function environment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    [HOST_VARIABLE]: undefined,
    [COSTS_VARIABLE]: undefined,
    [BUILT_ENTRY_VARIABLE]: undefined,
    [BUILT_PACKAGE_VARIABLE]: undefined,
    [BUILT_MODULES_VARIABLE]: undefined,
    // The copy has no commit.
    WEIR_SEED: String(commitSeed()),
    WEIR_SIXTH: undefined,
    WEIR_WHOLE: undefined,
  }
}

/** What a test said: tests of its name that ran. A copy that does not start has none, and proves nothing. */
interface TestVerdict {
  readonly passed: number
  readonly failed: number
}

interface JsonReport {
  readonly testResults: readonly {
    /** Path of the file. */
    readonly name: string
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[]
  }[]
}

/** Runs the tests of mutants on a copy of Weir, and returns their verdicts. Throws when the run hangs or has no report. */
async function runTests(
  { folder }: MutatedSource,
  mutants: readonly TestedMutant[],
): Promise<readonly TestVerdict[]> {
  const report = join(folder, 'report.json')
  rmSync(report, { force: true })
  const files = new Set(mutants.map(({ file }) => file))
  const names = mutants.map(({ test }) => test.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const output = ['--reporter=json', `--outputFile=${report}`]
  const words = ['run', ...files, '-t', names.join('|'), ...output]
  const child = spawn(process.execPath, [VITEST, ...words], {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: LONGEST_RUN_MS,
  })
  const closed = once(child, 'close')
  const running = {
    async [Symbol.asyncDispose](): Promise<void> {
      child.kill()
      await closed
    },
  }
  LEFTOVERS.add(running)
  const [code, signal] = (await closed) as [number | null, string | null]
  LEFTOVERS.delete(running)
  if (!existsSync(report)) {
    const end = signal === null ? `ended with ${code}` : `was ended by ${signal}`
    throw new Error(`the tests of ${[...files].join(', ')} have no report: vitest ${end}`)
  }
  const found = JSON.parse(readFileSync(report, 'utf8')) as JsonReport
  return mutants.map((mutant) => verdictOf(found, mutant))
}

function verdictOf({ testResults }: JsonReport, { file, test }: TestedMutant): TestVerdict {
  const ran = testResults
    .filter(({ name }) => name.endsWith(file))
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
  // Without a file, vitest runs all of them.
  if (mutants.length === 0) return missed
  using source = new MutatedSource(undefined, TESTED)
  const soundVerdicts = await runTests(source, mutants)
  for (const [n, mutant] of mutants.entries()) {
    source.apply(mutant.edits)
    const [wrong] = await runTests(source, [mutant])
    source.restore(mutant.edits)
    const sound = soundVerdicts[n]!
    const isFound = sound.passed > 0 && sound.failed === 0 && wrong!.failed > 0
    say(`${mutant.name}: ${isFound ? 'found' : 'NOT FOUND'} by ${mutant.file}`)
    if (!isFound) missed.push(`${mutant.name}: ${JSON.stringify({ sound, wrong })}`)
  }
  return missed
}
