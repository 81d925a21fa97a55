import { execFileSync } from 'node:child_process'

/** Greatest seed of a run of tests, exclusive. */
const SEEDS = 1_000_000

/**
 * Seed of this run of tests: WEIR_SEED, or a number made from the files of the commit. So a commit has the same
 * cases on each machine, and each new commit has other cases. Without git: a number made from the clock.
 */
export function commitSeed(): number {
  const fixed = process.env['WEIR_SEED']
  if (fixed !== undefined) return Number(fixed)
  seedOfFiles ??= readSeed()
  return seedOfFiles
}

/** Git is asked once for each process. */
let seedOfFiles: number | undefined

function readSeed(): number {
  try {
    const tree = execFileSync('git', ['rev-parse', 'HEAD^{tree}'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return Number.parseInt(tree.slice(0, 12), 16) % SEEDS
  } catch {
    return Math.floor(Date.now() / 1000) % SEEDS
  }
}
