/**
 * Number and digest of observations, in whatever order they were read. Two readings of the same observations have equal
 * ones: of a file and of a topic, of one partition and of four. Times and keys do not count.
 */
export interface ObservationsDigest {
  /** Readers of another format cannot compare it. */
  readonly format: 1
  readonly count: number
  /** Sum of the hashes of all observations, 16 hex digits. */
  readonly sum: string
}

const FORMAT = 1

const float64 = new Float64Array(1)
const words = new Uint32Array(float64.buffer)
const float32 = new Float32Array(1)
const bits = new Uint32Array(float32.buffer)

/**
 * Digests observations while they are read: each has a hash of 64 bits over its fields, two words of 32 bits, and the
 * digest is the sum of each word modulo 2^32. So it does not depend on the order, and digests of parts add up. It finds
 * accidents, not forgeries.
 */
export class ObservationsDigester {
  private counted = 0
  private high = 0
  private low = 0
  /** The hash of the observation that is being read. */
  private h = 0
  private l = 0

  addRating(user: string, item: string, rating: number): void {
    this.begin(user.length)
    this.mixText(user)
    this.mixText(item)
    // Of 0 and -0 one is read as the other where a topic has it as text.
    float64[0] = rating + 0
    this.mix(words[0]!)
    this.mix(words[1]!)
    this.end()
  }

  /** Only the first `count` of `ids` and `values` are those of the example. */
  addExample(label: number, ids: Uint32Array, values: Float32Array, count = ids.length): void {
    this.begin(count)
    float64[0] = label + 0
    this.mix(words[0]!)
    this.mix(words[1]!)
    for (let k = 0; k < count; k++) {
      float32[0] = values[k]! + 0
      this.mix(ids[k]!)
      this.mix(bits[0]!)
    }
    this.end()
  }

  get count(): number {
    return this.counted
  }

  get digest(): ObservationsDigest {
    const { count, high, low } = this
    return { format: FORMAT, count, sum: hexOf(high) + hexOf(low) }
  }

  private begin(size: number): void {
    this.h = size
    this.l = ~size
  }

  private mixText(text: string): void {
    for (let i = 0; i < text.length; i++) this.mix(text.charCodeAt(i))
  }

  private mix(word: number): void {
    this.h = Math.imul(this.h ^ word, 0x01000193) ^ (this.h >>> 15)
    this.l = Math.imul(this.l + word, 0x9e3779b1) ^ (this.l >>> 13)
  }

  private end(): void {
    this.counted++
    this.high = (this.high + finished(this.h)) >>> 0
    this.low = (this.low + finished(this.l)) >>> 0
  }
}

/** The finalizer of MurmurHash3: each bit of the result depends on each of the word. */
function finished(word: number): number {
  let h = word ^ (word >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** The digest of the observations of both. */
export function addedDigests(
  left: ObservationsDigest,
  right: ObservationsDigest,
): ObservationsDigest {
  const added = (from: number): string =>
    hexOf((wordOf(left.sum, from) + wordOf(right.sum, from)) >>> 0)
  return { format: FORMAT, count: left.count + right.count, sum: added(0) + added(8) }
}

/** Whether two digests are of the same observations; undefined where one is missing or of another format. */
export function areSameObservations(
  left: ObservationsDigest | undefined,
  right: ObservationsDigest | undefined,
): boolean | undefined {
  if (left?.format !== FORMAT || right?.format !== FORMAT) return undefined
  return left.count === right.count && left.sum === right.sum
}

/** Whether a stored value is a digest, perhaps of a later format. */
export function isObservationsDigest(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { format, count, sum } = value as Readonly<Record<string, unknown>>
  if (format !== FORMAT) return Number.isSafeInteger(format)
  return Number.isSafeInteger(count) && typeof sum === 'string' && /^[0-9a-f]{16}$/.test(sum)
}

function hexOf(word: number): string {
  return word.toString(16).padStart(8, '0')
}

function wordOf(sum: string, from: number): number {
  return Number.parseInt(sum.slice(from, from + 8), 16)
}
