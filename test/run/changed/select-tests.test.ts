import { describe, expect, it } from 'vitest'
import { type Change, selectTests, wallSeconds } from './select-tests.ts'
import type { Service } from './services.ts'

const ARCHITECTURE = 'test/architecture/rooms.test.ts'

/** A change in a graph whose edges are written as `from to` or `from to steps`. */
function change(
  changed: readonly string[],
  edges: readonly string[],
  {
    costs = {},
    services = [],
  }: { costs?: Record<string, number>; services?: readonly Service[] } = {},
): Change {
  const all = edges.map((line) => {
    const [from, to, steps = '1'] = line.split(' ')
    return { from: from!, to: to!, steps: Number(steps) }
  })
  const files = new Set([ARCHITECTURE, ...all.flatMap(({ from, to }) => [from, to])])
  return {
    graph: { files, edges: all },
    changed,
    costs: new Map([[ARCHITECTURE, 0], ...Object.entries(costs)]),
    services,
  }
}

const namesOf = (tests: readonly { file: string }[]) => tests.map(({ file }) => file)

describe('the tests of a change', () => {
  it('are those that reach it', () => {
    const { run, leftOut } = selectTests(
      change(['src/a.ts'], ['test/a.test.ts src/a.ts', 'test/b.test.ts src/b.ts']),
    )
    expect(namesOf(run)).toEqual([ARCHITECTURE, 'test/a.test.ts'])
    expect(leftOut).toEqual([])
  })

  it('are only those of the architecture where none reaches it', () => {
    const { run } = selectTests(change(['LICENSE'], ['test/a.test.ts src/a.ts']))
    expect(namesOf(run)).toEqual([ARCHITECTURE])
  })

  it('are taken by distance', () => {
    const edges = ['test/far.test.ts src/a.ts 3', 'test/near.test.ts src/a.ts 1']
    const { run } = selectTests(change(['src/a.ts'], edges))
    expect(namesOf(run)).toEqual([ARCHITECTURE, 'test/near.test.ts', 'test/far.test.ts'])
  })

  it('of one distance begin with that of the same name, then of the same folder, then the cheapest', () => {
    const tests = ['x/slow', 'x/fast', 'kafka/other', 'kafka/sink']
    const edges = tests.map((name) => `test/system/${name}.test.ts src/kafka/sink.ts`)
    const costs = { 'test/system/x/fast.test.ts': 1 }
    const { run } = selectTests(change(['src/kafka/sink.ts'], edges, { costs }))
    expect(namesOf(run).slice(1)).toEqual(
      ['kafka/sink', 'kafka/other', 'x/fast', 'x/slow'].map(
        (name) => `test/system/${name}.test.ts`,
      ),
    )
  })

  it('run before others of the kind, and leave out what does not fit, but take shorter ones after it', () => {
    const edges = ['near', 'long', 'short'].map(
      (name, i) => `test/system/${name}.test.ts src/a.ts ${i + 1}`,
    )
    const costs = {
      'test/system/near.test.ts': 20,
      'test/system/long.test.ts': 60,
      'test/system/short.test.ts': 15,
    }
    const { run, leftOut, seconds } = selectTests(change(['src/a.ts'], edges, { costs }), {
      seconds: 40,
    })
    expect(namesOf(run).slice(1)).toEqual(['test/system/near.test.ts', 'test/system/short.test.ts'])
    expect(namesOf(leftOut)).toEqual(['test/system/long.test.ts'])
    expect(seconds).toBe(20)
  })

  it('have a share of the time for unit tests, and the rest for system tests', () => {
    const units = ['a', 'b', 'c'].map((name, i) => `test/${name}.test.ts src/x.ts ${i + 1}`)
    const edges = [...units, 'test/system/d.test.ts src/x.ts 9']
    const costs = { 'test/a.test.ts': 10, 'test/b.test.ts': 10, 'test/c.test.ts': 10 }
    const { run, leftOut } = selectTests(change(['src/x.ts'], edges, { costs }), {
      seconds: 30,
      unitSeconds: 10,
    })
    expect(namesOf(run).slice(1)).toEqual([
      'test/a.test.ts',
      'test/b.test.ts',
      'test/system/d.test.ts',
    ])
    expect(namesOf(leftOut)).toEqual(['test/c.test.ts'])
  })

  it('are always those that changed, however long they take', () => {
    const edges = ['test/system/a.test.ts src/a.ts', 'test/b.test.ts src/a.ts']
    const costs = { 'test/system/a.test.ts': 500 }
    const changed = ['src/a.ts', 'test/system/a.test.ts']
    const { run, leftOut } = selectTests(change(changed, edges, { costs }))
    expect(namesOf(run)).toContain('test/system/a.test.ts')
    expect(namesOf(run)).toContain('test/b.test.ts')
    expect(leftOut).toEqual([])
  })

  it('are no deleted test files', () => {
    const { run } = selectTests(change(['test/gone.test.ts'], ['test/a.test.ts src/a.ts']))
    expect(namesOf(run)).toEqual([ARCHITECTURE])
  })

  it.each(['package.json', 'vitest.config.ts', 'test/run/until.ts', 'test/no-warnings.ts'])(
    'are all, those that reach it first, where %s changed',
    (file) => {
      const edges = ['test/a.test.ts src/a.ts', `test/z.test.ts ${file} 2`]
      const { run, breaksAll } = selectTests(change([file], edges))
      expect(namesOf(run)).toEqual([ARCHITECTURE, 'test/z.test.ts', 'test/a.test.ts'])
      expect(breaksAll).toEqual([file])
    },
  )

  it.each(['test/run/changed/git.ts', 'test/run/waits.test.ts', 'create/package.json'])(
    'are not all where %s changed',
    (file) => {
      expect(selectTests(change([file], ['test/a.test.ts src/a.ts'])).breaksAll).toEqual([])
    },
  )
})

