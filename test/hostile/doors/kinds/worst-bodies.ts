import { gzipSync } from 'node:zlib'
import type { Random } from '../../../../src/core/random.ts'

const KIB = 1024
/** Bytes of a body before it is compressed: below and above each limit of the ports. */
const SIZES = [KIB, 64 * KIB, 1024 * KIB, 8192 * KIB] as const

/** Texts that cost the most for their bytes, by what is costly in them. */
const SHAPES: Readonly<Record<string, (bytes: number) => string>> = {
  'empty objects': (bytes) => `{"inputs":[${'{},'.repeat(bytes / 3)}{}]}`,
  numbers: (bytes) => `{"inputs":[${'1,'.repeat(bytes / 2)}1]}`,
  'long numbers': (bytes) => `[${`${'9'.repeat(300)}e-300,`.repeat(bytes / 306)}1]`,
  fields: (bytes) => `{${Array.from({ length: bytes / 10 }, (_, i) => `"k${i}":1`).join(',')}}`,
  depth: (bytes) => '['.repeat(bytes),
  escapes: (bytes) => `{"model":"${'\\u0041'.repeat(bytes / 6)}"}`,
  'one text': (bytes) => `"${'a'.repeat(bytes)}"`,
  lines: (bytes) => '1,2,3\n'.repeat(bytes / 6),
  'short lines': (bytes) => '\n'.repeat(bytes),
  'lines of objects': (bytes) => '{"user":"1","item":"2","rating":3}\n'.repeat(bytes / 35),
}

const TYPES = [
  'application/json',
  'text/csv',
  'application/x-ndjson',
  'application/octet-stream',
] as const

/** A body that is costly to read, with its fields. */
export interface WorstBody {
  readonly body: Uint8Array
  readonly lines: readonly string[]
}

const made = new Map<string, Uint8Array>()

/** One of the bodies, as one of the types of content, plain or compressed. */
export function worstBody(random: Random): WorstBody {
  const one = <T>(values: readonly T[]): T => values[random.below(values.length)]!
  const [shape, size, type] = [one(Object.keys(SHAPES)), one(SIZES), one(TYPES)]
  const isCompressed = random.below(4) === 0
  const name = `${shape} ${size} ${isCompressed}`
  const body = made.get(name) ?? bytesOf(SHAPES[shape]!(size), isCompressed)
  made.set(name, body)
  const coding = isCompressed ? ['content-encoding: gzip'] : []
  return { body, lines: [`content-type: ${type}`, ...coding] }
}

function bytesOf(text: string, isCompressed: boolean): Uint8Array {
  return isCompressed ? gzipSync(text) : Buffer.from(text)
}
