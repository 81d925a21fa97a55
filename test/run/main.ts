import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArguments, type TestArguments } from './arguments.ts'
import { campaignEnvironment } from './campaign-size.ts'
import { UnknownCommitError } from './changed/git.ts'
import { changedTests } from './changed-tests.ts'
import { COSTS_VARIABLE, mergeCosts, readCosts } from './costs/file-costs.ts'
import { HEAVY_FILES, QUICK_VARIABLE } from './lanes/heavy-files.ts'
import { runTools } from './tools.ts'

/*
 * `npm test`: format, lint and types, then the tests.
 */

const HELP = `Usage: npm test                         format, lint and types, then all tests
       npm test -- FILE... [OPTION...]  these files, with options of vitest such as -t 'name of a test'
       npm test -- --changed [COMMIT]   what changes since a commit (default: HEAD) can break, in about two minutes
       npm test -- --sixth              all, and of each sixth campaign half a minute, by the commit; it is what CI runs
       npm test -- --whole              all, and every campaign whole
       npm test -- --slowest            all, and a table of every file: seconds, and what it waits for
       npm run check                    format, lint, types, architecture, and whether npm run docs was run
       npm run test:unit                the quick tests: without threads, processes, services, and files that do real work
       npm run verify                   the campaigns, whole
`

const ROOT = resolve(import.meta.dirname, '../..')
/** The last costs of each test file, of all runs. */
const COSTS = join(ROOT, '.weir/test-costs.jsonl')

/** What the last check of types has found: with it, a check after a small change takes a sixth of the time. */
const KNOWN_TYPES = ['--incremental', '--tsBuildInfoFile', '.weir/types.tsbuildinfo']
const CHECKS: readonly (readonly string[])[] = [
  ['node_modules/.bin/biome', 'check', '.'],
  ['node_modules/.bin/tsc', '-p', 'tsconfig.json', ...KNOWN_TYPES],
  ['node_modules/.bin/tsc', '-p', 'dashboard/tsconfig.json'],
]
const ARCHITECTURE = ['--project', 'architecture']
const UNIT = ['--project', 'unit', ...ARCHITECTURE]

async function vitest(
  words: readonly string[],
  { slowest, campaigns, unitOnly }: Pick<TestArguments, 'slowest' | 'campaigns' | 'unitOnly'>,
): Promise<number> {
  const costs = join(ROOT, `.weir/test-costs.${process.pid}.jsonl`)
  mkdirSync(join(ROOT, '.weir'), { recursive: true })
  const all = slowest ? { TEST_SLOWEST: 'all' } : {}
  const quick = unitOnly ? { [QUICK_VARIABLE]: '1' } : {}
  const environment = {
    [COSTS_VARIABLE]: costs,
    ...all,
    ...quick,
    ...campaignEnvironment(campaigns),
  }
  const command = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', ...words]
  try {
    return await runTools([command], { cwd: ROOT, environment })
  } finally {
    mergeCosts(costs, COSTS)
  }
}

/** What vitest runs; undefined when nothing can be broken. */
function selection({ changedSince, others }: TestArguments): readonly string[] | undefined {
  if (changedSince === undefined) return others
  const { files, text } = changedTests(ROOT, changedSince, readCosts(COSTS))
  process.stdout.write(`${text}\n`)
  return files.length === 0 ? undefined : [...files, ...others]
}

async function unitTests(asked: TestArguments): Promise<number> {
  const code = await vitest([...UNIT, ...asked.others], asked)
  const { length } = HEAVY_FILES
  process.stdout.write(
    `\n${length} files that do real work are left out: npm test runs them, too\n`,
  )
  return code
}

async function main(): Promise<number> {
  const asked = parseArguments(process.argv.slice(2))
  if (asked.help) {
    process.stdout.write(HELP)
    return 0
  }
  // First, so that a wrong commit is refused at once.
  const words = selection(asked)
  if (asked.unitOnly) return await unitTests(asked)
  const isAll = asked.others.length === 0
  const checked = isAll ? await runTools(CHECKS, { cwd: ROOT }) : 0
  if (checked !== 0) return checked
  if (asked.checksOnly) return await vitest(ARCHITECTURE, { ...asked, slowest: false })
  return words === undefined ? 0 : await vitest(words, asked)
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UnknownCommitError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
