import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  areOfSameInputs,
  type ProcessingInputs,
  processingName,
  versionOfInputs,
} from '../../../src/models/registry/processing-name.ts'
import type { DataRange } from '../../../src/models/registry/ranges/data-range.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import { registeredVersion } from './registered-version.ts'

const RANGE: DataRange = { topic: 'ratings', partition: 0, from: 0, to: 8000 }
const inputsOf = (range: DataRange): ProcessingInputs => ({
  ranges: [range],
  files: [],
  code: 'als/1',
  hyperparameters: { factors: 4 },
})
const HERE = { ...RANGE, topicId: 'here' }
const THERE = { ...RANGE, topicId: 'there' }

/** A version that was trained on a range. */
function trainedOn(range: DataRange, id = 'id-1'): RegisteredVersion {
  const version = registeredVersion(1)
  const lineage = { ...version.lineage, ranges: [range] }
  return { ...version, id, processingName: processingName(inputsOf(range)), lineage }
}

describe('processingName', () => {
  it('is a hash over the inputs, which without ids is that of earlier builds', () => {
    const nameOf = (range: string): string => {
      const text = JSON.stringify([[range], [], 'als/1', [['factors', 4]], null])
      return `als-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
    }
    expect(processingName(inputsOf(RANGE))).toBe(nameOf('ratings/0:0-8000'))
    expect(processingName(inputsOf(HERE))).toBe(nameOf('ratings/0:0-8000@here'))
  })

  it('differs for the same offsets of another topic', () => {
    expect(processingName(inputsOf(HERE))).not.toBe(processingName(inputsOf(THERE)))
  })
})

describe('versionOfInputs', () => {
  const found = (
    versions: readonly RegisteredVersion[],
    parents: (string | undefined)[] = [undefined],
  ) => versionOfInputs(versions, inputsOf(HERE), parents)

  it('finds the version of the same topic, and none of another one', () => {
    const version = trainedOn(HERE)
    expect(found([version])).toEqual({ version, isAssumed: false })
    expect(found([trainedOn(THERE)])).toBeUndefined()
    expect(found([{ ...version, state: 'retired' }])).toBeUndefined()
    expect(found([version], ['another'])).toBeUndefined()
  })

  it('takes a version of an earlier build for one of this topic, and says so', () => {
    const version = trainedOn(RANGE)
    expect(found([version])).toEqual({ version, isAssumed: true })
  })

  it('does not take one for it that was imported: its topic is not known', () => {
    const { lineage, ...version } = trainedOn(RANGE)
    const imported = { ...lineage, ranges: [{ ...RANGE, topicId: '' }] }
    expect(found([{ ...version, lineage: imported }])).toBeUndefined()
  })
})

describe('areOfSameInputs', () => {
  it('goes by the name, where the name says of which topic', () => {
    expect(areOfSameInputs(trainedOn(HERE, 'id-1'), trainedOn(HERE, 'id-2'))).toBe(true)
    expect(areOfSameInputs(trainedOn(HERE), trainedOn(THERE))).toBe(false)
  })

  it('goes by the id, where the name is of an earlier build', () => {
    expect(areOfSameInputs(trainedOn(RANGE, 'id-1'), trainedOn(RANGE, 'id-2'))).toBe(false)
    expect(areOfSameInputs(trainedOn(RANGE, 'id-1'), trainedOn(RANGE, 'id-1'))).toBe(true)
  })
})
