import type { Random } from '../../src/core/random.ts'

/** Random plain data, of kinds that MessagePack keeps; `depth` counts the levels above. */
export function randomPlainValue(random: Random, depth = 0): unknown {
  const values = (count: number): unknown[] =>
    Array.from({ length: count }, () => randomPlainValue(random, depth + 1))
  switch (random.below(depth > 3 ? 5 : 10)) {
    case 0:
      return random.below(1000) - 500
    case 1:
      return random.next() * 1e9
    case 2:
      return `text ${random.below(50)} ${'ä'.repeat(random.below(2))}`
    case 3:
      return random.below(2) === 0
    case 4:
      return null
    case 5:
      return values(random.below(4))
    case 6:
      return new Map(values(random.below(4)).map((value, i) => [`k${i}`, value]))
    case 7:
      return new Set(values(random.below(4)))
    case 8:
      return new Date(random.below(2 ** 40))
    default:
      return Object.fromEntries(values(random.below(5)).map((value, i) => [`f${i}`, value]))
  }
}