describe('the service of changed code', () => {
  const KAFKA: Service = { name: 'Kafka', users: ['src/kafka/'], starts: ['test/broker.ts'] }
  const services = [KAFKA]
  const edges = [
    'test/system/near.test.ts src/kafka/sink.ts',
    'test/system/real.test.ts src/kafka/sink.ts 5',
    'test/system/real.test.ts test/broker.ts',
    'test/system/shorter.test.ts src/kafka/sink.ts 6',
    'test/system/shorter.test.ts test/broker.ts',
  ]

  it('has its nearest test first', () => {
    const { run, missingServices } = selectTests(
      change(['src/kafka/sink.ts'], edges, { services }),
      { seconds: 10, lanes: 1 },
    )
    expect(namesOf(run)).toEqual([ARCHITECTURE, 'test/system/real.test.ts'])
    expect(missingServices).toEqual([])
  })

  it('has the nearest test that fits', () => {
    const costs = { 'test/system/real.test.ts': 500 }
    const facts = change(['src/kafka/sink.ts'], edges, { services, costs })
    const { run } = selectTests(facts, { seconds: 10, lanes: 1 })
    expect(namesOf(run)).toEqual([ARCHITECTURE, 'test/system/shorter.test.ts'])
  })

  it('is missing where only tests that are left out start it', () => {
    const facts = change(['src/kafka/sink.ts'], edges, { services })
    expect(selectTests(facts, { seconds: 1 }).missingServices).toEqual(['Kafka'])
  })

  it('is not missing where no test that the change can reach starts it', () => {
    const facts = change(['src/b.ts'], [...edges, 'test/b.test.ts src/b.ts'], { services })
    expect(selectTests(facts, { seconds: 1 }).missingServices).toEqual([])
  })
})

describe('the time of tests', () => {
  const test = (kind: 'unit' | 'system', seconds: number) => ({ file: '', kind, steps: 1, seconds })

  it('is that of unit tests, then of system tests, on all lanes', () => {
    const tests = [1, 1].map((seconds) => test('unit', seconds))
    expect(wallSeconds([...tests, test('system', 20), test('system', 10)], 2)).toBe(1 + 20)
    expect(wallSeconds([test('system', 20), test('system', 20), test('system', 10)], 2)).toBe(25)
  })

  it('is nothing without tests', () => {
    expect(wallSeconds([], 2)).toBe(0)
  })
})
