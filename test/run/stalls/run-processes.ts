import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Name of the variable that marks the processes of a run. */
export const RUN_VARIABLE = 'TEST_RUN'

/** Time of a tick in `/proc`, ms, on every architecture of Linux. */
const TICK_MS = 10

/** A process that a run has started, at any depth, and that still runs. */
export interface RunProcess {
  readonly pid: number
  /** 1 where its parent has ended. */
  readonly parent: number
  /** State letter of Linux: R runs, S waits, T is stopped. */
  readonly state: string
  /** Processor time since its start, ms. */
  readonly cpuMs: number
  /** Program and arguments. */
  readonly command: string
  /** The test file of a worker; undefined for other processes. */
  readonly file: string | undefined
  /** Ends of pipes that it holds, as `pipe:[number]`. */
  readonly pipes: readonly string[]
}

/** Name of the file, in the folder of a run, in which a worker notes its test file. */
export const workerFile = (pid: number): string => `${pid}.file`

/**
 * The processes whose environment says that they belong to a run, but for this one. None where there is no `/proc`. Those
 * that are ending meanwhile are left out.
 */
export function processesOfRun(run: string, folder: string): readonly RunProcess[] {
  const pids = attempt(() => readdirSync('/proc').filter((name) => /^\d+$/.test(name))) ?? []
  return pids.flatMap((pid) => {
    const found = Number(pid) === process.pid ? undefined : attempt(() => read(pid, run, folder))
    return found === undefined ? [] : [found]
  })
}

/**
 * Those of a run that belong to its test files: their workers, what these have started, and what has lost its parent. The
 * services that files share belong to this process.
 */
export function ofFiles(all: readonly RunProcess[]): readonly RunProcess[] {
  const byPid = new Map(all.map((one) => [one.pid, one]))
  const isOfFile = ({ parent, file }: RunProcess): boolean => {
    if (file !== undefined) return true
    const above = byPid.get(parent)
    return above === undefined ? parent !== process.pid : isOfFile(above)
  }
  return all.filter(isOfFile)
}

function read(pid: string, run: string, folder: string): RunProcess | undefined {
  const text = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8')
  if (!text('environ').split('\0').includes(`${RUN_VARIABLE}=${run}`)) return undefined
  const stat = text('stat')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const command = text('cmdline').replaceAll('\0', ' ').trim()
  const ends = readdirSync(`/proc/${pid}/fd`).map(
    (fd) => attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? '',
  )
  return {
    pid: Number(pid),
    parent: Number(fields[1]),
    state: fields[0]!,
    cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
    command,
    file: attempt(() => readFileSync(`${folder}/${workerFile(Number(pid))}`, 'utf8')),
    pipes: [...new Set(ends.filter((end) => end.startsWith('pipe:')))],
  }
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
