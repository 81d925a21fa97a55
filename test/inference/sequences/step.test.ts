import { describe, expect, it } from 'vitest'
import {
  decideStep,
  type OutOfStep,
  outOfStep,
  readStep,
  stepText,
} from '../../../src/inference/sequences/step.ts'

const A = 'aaaaaaaaaaaa'
const B = 'bbbbbbbbbbbb'
const AT_FIVE = { step: 5, beginning: A }

describe('the step of a sequence', () => {
  it('is written and read as one text', () => {
    expect(stepText(AT_FIVE)).toBe('5-aaaaaaaaaaaa')
    expect(readStep('5-aaaaaaaaaaaa')).toEqual(AT_FIVE)
  })

  it.each([
    '',
    '5',
    '0-aaaaaaaaaaaa',
    '5-AAAAAAAAAAAA',
    '5-aaaaaaaaaaa',
    '05-aaaaaaaaaaaa',
    '-5-aaaaaaaaaaaa',
  ])('is no other text: "%s"', (text) => {
    expect(() => readStep(text)).toThrow('such as "5-0f9a3c52b7d1"')
  })
})

describe('a request of a sequence', () => {
  it.each<
    [string, boolean, { step: number; beginning: string } | undefined, OutOfStep | undefined]
  >([
    ['names nothing, and no answer can be lost', true, undefined, undefined],
    ['names nothing, and answers may be lost', false, undefined, 'unnamed'],
    ['follows the stored answer', true, AT_FIVE, undefined],
    ['follows the stored answer, and later ones may be lost', false, AT_FIVE, undefined],
    ['follows an answer that is lost', false, { step: 6, beginning: A }, 'behind'],
    ['follows an answer that had its next one', true, { step: 4, beginning: A }, 'answered'],
    ['follows an answer of another beginning', true, { step: 5, beginning: B }, 'other-beginning'],
    [
      'follows a later one of another beginning',
      false,
      { step: 9, beginning: B },
      'other-beginning',
    ],
  ])('%s', (_what, isWhole, after, decided) => {
    expect(decideStep({ ...AT_FIVE, isWhole }, after)).toBe(decided)
  })

  it.each<[OutOfStep, string]>([
    ['unnamed', 'restored at step 5, and answers after it may be lost; name the answer'],
    [
      'behind',
      'at step 5, and the request follows step 7, which is lost; send what came after step 5 again',
    ],
    ['answered', 'at step 5, and the request follows step 7: it was answered before'],
    ['other-beginning', 'what is stored is step 5 of another beginning'],
  ])('is told which step is stored: %s', (why, sentence) => {
    const error = outOfStep('x'.repeat(99), AT_FIVE, { why, after: { step: 7, beginning: A } })
    expect(error).toMatchObject({
      code: 'SEQUENCE_OUT_OF_STEP',
      details: { step: 5, sequenceStep: '5-aaaaaaaaaaaa', why },
    })
    expect(error.message).toContain(sentence)
    expect(error.message).toContain('or begin it again, with sequence_start')
    expect(error.message).toContain(`sequence "${'x'.repeat(40)}" `)
  })
})
