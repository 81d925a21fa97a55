import { expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { NewestValues } from '../../../src/models/quality/newest-values.ts'

function windowOf(losses: readonly number[], length: number): NewestValues {
  const window = new NewestValues(length)
  for (const loss of losses) window.add(loss)
  return window
}

function join(into: NewestValues, other: NewestValues, share = 0): NewestValues {
  const writer = new ByteWriter()
  other.write(writer)
  into.join(new ByteReader(writer.toBytes()), share)
  return into
}

function meanOf(losses: readonly number[]): number {
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length
}

it('the mean is that of the newest losses, also after a checkpoint at any place', () => {
  const random = seededRandom(3)
  const losses = Array.from({ length: 70 }, () => 9 * random.next())
  for (let cut = 0; cut <= losses.length; cut++) {
    let window = windowOf(losses.slice(0, cut), 20)
    window = join(new NewestValues(20), window)
    const unbroken = windowOf(losses.slice(0, cut), 20)
    for (const [i, loss] of losses.slice(cut).entries()) {
      window.add(loss)
      unbroken.add(loss)
      expect(window.mean).toBe(unbroken.mean)
      expect(window.mean).toBeCloseTo(meanOf(losses.slice(0, cut + i + 1).slice(-20)), 5)
    }
  }
})

it('an empty window has no mean', () => {
  expect(join(new NewestValues(3), new NewestValues(3)).mean).toBeNaN()
})

it('two windows that fit into one give all their losses', () => {
  const joined = join(windowOf([1, 2, 3], 8), windowOf([10, 20], 8), 0.5)
  expect(joined.mean).toBeCloseTo(36 / 5)
})

it.each([
  // Of 10 places, the share of the first.
  [0.5, [5, 6, 7, 8, 9, 15, 16, 17, 18, 19]],
  [0.8, [2, 3, 4, 5, 6, 7, 8, 9, 18, 19]],
  [0.1, [9, 11, 12, 13, 14, 15, 16, 17, 18, 19]],
])('two full windows give their newest losses, by their shares: %d', (share, expected) => {
  const tens = Array.from({ length: 10 }, (_, i) => i)
  const twenties = tens.map((loss) => 10 + loss)
  const joined = join(windowOf(tens, 10), windowOf(twenties, 10), share)
  expect(joined.mean).toBeCloseTo(meanOf(expected))
})

it('the losses of joined windows leave in turns', () => {
  const joined = join(windowOf([1, 1, 1, 1], 4), windowOf([3, 3, 3, 3], 4), 0.5)
  joined.add(0)
  joined.add(0)
  expect(joined.mean).toBe(1)
})

it('a window of another length takes the newest losses', () => {
  expect(join(new NewestValues(2), windowOf([5, 1, 3], 3)).mean).toBe(2)
  expect(join(new NewestValues(9), windowOf([5, 1, 3], 3)).mean).toBe(3)
})
