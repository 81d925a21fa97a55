import { defineConfig } from 'vitest/config'

/** What the two projects of system tests share. */
const SYSTEM = {
  globalSetup: ['test/no-warnings.ts', 'test/compiled-code.ts'],
  pool: 'forks' as const,
  // kafkajs 2.2 sets timers with negative delays.
  execArgv: ['--disable-warning=TimeoutNegativeWarning'],
  testTimeout: 240_000,
  expect: { poll: { timeout: 60_000 } },
  hookTimeout: 120_000,
}

/**
 * System tests that run beside another one: most compute in one thread, or start one command after the other.
 * They kill nothing, measure no time, wait for conditions, and share no place on disk: neither
 * services that are downloaded into `.weir/services` nor `dashboard/dist`.
 */
const LIGHT = [
  'checkpoint/*',
  'cli/{access,build-kernels,code-cache,commands,completion,dead-ends}',
  'cli/{job-log,linear-model,retrain,retrain-loop,tokens}',
  'docs/guide-types',
  'gateway/{command,oryx}',
  'inference/{cache-race,guide,models-rest,real-models,runners}',
  'jobmanager/{job-data,start,tls}',
  'log/partition-reader',
  'runtime/start-job',
  'serving/{embedded,query-python,query-tls,small-model,svm-serving}',
  'state/{keyed-state-model,leveldb-state}',
  'training/{als-threads,bmf,linear-gate,linear-threads}',
  'verify/{fuzz,soak}',
].map((name) => `test/system/${name}.test.ts`)

/**
 * Two tiers. `unit` is pure or in-process, stays under half a minute, and runs in a random order whose seed
 * the run prints (`--sequence.seed=N` repeats it). `system-light` and `system` start threads, processes
 * and real services; `system` also kills them.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/system/**', 'test/recovery/**'],
          globalSetup: 'test/no-warnings.ts',
          sequence: { shuffle: true },
          pool: 'forks',
          // One process per core for all files: starting one and loading the modules again for each
          // file takes longer than most files' tests.
          isolate: false,
          maxWorkers: '100%',
          testTimeout: 20_000,
          // A condition has nearly all of a test's time to come true: how fast it does says nothing.
          expect: { poll: { timeout: 15_000 } },
        },
      },
      {
        test: {
          ...SYSTEM,
          name: 'system-light',
          include: LIGHT,
          maxWorkers: 2,
          // After the unit tests, which have one process per core.
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...SYSTEM,
          name: 'system',
          include: ['test/system/**/*.test.ts', 'test/recovery/**/*.test.ts'],
          exclude: LIGHT,
          maxWorkers: 1,
          fileParallelism: false,
        },
      },
    ],
  },
})
