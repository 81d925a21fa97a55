import { defineConfig } from 'vitest/config'

/**
 * Three tiers. `unit` is pure or in-process and stays under half a minute; `system` starts threads,
 * processes and real services and kills them.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/system/**', 'test/recovery/**'],
          pool: 'forks',
          // One process per core for all files: starting one and loading the modules again for each
          // file takes longer than most files' tests.
          isolate: false,
          maxWorkers: '100%',
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts', 'test/recovery/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: 1,
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
