import { describe, expect, it } from 'vitest'
import { nearestWord } from '../../../src/core/text/nearest-word.ts'

describe('nearestWord', () => {
  it('finds the word that was meant', () => {
    expect(nearestWord('ratngs', ['ratings', 'topic', 'help'])).toBe('ratings')
  })

  it('is silent when nothing is near', () => {
    expect(nearestWord('zzzzzzzz', ['ratings', 'topic'])).toBeUndefined()
  })
})
