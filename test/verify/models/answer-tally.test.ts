import { beforeEach, describe, expect, it } from 'vitest'
import { AnswerTally } from '../../../verify/models/answer-tally.ts'

const FIRST = 3 * 2 ** 30

let tally: AnswerTally

beforeEach(() => {
  tally = new AnswerTally(FIRST)
})

/** What the model answers to a request. */
const answerOf = (request: number): number[] =>
  tally.floatsOf(request).map((value) => Math.fround(2 * Math.fround(value)))

describe('the tally of the answers of a thread', () => {
  it('counts an answer to its own request as right, also after a million requests', () => {
    for (let i = 0; i < 1_200_000; i++) tally.failed(tally.ask())
    const request = tally.ask()
    tally.answered(request, answerOf(request))
    expect(tally.counts).toEqual({ right: 1, wrong: 0, answeredTwice: 0, open: 0 })
  })

  it('counts a second answer, whichever request gets it', () => {
    const first = tally.ask()
    tally.answered(first, answerOf(first))
    const second = tally.ask()
    tally.answered(second, answerOf(first))
    expect(tally.counts).toMatchObject({ right: 1, answeredTwice: 1, wrong: 0 })
  })

  it('counts a late answer of a request that its client gave up, if another one gets it', () => {
    const [first, second] = [tally.ask(), tally.ask()]
    tally.failed(first)
    tally.answered(second, answerOf(first))
    expect(tally.counts).toMatchObject({ right: 0, answeredTwice: 1 })
  })

  it('counts an answer of another open request, of another thread, or of none as wrong', () => {
    const [first, second, third, fourth] = [tally.ask(), tally.ask(), tally.ask(), tally.ask()]
    tally.answered(first, answerOf(second))
    tally.answered(second, answerOf(FIRST - 1))
    tally.answered(third, [0.5, 1])
    tally.answered(fourth, [])
    expect(tally.counts).toEqual({ right: 0, wrong: 4, answeredTwice: 0, open: 0 })
  })

  it('counts requests that have no end', () => {
    tally.ask()
    tally.failed(tally.ask())
    expect(tally.counts.open).toBe(1)
  })
})
