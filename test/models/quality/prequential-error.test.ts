import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { PrequentialError } from '../../../src/models/quality/prequential-error.ts'

const OPTIONS = { window: 50, fading: 0.98 }

interface Predicted {
  readonly error: number
  readonly known: boolean
}

function stream(count: number, seed: number): Predicted[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => {
    return { error: random.normal(), known: random.next() < 0.8 }
  })
}

function joinAll(parts: readonly PrequentialError[]): PrequentialError {
  const joined = new PrequentialError(OPTIONS)
  for (const part of parts) {
    const writer = new ByteWriter()
    part.write(writer)
    joined.join(new ByteReader(writer.toBytes()))
  }
  return joined
}

function measured(predicted: readonly Predicted[], from = new PrequentialError(OPTIONS)) {
  for (const { error, known } of predicted) from.add(error, known)
  return from
}

function figures({ count, mse, windowMse, fadedMse, startMse, coverage }: PrequentialError) {
  return { count, mse, windowMse, fadedMse, startMse, coverage }
}

/** The figures by their definitions. */
function plain(predicted: readonly Predicted[]) {
  const squares = predicted.map(({ error }) => error * error)
  const mean = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length
  let [faded, weights] = [0, 0]
  for (const [i, square] of squares.entries()) {
    const weight = OPTIONS.fading ** (squares.length - 1 - i)
    faded += weight * square
    weights += weight
  }
  return {
    count: squares.length,
    mse: mean(squares),
    windowMse: mean(squares.slice(-OPTIONS.window)),
    fadedMse: faded / weights,
    startMse: squares.length < 1000 ? Number.NaN : mean(squares.slice(0, 1000)),
    coverage: predicted.filter(({ known }) => known).length / squares.length,
  }
}

function expectClose(found: ReturnType<typeof plain>, expected: ReturnType<typeof plain>): void {
  for (const [name, value] of Object.entries(expected)) {
    const figure = found[name as keyof typeof found]
    if (Number.isNaN(value)) expect(figure, name).toBeNaN()
    else expect(figure, name).toBeCloseTo(value, 6)
  }
}

describe('the prequential error', () => {
  it('is that of its definition, and the same to the last bit after a checkpoint at any place', () => {
    const predicted = stream(1400, 7)
    expectClose(figures(measured(predicted)), plain(predicted))
    for (const cut of [1, 30, 50, 77, 999, 1000, 1001, 1333]) {
      const again = measured(predicted.slice(cut), joinAll([measured(predicted.slice(0, cut))]))
      expect(figures(again)).toEqual(figures(measured(predicted)))
    }
  })

  it('of two slots is that of the ratings of both', () => {
    const [a, b] = [stream(30, 1), stream(15, 2)]
    const found = figures(joinAll([measured(a), measured(b)]))
    const all = plain([...a, ...b])
    // Fading counts the ratings of each slot.
    const weights = (n: number) => (1 - OPTIONS.fading ** n) / (1 - OPTIONS.fading)
    const fadedMse =
      (plain(a).fadedMse * weights(30) + plain(b).fadedMse * weights(15)) /
      (weights(30) + weights(15))
    expectClose(found, { ...all, fadedMse })
  })

  it('of two slots goes on with the start of those that have not had 1,000 ratings', () => {
    const [a, b, rest] = [stream(400, 1), stream(300, 2), stream(500, 3)]
    const joined = measured(rest, joinAll([measured(a), measured(b)]))
    expect(joined.startMse).toBeCloseTo(plain([...a, ...b, ...rest].slice(0, 1000)).mse, 9)
  })

  it('has no start where others had it, also after a checkpoint', () => {
    const error = new PrequentialError(OPTIONS)
    error.leaveOutStart()
    measured(stream(2000, 4), error)
    expect(error.startCount).toBe(0)
    expect(measured(stream(2000, 5), joinAll([error])).startMse).toBeNaN()
    const joined = joinAll([error, measured(stream(1500, 6))])
    expect(joined.startMse).toBeCloseTo(plain(stream(1500, 6)).startMse, 9)
  })

  it('of a checkpoint of before the window was state has a window of its faded mean', () => {
    const error = new PrequentialError(OPTIONS)
    error.restoreEarlier(Float64Array.of(10, 8, 5, 5, 10))
    expectClose(figures(error), {
      count: 10,
      mse: 0.5,
      windowMse: 0.5,
      fadedMse: 0.5,
      startMse: Number.NaN,
      coverage: 0.8,
    })
  })
})

describe('a prequential error', () => {
  it('measures over all ratings, over a window and with fading', () => {
    const error = new PrequentialError({ window: 2, fading: 0.5 })
    for (const value of [3, 1, 1]) error.add(value, value === 1)
    expect(error.mse).toBeCloseTo(11 / 3)
    expect(error.windowMse).toBe(1)
    expect(error.fadedMse).toBeCloseTo((1 + 0.5 + 0.25 * 9) / 1.75)
    expect(error.coverage).toBeCloseTo(2 / 3)
  })

  it('continues from a checkpoint, and leaves out errors that are not finite', () => {
    const before = new PrequentialError()
    before.add(2, true)
    const after = new PrequentialError()
    const writer = new ByteWriter()
    before.write(writer)
    after.join(new ByteReader(writer.toBytes()))
    after.add(Number.NaN, true)
    expect([after.count, after.mse, after.windowMse]).toEqual([1, 4, 4])
  })
})
