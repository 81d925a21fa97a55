import { systemClock } from '../../src/core/clock.ts'
import { messageOf } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'
import { Child } from '../../test/hostile/child.ts'
import { DECODERS } from './decoder-cases.ts'
import type { DecoderSlice, SliceResult } from './decoder-process.ts'

/** Options of a fuzz of decoders. */
export interface DecoderFuzzOptions {
  readonly seed: number
  readonly minutes: number
  readonly say: (line: string) => void
}

/** Result of a fuzz of decoders. */
export interface DecoderFuzzReport {
  readonly cases: number
  /** Cases that this machine would decode in an hour. */
  readonly casesPerHour: number
  readonly decoders: number
  /** Longest case, ms. */
  readonly slowestMs: number
  readonly violations: readonly string[]
}

/** Cases of one decoder in one message. */
const SLICE = 2_000
/** Time in which they must be decoded, ms: a case takes some microseconds. */
const HANG_MS = 30_000
/** Growth of memory in the second half that the allocator explains. */
const MOST_GROWTH_BYTES = 48 * 1024 * 1024
/** Cases from which memory says something: the heap grows up to some 600,000, and then stays. */
const FEWEST_CASES = 1_200_000

/** Gives every decoder mutated bytes in turn: none may crash, hang, or keep memory. */
export async function runDecoderFuzz(options: DecoderFuzzOptions): Promise<DecoderFuzzReport> {
  const { seed, minutes, say } = options
  const process = new URL('decoder-process.ts', import.meta.url)
  await using child = new Child(process, [], { execArgv: ['--expose-gc'] })
  const random = seededRandom(seed)
  const startMs = systemClock.monotonicMs()
  const elapsedMs = (): number => systemClock.monotonicMs() - startMs
  const violations: string[] = []
  let [cases, slowestMs, earlyBytes, endBytes] = [0, 0, 0, 0]
  for (let turn = 0; violations.length === 0; turn++) {
    for (let decoder = 0; decoder < DECODERS.length; decoder++) {
      const slice = { decoder, seed: random.below(2 ** 31), cases: SLICE }
      const result = await resultOf(child, slice)
      cases += SLICE
      if (typeof result === 'string') violations.push(result)
      if (typeof result === 'string') break
      slowestMs = Math.max(slowestMs, result.slowestMs)
      endBytes = result.residentBytes
      if (result.wrong !== undefined) violations.push(result.wrong)
    }
    // The code of each decoder is compiled, its caches are filled, and the heap has its size.
    if (turn <= 1 || elapsedMs() < minutes * 30_000) earlyBytes = endBytes
    if (elapsedMs() >= minutes * 60_000) break
  }
  const growth = endBytes - earlyBytes
  if (cases >= FEWEST_CASES && growth > MOST_GROWTH_BYTES) {
    violations.push(`memory grew by ${Math.round(growth / 2 ** 20)} MiB in ${cases} cases`)
  }
  const casesPerHour = Math.round((cases / elapsedMs()) * 3_600_000)
  say(`${cases} mutated inputs of ${DECODERS.length} decoders, ${casesPerHour} an hour`)
  return { cases, casesPerHour, decoders: DECODERS.length, slowestMs, violations }
}

/** The result of a slice, or what ended the process. */
async function resultOf(child: Child, slice: DecoderSlice): Promise<SliceResult | string> {
  const place = `${DECODERS[slice.decoder]!.name}: seed ${slice.seed} of ${slice.cases} cases`
  const late = Promise.withResolvers<string>()
  const cancel = systemClock.after(HANG_MS, () => {
    late.resolve(`${place}: no end in ${HANG_MS} ms`)
    child.kill()
  })
  try {
    return await Promise.race([child.ask<SliceResult>(slice), late.promise])
  } catch (error) {
    return `${place}: ${messageOf(error)}`
  } finally {
    cancel()
  }
}
