import { describe, expect, it } from 'vitest'
import { InFlightLimit } from '../../../../src/jobs/learning/in-flight-limit.ts'
import { StepFolds } from '../../../../src/jobs/learning/linear/step-folds.ts'

/** The counts of two slots, with so many examples in flight. */
function open(examples: number, startMs = 0) {
  const buffer = InFlightLimit.newBuffer(startMs)
  const limit = new InFlightLimit(buffer)
  for (let n = 0; n < examples; n++) limit.enter()
  return { limit, reader: new StepFolds(buffer), owner: new StepFolds(buffer) }
}

describe('the folds of steps', () => {
  it('end an example with the last of its blocks, whichever slot folds it', () => {
    const { limit, reader, owner } = open(2)
    const [first, second] = [reader.begin(3), reader.begin(1)]
    for (const folds of [owner, reader]) folds.folded(first)
    expect(limit.count).toBe(2)
    owner.folded(second)
    expect(limit.count).toBe(1)
    owner.folded(first)
    expect(limit.count).toBe(0)
  })

  it('count no parts of another attempt', () => {
    const before = open(1, 5).reader.begin(1)
    const { limit, reader, owner } = open(1, 6)
    const own = reader.begin(1)
    for (const ticket of [before, 0]) owner.folded(ticket)
    expect(limit.count).toBe(1)
    owner.folded(own)
    expect(limit.count).toBe(0)
  })

  it('have a place for each of 16,384 steps; an example of a further one leaves at once', () => {
    const { limit, reader, owner } = open(16_385)
    const tickets = Array.from({ length: 16_384 }, () => reader.begin(2))
    expect(new Set(tickets).size).toBe(16_384)
    expect(reader.begin(2)).toBe(0)
    expect(limit.count).toBe(16_384)
    for (const ticket of [...tickets, ...tickets]) owner.folded(ticket)
    expect(limit.count).toBe(0)
    expect(reader.begin(2)).not.toBe(0)
  })

  it('end an example without blocks at once', () => {
    const { limit, reader } = open(1)
    expect(reader.begin(0)).toBe(0)
    expect(limit.count).toBe(0)
  })
})
