import { expect, it } from 'vitest'
import { reportOf } from './report.ts'
import type { ReachedTest, Selection } from './select-tests.ts'

const test = (file: string, kind: ReachedTest['kind'] = 'system'): ReachedTest => ({
  file,
  kind,
  steps: 1,
  seconds: 12,
})
const ARCHITECTURE = test('test/architecture/rooms.test.ts', 'architecture')

function selection(parts: Partial<Selection>): Selection {
  const none = { leftOut: [], breaksAll: [], missingServices: [] }
  return { run: [ARCHITECTURE], seconds: 41.2, ...none, ...parts }
}

it('names what changed, counts what runs, and says that nothing is left out', () => {
  const run = [ARCHITECTURE, test('test/a.test.ts', 'unit'), test('test/system/b.test.ts')]
  expect(reportOf('HEAD~2', ['src/a.ts', 'src/b.ts'], selection({ run }))).toBe(
    `Changed since HEAD~2: src/a.ts, src/b.ts
Runs 3 test files, about 42 s: 1 architecture, 1 unit, 1 system
Leaves out no test that the change can reach`,
  )
})

it('names what is left out, the services that nothing starts, and the command for all', () => {
  const parts = {
    run: [ARCHITECTURE, test('test/a.test.ts', 'unit')],
    leftOut: [test('test/system/b.test.ts'), test('test/system/c.test.ts')],
    missingServices: ['Kafka', 'HDFS'],
  }
  expect(reportOf('HEAD', ['src/a.ts'], selection(parts))).toBe(
    `Changed since HEAD: src/a.ts
Runs 2 test files, about 42 s: 1 architecture, 1 unit, 0 system
Leaves out 2 test files of 24 s that the change can reach, the nearest first:
     12.0 s  test/system/b.test.ts
     12.0 s  test/system/c.test.ts
Services of tests left out that no test here starts: Kafka, HDFS
\`npm test\` runs all tests.`,
  )
})

it('names ten files and counts the others', () => {
  const files = Array.from({ length: 13 }, (_, i) => `src/${i}.ts`)
  const leftOut = files.map((file) => test(file))
  const text = reportOf('HEAD', files, selection({ leftOut }))
  expect(text).toContain('src/9.ts, and 3 more\n')
  expect(text).toContain('  src/9.ts\n    and 3 more\n')
  expect(text).not.toContain('src/10.ts')
})

it('says on which files every test depends', () => {
  const text = reportOf('HEAD', ['package.json'], selection({ breaksAll: ['package.json'] }))
  expect(text).toContain('Every test depends on package.json\n')
})

it('says where no test reaches the change', () => {
  expect(reportOf('HEAD', ['LICENSE'], selection({}))).toContain(
    'Runs the 1 test file of the architecture, about 42 s: no other test reaches the change',
  )
})

it('says where nothing has changed', () => {
  expect(reportOf('HEAD', [], selection({}))).toBe('Nothing has changed since HEAD: no test runs.')
})
