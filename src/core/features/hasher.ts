import { mergeFeatures } from '../feature.ts'
import { murmur3 } from '../hash/murmur3.ts'
import { crossesOf, type FeatureHashing } from './hashing.ts'

/** Most features of an example with its crosses: a line of a stranger must not become a thousand times longer. */
export const MOST_HASHED = 65_536
/** The prime of the hash of Fowler, Noll and Vo, with which VW combines the hashes of a cross. */
const FNV_PRIME = 16_777_619
const ZERO = 0x30
const NINE = 0x39
const encoder = new TextEncoder()

/** A namespace that crosses name, with the places of its features of this example. */
interface CrossedNamespace {
  readonly name: Uint8Array
  readonly places: number[]
  isSeen: boolean
}

/**
 * Hashes the names of features to ids of weights below 2^bits, as Vowpal Wabbit does by default (`--hash strings`):
 * MurmurHash3 of 32 bits, as in the `FeatureHasher` of scikit-learn, of the name, with the hash of its namespace as the
 * seed. A name of digits is its number plus that seed, so that ids of LIBSVM files stay what they are, modulo 2^bits. A
 * feature of a cross has the product of the values; its hash is combined as in VW (`interactions_predict.h`). Values of one
 * id are added up.
 */
export class FeatureHasher {
  /** Ids, ascending, and values of the example, once it is finished; only the first `count` are valid. */
  ids = new Uint32Array(256)
  values = new Float32Array(256)
  count = 0
  private readonly mask: number
  private readonly namespaces: readonly CrossedNamespace[]
  /** For each cross, the places of the features of its namespaces. */
  private readonly crosses: readonly (readonly (readonly number[])[])[]
  private seed = 0
  private scale = 1
  private crossed: number[] | undefined

  constructor({ bits, crosses }: FeatureHashing) {
    this.mask = 2 ** bits - 1
    const names = crossesOf(crosses)
    const places = new Map(names.flat().map((name) => [name, [] as number[]]))
    this.namespaces = [...places].map(([name, own]) => ({
      name: encoder.encode(name),
      places: own,
      isSeen: false,
    }))
    this.crosses = names.map((cross) => cross.map((name) => places.get(name)!))
  }

  /** Begins an example, in the namespace without a name. */
  begin(): void {
    this.count = 0
    for (const { places } of this.namespaces) places.length = 0
    this.enter(NOTHING, 0, 0)
  }

  /** What follows is in the namespace with this name; values are multiplied by `scale`. */
  enter(bytes: Uint8Array, from: number, to: number, scale = 1): void {
    this.seed = from === to ? 0 : hashOfName(bytes, from, to, 0)
    this.scale = scale
    const crossed = this.namespaces.find(({ name }) => isEqual(name, bytes, from, to))
    if (crossed !== undefined) crossed.isSeen = true
    this.crossed = crossed?.places
  }

  /** Namespaces of crosses that no example has had so far. */
  get missing(): readonly string[] {
    const missing = this.namespaces.filter(({ isSeen }) => !isSeen)
    return missing.map(({ name }) => new TextDecoder().decode(name))
  }

  /** A feature of the namespace, by its name. */
  add(bytes: Uint8Array, from: number, to: number, value: number): void {
    this.crossed?.push(this.count)
    this.push(hashOfName(bytes, from, to, this.seed), value * this.scale)
  }

  /** Adds the crosses; false where they make more than `MOST_HASHED` features. */
  finish(): boolean {
    for (const cross of this.crosses) {
      const features = cross.reduce((product, { length }) => product * length, 1)
      if (this.count + features > MOST_HASHED) return false
      this.cross(cross, { depth: 0, half: 0, value: 1, from: 0 })
    }
    const { ids, mask } = this
    for (let k = 0; k < this.count; k++) ids[k] = ids[k]! & mask
    this.count = mergeFeatures(ids, this.values, this.count)
    return true
  }

  private cross(
    cross: readonly (readonly number[])[],
    { depth, half, value, from }: { depth: number; half: number; value: number; from: number },
  ): void {
    const places = cross[depth]!
    const isLast = depth === cross.length - 1
    // Of a namespace with itself each pair comes once.
    const start = depth > 0 && cross[depth - 1] === places ? from : 0
    for (let i = start; i < places.length; i++) {
      const at = places[i]!
      const hash = half ^ this.ids[at]!
      const product = value * this.values[at]!
      if (isLast) this.push(hash, product)
      else {
        const next = Math.imul(FNV_PRIME, hash)
        this.cross(cross, { depth: depth + 1, half: next, value: product, from: i })
      }
    }
  }

  private push(hash: number, value: number): void {
    if (this.count === this.ids.length) this.grow()
    this.ids[this.count] = hash
    this.values[this.count++] = value
  }

  private grow(): void {
    const ids = new Uint32Array(this.ids.length * 2)
    const values = new Float32Array(ids.length)
    ids.set(this.ids)
    values.set(this.values)
    this.ids = ids
    this.values = values
  }
}

const NOTHING = new Uint8Array(0)

/** The hash of a name: of digits only their number, modulo 2^32, plus the seed. */
function hashOfName(bytes: Uint8Array, from: number, to: number, seed: number): number {
  let number = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    if (byte < ZERO || byte > NINE) return murmur3(bytes, from, to - from, seed)
    number = (Math.imul(number, 10) + byte - ZERO) | 0
  }
  return (number + seed) >>> 0
}

function isEqual(name: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  return name.length === to - from && name.every((byte, i) => byte === bytes[from + i])
}
