import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getHeapSpaceStatistics } from 'node:v8'
import { isMainThread } from 'node:worker_threads'
import type { LoopFigures } from './loop-figures.ts'

/*
 * Loaded before a server: looks at the clock and at the processor time of its main thread every two ms. What the thread
 * computed between two looks is a turn of its event loop; what passed beside that, the system let other programs run. SIGUSR2
 * writes the figures to a file and begins again.
 */

/** Time between two looks, ms. */
const EVERY_MS = 2
/** Looks that are kept: of a minute. */
const MOST_LOOKS = 30_000
/** Time between two looks at the heap, ms. */
const HEAP_EVERY_MS = 100

/** Between two looks, ms: the time that passed, and the part of it in which the thread waited for a processor. */
interface Gap {
  readonly wallMs: number
  readonly waitedMs: number
}

if (isMainThread) {
  let turnMs = 0
  let gaps: Gap[] = []
  let youngBytes = 0
  let before = { wall: performance.now(), cpu: cpuMs() }
  setInterval(() => {
    const now = { wall: performance.now(), cpu: cpuMs() }
    const wallMs = now.wall - before.wall
    const cpu = now.cpu - before.cpu
    before = now
    turnMs = Math.max(turnMs, cpu)
    if (gaps.length < MOST_LOOKS)
      gaps.push({ wallMs, waitedMs: Math.max(0, wallMs - cpu - EVERY_MS) })
  }, EVERY_MS).unref()
  setInterval(() => {
    youngBytes = Math.max(youngBytes, youngBytesNow())
  }, HEAP_EVERY_MS).unref()
  process.on('SIGUSR2', () => {
    const figures: LoopFigures = { turnMs, ...waitedOf(gaps), youngBytes }
    writeFileSync(join(process.env['WEIR_TURNS']!, `turns-${process.pid}`), JSON.stringify(figures))
    turnMs = 0
    gaps = []
    youngBytes = 0
  })
}

function waitedOf(gaps: Gap[]): Pick<LoopFigures, 'waited' | 'waitedShare'> {
  gaps.sort((a, b) => a.waitedMs - b.waitedMs)
  const all = gaps.reduce((sum, { wallMs }) => sum + wallMs, 0)
  let passed = 0
  const at = gaps.find(({ wallMs }) => {
    passed += wallMs
    return passed >= all * 0.99
  })
  const waited = { p99Ms: at?.waitedMs ?? 0, worstMs: gaps.at(-1)?.waitedMs ?? 0 }
  const waitedMs = gaps.reduce((sum, gap) => sum + gap.waitedMs, 0)
  return { waited, waitedShare: waitedMs / Math.max(1, all) }
}

function youngBytesNow(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  return space?.space_size ?? 0
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
