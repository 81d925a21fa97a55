import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Benchmark } from '../harness/benchmark.ts'
import { scaled } from '../load/model-shape.ts'
import { rounded } from '../load/statistics.ts'
import { weirCommand } from '../served/weir-run.ts'

const RATINGS = 200_000_000
const ITERATIONS = 5
const THREADS = 2
/** Memory for sorting. */
const MEMORY = '512mb'
const POLL_MS = 100

/**
 * `train-als-spilled`: `weir train als --memory` on generated ratings in a text file, beside the same command
 * without it. A rating counts once for both half iterations.
 */
export const trainAlsSpilledBenchmark: Benchmark = {
  name: 'train-als-spilled',
  summary: `ALS on 200 M ratings in files, 50 factors, ${ITERATIONS} iterations, ${THREADS} threads, against memory`,
  async run({ scale, say, scratch }) {
    const weir = weirCommand(say)
    const file = join(scratch, 'ratings.data')
    say('generating ratings')
    await promisify(execFile)(process.execPath, [
      ...[weir, 'generate', 'ratings', '--output', file],
      ...['--users', String(scaled(1_384_930, scale)), '--items', String(scaled(267_440, scale))],
      ...['--ratings', String(scaled(RATINGS, scale))],
    ])
    const train = async (...flags: string[]): Promise<Training> => {
      const training = await trained([weir, 'train', 'als', '--ratings', file, ...flags], scratch)
      const { rate, totalSeconds, peakGb } = training
      say(`${flags.join(' ')}: ${rate.toFixed(0)} ratings/s, ${totalSeconds} s, ${peakGb} GB`)
      return training
    }
    const spilled = await train('--memory', MEMORY)
    const inMemory = await train()
    return [
      {
        name: 'train-als-spilled',
        value: spilled.rate,
        unit: 'ratings/s',
        rival: inMemory.rate,
        rivalName: 'in memory',
        targetRatio: 0.7,
        details: {
          ratings: spilled.ratings,
          readSortAndTrainSeconds: spilled.totalSeconds,
          inMemorySeconds: inMemory.totalSeconds,
          trainRmse: rounded(spilled.trainRmse),
          sameAsInMemory: String(spilled.trainRmse === inMemory.trainRmse),
        },
      },
      {
        name: 'train-als-spilled-memory',
        value: spilled.peakGb,
        unit: 'GB at most resident',
        target: 6,
        higher: false,
        rival: inMemory.peakGb,
        rivalName: 'in memory',
        details: { ratings: spilled.ratings, memory: MEMORY },
      },
    ]
  },
}

/** Figures of one training process. */
interface Training {
  readonly ratings: number
  /** Ratings of an iteration a second. */
  readonly rate: number
  readonly trainRmse: number
  /** From the start of the process to its end. */
  readonly totalSeconds: number
  readonly peakGb: number
}

async function trained(words: readonly string[], scratch: string): Promise<Training> {
  const settings = ['--iterations', ITERATIONS, '--threads', THREADS, '--no-publish', '--json']
  const start = performance.now()
  const args = [...words, ...settings.map(String), '--data-dir', join(scratch, 'data')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (text) => {
    output += String(text)
  })
  let peak = 0
  const poll = setInterval(() => {
    peak = Math.max(peak, highWaterBytes(child.pid as number))
  }, POLL_MS)
  await new Promise((resolve) => child.once('close', resolve))
  clearInterval(poll)
  const result = JSON.parse(output) as Record<'ratings' | 'seconds' | 'trainRmse', number>
  return {
    ratings: result.ratings,
    rate: (result.ratings * ITERATIONS) / result.seconds,
    trainRmse: result.trainRmse,
    totalSeconds: rounded((performance.now() - start) / 1000),
    peakGb: rounded(peak / 1e9),
  }
}

/** Largest resident memory of a process so far (Linux); 0 once it has ended. */
function highWaterBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}
