import { describe, expect, it } from 'vitest'
import { Program, wrong } from './wrong-programs.ts'

const { windows } = new Program()
const trigger = { onElement() {}, onEventTime() {}, onProcessingTime() {}, clear() {} }
const aggregate = { createAccumulator() {}, add() {}, getResult() {}, merge() {} }

describe('the parts of windows', () => {
  it.each([
    [() => windows.trigger(wrong(() => trigger)), 'trigger(...) got a function'],
    [
      () => windows.trigger(wrong({ ...trigger, clear: undefined })),
      'with onElement, onEventTime, onProcessingTime and clear',
    ],
    [() => windows.evictor(wrong({})), 'evictBefore or evictAfter'],
    [() => windows.evictor(wrong({ evictAfter: 5 })), 'evictBefore or evictAfter'],
    [() => windows.aggregate(wrong(() => aggregate)), 'aggregate(...) got a function'],
    [
      () => windows.aggregate(wrong({ ...aggregate, merge: undefined })),
      'createAccumulator, add, getResult and merge',
    ],
  ])('are refused without one of their methods: %s', (program, sentence) => {
    expect(program).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    expect(program).toThrow(sentence)
  })

  it.each([
    [() => windows.trigger(wrong({ ...trigger, async onElement() {} })), 'onElement of trigger'],
    [() => windows.evictor(wrong({ async evictAfter() {} })), 'evictAfter of evictor'],
    [() => windows.aggregate(wrong({ ...aggregate, async add() {} })), 'add of aggregate'],
  ])('are refused with an async method: %s', (program, sentence) => {
    expect(program).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }))
    expect(program).toThrow(sentence)
  })

  it('may be an evictor with one method', () => {
    expect(() => windows.evictor({ evictAfter: (all) => all })).not.toThrow()
  })
})
