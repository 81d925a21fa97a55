import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Clock, sleep } from '../../../core/clock.ts'
import { jobProcessTitle } from './job-identity.ts'

/** Time that a job's process gets to take its last checkpoint after its JobManager is gone. */
const GRACE_MS = 30_000
const POLL_MS = 50

/**
 * Resolves when the process that an earlier JobManager started for a job has ended: it does so by itself, and
 * is killed after some time. A process of another program that got its number is left alone.
 */
export async function awaitLeftOver(pid: number, jobId: string, clock: Clock): Promise<void> {
  const lastMs = clock.monotonicMs() + GRACE_MS
  while (isProcessOf(pid, jobId)) {
    if (clock.monotonicMs() >= lastMs) kill(pid)
    await sleep(clock, POLL_MS)
  }
}

function isProcessOf(pid: number, jobId: string): boolean {
  return hasTitle(pid, jobProcessTitle(jobId))
}

/** Whether a process with this number lives and has this title. */
export function hasTitle(pid: number, title: string): boolean {
  return commandOf(pid).includes(title)
}

/** The command line of a process; empty if there is no such process. */
function commandOf(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
