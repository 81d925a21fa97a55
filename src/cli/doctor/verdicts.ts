import { bytesText } from '../text/bytes.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

const OLDEST_NODE = [22, 18] as const

/** Judges the version of Node, such as `24.1.0`. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST_NODE
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    return problem(
      'node',
      version,
      `install Node ${OLDEST_NODE.join('.')} or newer; older ones cannot run it`,
    )
  }
  if (major % 2 === 1) {
    return warning('node', version, 'odd versions of Node have no long support; use an even one')
  }
  return ok('node', version)
}

/** Cores that a job with one slot and one query thread keeps busy. */
const USEFUL_CORES = 2

/** Judges how many threads run at the same time. */
export function coresFinding(cores: number): Finding {
  if (cores >= USEFUL_CORES) return ok('cores', String(cores))
  return warning(
    'cores',
    String(cores),
    'slots and query threads share one core: answers wait for processing; use two or more',
  )
}

const SMALLEST_MEMORY_BYTES = 1024 ** 3

/** Judges the memory that this process may use: that of the machine, or the limit of its container. */
export function memoryFinding(bytes: number): Finding {
  if (bytes >= SMALLEST_MEMORY_BYTES) return ok('memory', bytesText(bytes))
  return warning(
    'memory',
    bytesText(bytes),
    'keep the state budget below it: -D state.backend.memory.budget=N, or raise the limit of the container',
  )
}

/** Judges an optional native module; `fallback` says what takes its place. */
export function nativeModuleFinding(
  name: string,
  failure: string | undefined,
  fallback: string,
): Finding {
  if (failure === undefined) return ok(name, 'loads')
  return warning(
    name,
    `does not load (${failure.split('\n')[0]})`,
    `${fallback}; see the supported platforms in the README`,
  )
}

const LEAST_FREE_BYTES = 1024 ** 3

/** Judges the free space of the disk of a folder. */
export function freeSpaceFinding(folder: string, freeBytes: number): Finding {
  const found = `${bytesText(freeBytes)} free at ${folder}`
  if (freeBytes >= LEAST_FREE_BYTES) return ok('disk', found)
  return problem(
    'disk',
    found,
    'free space, or take another --data-dir: log, checkpoints and spilled state need about three times the size of the model',
  )
}

const SLOW_FSYNC_MS = 20
const UNLIKELY_FSYNC_MS = 0.02

/** Judges the median time of an fsync of 4 kB. */
export function fsyncFinding(medianMs: number): Finding {
  const found = `${medianMs.toFixed(2)} ms for 4 kB (median)`
  if (medianMs < UNLIKELY_FSYNC_MS) {
    return warning(
      'fsync',
      found,
      'no disk is so fast: this file system (tmpfs?) or its cache does not store what it confirms; acknowledged records are lost in a power cut',
    )
  }
  if (medianMs <= SLOW_FSYNC_MS) return ok('fsync', found)
  return warning(
    'fsync',
    found,
    'transactions and acknowledged observations wait for it; use a local SSD for --data-dir',
  )
}

const MOST_SKEW_MS = 1000

/** Judges the difference between this machine's clock and another's; `uncertainMs` is half the time of the question. */
export function clockFinding(
  other: string,
  { skewMs, uncertainMs }: { readonly skewMs: number; readonly uncertainMs: number },
): Finding {
  const found = `${skewMs >= 0 ? '+' : ''}${Math.round(skewMs)} ms against ${other} (±${Math.ceil(uncertainMs)} ms)`
  if (Math.abs(skewMs) - uncertainMs <= MOST_SKEW_MS) return ok('clock', found)
  return warning(
    'clock',
    found,
    'synchronise the clocks (chrony, systemd-timesyncd): timestamps, retention and reads bounded by age depend on them',
  )
}

/** Who listens on a port of Weir. */
export type PortUse =
  | { readonly kind: 'free' }
  | { readonly kind: 'used' }
  | { readonly kind: 'forbidden'; readonly reason: string }

/** Judges a port of Weir; `role` is what listens there by default. */
export function portFinding(port: number, role: string, use: PortUse): Finding {
  const check = `port ${port}`
  switch (use.kind) {
    case 'free':
      return ok(check, `free (${role})`)
    case 'used':
      return warning(
        check,
        `in use (${role})`,
        'fine if a job of Weir runs here; else choose another port when you start one',
      )
    case 'forbidden':
      return problem(check, `cannot be opened: ${use.reason} (${role})`, 'choose another port')
  }
}
