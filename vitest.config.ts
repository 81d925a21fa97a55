import { availableParallelism } from 'node:os'
import { pathToFileURL } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { seededRandom } from './src/core/random.ts'
import { FOLDER_OF_RUN } from './test/files/temporary-folder.ts'
import { HEAVY_FILES, QUICK_VARIABLE } from './test/run/lanes/heavy-files.ts'
import { ALONE_FILES, LONG_FILES } from './test/run/lanes/special-files.ts'
import { StallReporter } from './test/run/stalls/stall-reporter.ts'
import { SummaryReporter } from './test/run/summary-reporter.ts'
import { PATIENCE_VARIABLE } from './test/run/until.ts'
import { MOST_FILES } from './test/services/lending/core-places.ts'

const long = LONG_FILES.map((file) => `${import.meta.dirname}/${file}`)

/** The order of files: any, after the long ones in theirs. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const random = seededRandom(this.ctx.config.sequence.seed)
    const inOrder = files.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
    const drawn = inOrder.map((file) => ({ file, rank: random.next() }))
    const rankOf = ({ file, rank }: (typeof drawn)[number]): number =>
      long.includes(file.moduleId) ? long.indexOf(file.moduleId) - long.length : rank
    return drawn.sort((a, b) => rankOf(a) - rankOf(b)).map(({ file }) => file)
  }
}

const placeOf = ({ project, moduleId }: TestSpecification): string => `${project.name}/${moduleId}`

const stalls = new StallReporter()

const alone = Object.keys(ALONE_FILES)
const heavy = process.env[QUICK_VARIABLE] === '1' ? HEAVY_FILES : []
const system = ['test/system/**/*.test.ts', 'test/recovery/**/*.test.ts']
/** Run first, and by `npm run check`: what a commit forgets without a failure of its own tests. */
const architecture = ['test/architecture/**/*.test.ts', 'test/docs/reference-pages.test.ts']

/** What all projects share. */
const ALL = {
  setupFiles: [
    'test/run/setup/direct-imports.ts',
    'test/run/setup/measure-file.ts',
    'test/run/setup/choose-campaign.ts',
  ],
  pool: 'forks' as const,
  // Node.js loads the modules and strips their types, as it does for a user. Vite's transforms took a tenth of the
  // processor time of a first run, as CI and the copies of mutants have it.
  experimental: { viteModuleRunner: false, nodeLoader: false },
}

/** Every run has another order of files and of tests; its seed is printed. */
const ANY_ORDER = { shuffle: true }
/** The tests of a system file are often the steps of one story: only the order of files differs. */
const ANY_ORDER_OF_FILES = { shuffle: { files: true, tests: false } }

/** What the tests that start threads, processes and services share. */
const SYSTEM = {
  ...ALL,
  setupFiles: [
    'test/run/setup/note-worker.ts',
    'test/run/lanes/take-core.ts',
    ...ALL.setupFiles,
    'test/run/setup/end-leftovers.ts',
  ],
  globalSetup: [
    'test/no-warnings.ts',
    'test/compiled-code.ts',
    'test/built-package.ts',
    'test/services/lending/host.ts',
  ],
  execArgv: [
    // kafkajs 2.2 sets timers with negative delays.
    '--disable-warning=TimeoutNegativeWarning',
    `--import=${pathToFileURL(`${import.meta.dirname}/test/run/setup/built-modules.ts`).href}`,
  ],
  // CI machines are up to three times slower than a developer's, and busy: how long a condition takes says nothing.
  testTimeout: 400_000,
  expect: { poll: { timeout: 180_000 } },
  hookTimeout: 300_000,
}

/**
 * Compiled code of the unit tests, which the next run finds: loading took an eighth of their processor time. Node.js takes
 * no code of a file that has changed. The system tests have a folder for each run (`test/compiled-code.ts`).
 */
const COMPILED = `${import.meta.dirname}/.weir/compiled`

/** Tests in one process. */
const UNIT = {
  ...ALL,
  globalSetup: ['test/no-warnings.ts', 'test/files/temporary-folder.ts'],
  // A few processes for all files: starting one and loading the modules again for each file
  // takes longer than most files' tests. One more than there are cores, as tests wait, too.
  isolate: false,
  maxWorkers: availableParallelism() + 1,
  // Else V8 collects all garbage after each 64 MiB of buffers, however many of them are free. A large young
  // generation is collected less often: most objects of a test live as long as it.
  execArgv: [
    '--external-memory-accounted-in-global-limit',
    '--initial-heap-size=256',
    '--min-semi-space-size=64',
    '--max-semi-space-size=64',
  ],
  testTimeout: 20_000,
  // As for a test: 10 s were missed where the cores are busy.
  hookTimeout: 20_000,
  // A condition has nearly all of a test's time to come true: how fast it does says nothing.
  expect: { poll: { timeout: 15_000 } },
  env: { [PATIENCE_VARIABLE]: '15000', TMPDIR: FOLDER_OF_RUN, NODE_COMPILE_CACHE: COMPILED },
}

/** The projects run one after the other. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    reporters: [
      'default',
      stalls,
      new SummaryReporter(
        stalls,
        process.env['TEST_SLOWEST'] === 'all' ? Number.POSITIVE_INFINITY : 10,
      ),
    ],
    projects: [
      { test: { ...UNIT, name: 'architecture', include: architecture, sequence: ANY_ORDER } },
      {
        test: {
          ...UNIT,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...architecture, ...system, ...heavy],
          sequence: { ...ANY_ORDER, groupOrder: 1 },
        },
      },
      {
        test: {
          ...SYSTEM,
          name: 'system',
          include: system,
          exclude: alone,
          // How many of them run is decided by how busy the cores are (`CorePlaces`); one that waits runs beside them.
          maxWorkers: MOST_FILES + 1,
          sequence: { ...ANY_ORDER_OF_FILES, groupOrder: 2 },
        },
      },
      {
        test: {
          ...SYSTEM,
          name: 'system-alone',
          include: alone,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { ...ANY_ORDER_OF_FILES, groupOrder: 3 },
        },
      },
    ],
  },
})
