import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BENCHMARKS } from '../../benchmarks/benchmarks.ts'
import { BENCHMARK_RESULTS } from '../../scripts/benchmark-results.ts'

const page = readFileSync(new URL('../../docs/reference/benchmarks.md', import.meta.url), 'utf8')
const methods = page
  .split('\n')
  .filter((line) => line.startsWith('- **`'))
  .flatMap((line) => [...line.split('**: ')[0]!.matchAll(/`([\w-]+)`/g)].map(([, name]) => name!))

/** Whether a benchmark, or the one that a figure is of, has a method on the page. */
const hasMethod = (name: string): boolean =>
  methods.some((method) => name === method || name.startsWith(`${method}-`))

describe('docs/reference/benchmarks.md', () => {
  it('has a method for each benchmark, and for no other', () => {
    const names = BENCHMARKS.flatMap(({ name, parts = [] }) => [
      name,
      ...parts.map((part) => part.name),
    ])
    expect(names.filter((name) => !hasMethod(name))).toEqual([])
    expect(methods.filter((method) => !names.includes(method))).toEqual([])
  })

  it('has a method for each result', () => {
    const without = BENCHMARK_RESULTS.filter(({ benchmark }) => !hasMethod(benchmark))
    expect(without).toEqual([])
  })
})

describe('each result of the benchmarks', () => {
  it('has a figure or a ratio, a day, and a goal where it says that one was met', () => {
    const wrong = BENCHMARK_RESULTS.filter(
      ({ weir, ratio, date, goal, met }) =>
        (weir ?? ratio) === undefined ||
        !/^\d{4}-\d\d-\d\d$/.test(date) ||
        (goal === undefined) !== (met === undefined),
    )
    expect(wrong).toEqual([])
  })

  it('has a rival where it has a ratio', () => {
    const wrong = BENCHMARK_RESULTS.filter(
      ({ rival, ratio }) => rival === undefined && ratio !== undefined,
    )
    expect(wrong).toEqual([])
  })
})
