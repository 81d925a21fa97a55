import { requireArgument } from './errors.ts'

/** A seeded stream of random numbers: the same seed gives the same numbers on every machine. */
export interface Random {
  /** A float64, 0 <= x < 1. */
  next(): number
  /** A whole number, 0 <= n < bound, bound <= 2^32. */
  below(bound: number): number
  /** A standard normal number. */
  normal(): number
}

/** Random numbers in streams that can be entered in any order. */
export interface RandomStreams extends Random {
  /** Continues at the start of stream (`block`, `row`); equal streams have equal numbers. */
  seek(block: number, row: number): void
}

/** The finalizer of splitmix32: spreads the bits of a 32-bit number; different numbers stay different. */
function mixed(x: number): number {
  let z = x | 0
  z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
  z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
  return z ^ (z >>> 16)
}

/** Splitmix32, which spreads a small seed over the generator's state. */
function splitmix32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    return mixed(state)
  }
}

const rotateLeft = (x: number, k: number): number => (x << k) | (x >>> (32 - k))

/** xoshiro128** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021). */
class Xoshiro128 implements RandomStreams {
  private readonly seed: number
  private a: number
  private b: number
  private c: number
  private d: number
  private spare: number | undefined

  constructor(seed: number) {
    this.seed = seed
    const spread = splitmix32(seed)
    this.a = spread() | 0
    this.b = spread() | 0
    this.c = spread() | 0
    this.d = spread() | 0
  }

  /** `mixed` is a bijection, so streams of one block never share a state. The first step mixes it. */
  seek(block: number, row: number): void {
    this.a = mixed(this.seed + 0x9e3779b9)
    this.c = mixed(this.a ^ block)
    this.b = mixed(this.c ^ row)
    this.d = mixed(this.b + 0x9e3779b9)
    this.spare = undefined
    this.uint32()
  }

  /** The state is kept as signed numbers: unsigned ones above 2^31 would be allocated one by one. */
  private uint32(): number {
    const result = Math.imul(rotateLeft(Math.imul(this.b, 5), 7), 9) >>> 0
    const t = this.b << 9
    this.c ^= this.a
    this.d ^= this.b
    this.b ^= this.c
    this.a ^= this.d
    this.c ^= t
    this.d = rotateLeft(this.d, 11)
    return result
  }

  next(): number {
    const high = this.uint32() >>> 5
    const low = this.uint32() >>> 6
    return (high * 67108864 + low) / 9007199254740992
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  /** Marsaglia's polar method; every second call uses the spare of the first. */
  normal(): number {
    if (this.spare !== undefined) {
      const spare = this.spare
      this.spare = undefined
      return spare
    }
    for (;;) {
      const x = 2 * this.next() - 1
      const y = 2 * this.next() - 1
      const s = x * x + y * y
      if (s > 0 && s < 1) {
        const scale = Math.sqrt((-2 * Math.log(s)) / s)
        this.spare = y * scale
        return x * scale
      }
    }
  }
}

/** A generator for `seed` (any whole number; its low 32 bits count). */
export function seededRandom(seed: number): Random {
  requireArgument(Number.isFinite(seed), `a seed is a finite number, not ${String(seed)}`)
  return new Xoshiro128(seed)
}

/** The numbers of `seededRandom` for one seed after the other, each of which costs nothing until a number is taken. */
export class ReseededRandom implements Random {
  private seed = 0
  private random: Random | undefined

  /** Begins with the numbers of another seed. */
  reseed(seed: number): void {
    this.seed = seed
    this.random = undefined
  }

  next(): number {
    return this.seeded().next()
  }

  below(bound: number): number {
    return this.seeded().below(bound)
  }

  normal(): number {
    return this.seeded().normal()
  }

  private seeded(): Random {
    this.random ??= seededRandom(this.seed)
    return this.random
  }
}

/** Streams for `seed` (any whole number; its low 32 bits count). */
export function randomStreams(seed: number): RandomStreams {
  return new Xoshiro128(seed)
}
