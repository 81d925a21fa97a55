import { describe, expect, it } from 'vitest'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { AlsLab, BASE, labWithLive, noise, planted } from './als-lab.ts'

describe('poisoned observations are refused', () => {
  it('random ratings in small steps: the best version ever promoted stays the measure', async () => {
    const { lab, data } = await labWithLive()
    const before = lab.rmse(data.test)
    let promoted = 0
    for (let step = 1; step <= 6; step++) {
      lab.observations.push(...noise(150 * step, step))
      const failed = await lab.retrain()
      if (failed.length > 0) {
        expect(failed.join()).toMatch(/certain loss of MSE against version \d+, the best/)
        break
      }
      promoted++
      expect(lab.rmse(data.test) / before).toBeLessThan(1.02)
    }
    expect(promoted).toBeLessThan(6)
  })
})

/**
 * The failed measures but the rise of an item: it asks for golden ratings of the item, which an honest rise of a rare one
 * does not always have.
 */
function withoutRise(failed: readonly string[]): readonly string[] {
  return failed.filter((measure) => !measure.startsWith('rise of item'))
}

describe('honest observations pass', () => {
  const seeds = Array.from({ length: campaignSize(2, 6) }, (_, n) => n + 1)

  it.each(seeds)('growth: trainings on more and more ratings, seed %d', async (seed) => {
    const data = planted(seed)
    const lab = new AlsLab(data.first, data.golden)
    expect(withoutRise(await lab.retrain())).toEqual([])
    const before = lab.rmse(data.test)
    for (let step = 0; step < campaignSize(2, 5); step++) {
      lab.observations.push(...data.later.slice(step * 2000, (step + 1) * 2000))
      expect(withoutRise(await lab.retrain())).toEqual([])
    }
    expect(lab.rmse(data.test)).toBeLessThan(before)
  })

  it('and a golden set that ends before what the live version was trained on is said to be old', async () => {
    const data = planted(1)
    const day = 86_400_000
    const at = (ratings: readonly Rating[], ms: number): Rating[] =>
      ratings.map((rating, n) => ({ ...rating, timestamp: ms + n }))
    const fresh = new AlsLab(at(data.first, 0), at(data.golden, 50 * day))
    await fresh.retrain()
    fresh.observations.push(...at(data.later.slice(0, 2000), 40 * day))
    await fresh.retrain()
    expect(fresh.advice).toEqual([])
    // As a random part of what is trained on does.
    const between = new AlsLab(at(data.first, 0), at(data.golden, BASE - 3100))
    await between.retrain()
    between.observations.push(...at(data.later.slice(0, 2000), BASE))
    await between.retrain()
    expect(between.advice).toEqual([])
    const old = new AlsLab(at(data.first, 0), at(data.golden, 0))
    await old.retrain()
    expect(old.advice).toEqual([])
    old.observations.push(...at(data.later.slice(0, 2000), 40 * day))
    await old.retrain()
    old.observations.push(...at(data.later.slice(2000, 4000), 41 * day))
    await old.retrain()
    expect(old.advice.join()).toContain(
      'the golden set ends 40 days before the newest observation of the live version',
    )
  })

  it('a version of old ratings is refused, with the advice to let them count less', async () => {
    const { first, golden, later } = planted(1, [{ from: BASE, angle: 2 }])
    // A sixth of the golden set is from before the turn.
    const lab = new AlsLab(later, [...first.slice(0, 600), ...golden])
    expect(withoutRise(await lab.retrain())).toEqual([])
    // What was liked comes from before the turn three times as often.
    const old = first.slice(600)
    lab.observations.unshift(...old, ...old, ...old)
    expect((await lab.retrain()).join()).toContain('certain loss of MSE')
    expect(lab.advice.join()).toMatch(/newest third of the golden set better.*--half-life auto/)
  })

  it.each(seeds)(
    'drift: the tastes of the users have turned, and the golden ratings are from after it, seed %d',
    async (seed) => {
      const turned = planted(seed, [{ from: BASE, angle: 0.7 }])
      const lab = new AlsLab(turned.first, turned.golden)
      expect(withoutRise(await lab.retrain())).toEqual([])
      lab.observations.push(...turned.later)
      expect(withoutRise(await lab.retrain())).toEqual([])
    },
  )
})
