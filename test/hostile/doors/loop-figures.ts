import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../../run/until.ts'
import type { Waits } from './waits.ts'

/** What a server's event loop did for a while. */
export interface LoopFigures {
  /** Longest turn, ms of processor time. */
  readonly turnMs: number
  /** How long its thread waited for a processor: at worst, and in all but a hundredth of the time. */
  readonly waited: Waits
  /** Part of the time in which it waited for one. */
  readonly waitedShare: number
  /** Most bytes of the young generation of its heap. */
  readonly youngBytes: number
}

/** Time in which a process says what its loop did, ms. */
const MOST_SILENT_MS = 60_000
const NOTHING: LoopFigures = {
  ...{ turnMs: 0, waited: { p99Ms: 0, worstMs: 0 }, waitedShare: 0 },
  youngBytes: 0,
}

/** Environment of a server whose loop is watched; `folder` gets the figures. */
export function loopWatched(folder: string): Readonly<Record<string, string>> {
  const watch = new URL('loop-watch.ts', import.meta.url).href
  return { WEIR_TURNS: folder, NODE_OPTIONS: `--import=${watch}` }
}

/**
 * The figures of the event loop of a process since the last time; nothing for a process that has ended. One that does not say
 * them is still in its turn.
 */
export async function loopFigures(folder: string, pid: number): Promise<LoopFigures> {
  const file = join(folder, `turns-${pid}`)
  rmSync(file, { force: true })
  const isWritten = (): boolean => existsSync(file) && readFileSync(file, 'utf8').endsWith('}')
  try {
    process.kill(pid, 'SIGUSR2')
  } catch {
    return NOTHING
  }
  const limits = { timeoutMs: MOST_SILENT_MS, everyMs: 5 }
  const said = until('the process says how long its turns were', isWritten, limits)
  return await said.then(
    () => JSON.parse(readFileSync(file, 'utf8')) as LoopFigures,
    () => ({ ...NOTHING, turnMs: MOST_SILENT_MS }),
  )
}
