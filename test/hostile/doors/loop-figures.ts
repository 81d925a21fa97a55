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
}

const NOTHING: LoopFigures = { turnMs: 0, waited: { p99Ms: 0, worstMs: 0 } }

/** Environment of a server whose loop is watched; `folder` gets the figures. */
export function loopWatched(folder: string): Readonly<Record<string, string>> {
  const watch = new URL('loop-watch.ts', import.meta.url).href
  return { WEIR_TURNS: folder, NODE_OPTIONS: `--import=${watch}` }
}

/** The figures of the event loop of a process since the last time; nothing for a process that has ended. */
export async function loopFigures(folder: string, pid: number): Promise<LoopFigures> {
  const file = join(folder, `turns-${pid}`)
  rmSync(file, { force: true })
  const isWritten = (): boolean => existsSync(file) && readFileSync(file, 'utf8').endsWith('}')
  try {
    process.kill(pid, 'SIGUSR2')
    const limits = { timeoutMs: 30_000, everyMs: 5 }
    await until('the process says how long its turns were', isWritten, limits)
    return JSON.parse(readFileSync(file, 'utf8')) as LoopFigures
  } catch {
    return NOTHING
  }
}
