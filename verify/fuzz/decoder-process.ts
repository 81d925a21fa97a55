import { isWeirError, messageOf } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'
import { DECODERS } from './decoder-cases.ts'
import { mutated } from './mutations.ts'

/*
 * Decodes mutated bytes in a separate process: a crash of a native library ends only this one, and a decoder that
 * never returns is noticed from outside.
 */

/** Cases of one decoder. */
export interface DecoderSlice {
  readonly decoder: number
  readonly seed: number
  readonly cases: number
}

/** What the cases showed. */
export interface SliceResult {
  /** The first case that failed otherwise than with an error of Weir, in words. */
  readonly wrong: string | undefined
  /** Bytes of memory after a collection. */
  readonly residentBytes: number
  /** Longest time of a case that was measured twice where the first time was long, ms. */
  readonly slowestMs: number
}

/** A case that takes longer, ms, is measured again, in processor time: the machine may have been busy. */
const SLOW_MS = 100
/** A case of some hundred bytes that takes longer holds up everyone, ms. */
const MOST_MS = 250
/** Codes that say that Weir itself has failed. */
const OWN_FAULTS = new Set(['ILLEGAL_STATE'])

async function decodeSlice({ decoder: index, seed, cases }: DecoderSlice): Promise<SliceResult> {
  const { name, samples, decode } = DECODERS[index]!
  const random = seededRandom(seed)
  let wrong: string | undefined
  let slowestMs = 0
  for (let i = 0; i < cases; i++) {
    const bytes = mutated(samples[random.below(samples.length)]!, random)
    const sent = Buffer.from(bytes)
    const fault = await faultOf(() => decode(bytes))
    if (fault.text !== undefined) wrong ??= `${name}: ${fault.text}; bytes ${base64(sent)}`
    const ms = fault.ms > SLOW_MS ? await processorMsOf(() => decode(Buffer.from(sent))) : fault.ms
    if (ms > MOST_MS) wrong ??= `${name}: ${Math.round(ms)} ms; bytes ${base64(sent)}`
    slowestMs = Math.max(slowestMs, ms)
  }
  globalThis.gc?.()
  return { wrong, slowestMs, residentBytes: process.memoryUsage.rss() }
}

/** How long a decoder took, and what it threw beside errors of Weir. */
async function faultOf(
  decode: () => unknown,
): Promise<{ readonly ms: number; readonly text?: string }> {
  const startMs = performance.now()
  try {
    await decode()
  } catch (error) {
    const isTyped = isWeirError(error) && !OWN_FAULTS.has(error.code)
    if (!isTyped) return { ms: performance.now() - startMs, text: messageOf(error) }
  }
  return { ms: performance.now() - startMs }
}

/** How much processor time a decoder took, ms. */
async function processorMsOf(decode: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  try {
    await decode()
  } catch {
    // The first time has shown what it throws.
  }
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

const base64 = (bytes: Buffer): string => bytes.toString('base64')

process.on('message', async (slice: DecoderSlice) => process.send!(await decodeSlice(slice)))
process.on('disconnect', () => process.exit())
