import { readFileSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { afterAll, expect } from 'vitest'
import { appendCosts, COSTS_VARIABLE } from '../costs/file-costs.ts'
import { noteWait, takeWaits } from '../waits.ts'

/*
 * Setup of each test file: measures what the file costs and what it waits for.
 */

const ROOT = resolve(import.meta.dirname, '../../..')

/** Clock ticks a second in `/proc`, on every architecture of Linux. */
const TICKS = 100

/** Processor seconds of this process and of its children that have ended. Without `/proc`: of this process. */
function processorSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
}

/** A condition that notes the time from its first look to its last one. */
function noted<A extends unknown[]>(
  condition: (...args: A) => unknown,
): (...args: A) => Promise<unknown> {
  let since: number | undefined
  return async (...args) => {
    since ??= performance.now()
    try {
      return await condition(...args)
    } finally {
      noteWait('condition', since)
    }
  }
}

const path = process.env[COSTS_VARIABLE]
if (path !== undefined) {
  const startMs = performance.now()
  const before = processorSeconds()
  const poll = expect.poll
  expect.poll = ((condition: (options: { signal: AbortSignal }) => unknown, options?: object) =>
    poll(noted(condition), options)) as typeof expect.poll
  afterAll(() => {
    expect.poll = poll
    appendCosts(path, {
      file: relative(ROOT, expect.getState().testPath!).split(sep).join('/'),
      seconds: (performance.now() - startMs) / 1000,
      processorSeconds: processorSeconds() - before,
      waits: takeWaits(),
    })
  })
}
