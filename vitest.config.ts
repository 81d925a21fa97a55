import { defineConfig } from 'vitest/config'

/**
 * Two tiers. `unit` is pure or in-process, stays under half a minute, and runs in a random order whose seed
 * the run prints (`--sequence.seed=N` repeats it). `system` starts threads, processes and real services
 * and kills them.
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
          name: 'system',
          include: ['test/system/**/*.test.ts', 'test/recovery/**/*.test.ts'],
          globalSetup: ['test/no-warnings.ts', 'test/compiled-code.ts'],
          pool: 'forks',
          // kafkajs 2.2 sets timers with negative delays.
          execArgv: ['--disable-warning=TimeoutNegativeWarning'],
          maxWorkers: 1,
          fileParallelism: false,
          testTimeout: 240_000,
          expect: { poll: { timeout: 60_000 } },
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
