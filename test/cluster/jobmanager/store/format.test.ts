import { describe, expect, it } from 'vitest'
import { decodeJob, encodeJob } from '../../../../src/cluster/jobmanager/store/format.ts'
import { isWeirError } from '../../../../src/core/errors.ts'
import { snapshot } from '../../rest/snapshot.ts'
import { jobRecord } from './record.ts'

/** What `encodeJob` writes for `jobRecord()`: version 1 is read forever. */
const GOLDEN = `weir-job 1 90796f4f
{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","submission":{"job":"als-serving","options":{"topic":"als-model"}},"queryPort":9069,"submittedMs":500,"hasEnded":false,"earlierAttempts":0,"failures":[],"restarts":{"failures":0,"recentMs":[],"backoffMs":0,"lastFailureMs":"#-Infinity"},"pid":17}`

const codeOf = (bytes: Uint8Array): unknown => {
  try {
    decodeJob(bytes, 'x.job')
    return 'decoded'
  } catch (error) {
    return isWeirError(error) ? error.code : error
  }
}

describe('a stored job', () => {
  it('has the bytes of version 1', () => {
    expect(Buffer.from(encodeJob(jobRecord())).toString()).toBe(GOLDEN)
    expect(decodeJob(Buffer.from(GOLDEN), 'x.job')).toEqual(jobRecord())
  })

  it('keeps numbers that JSON lacks, and texts that look like them', () => {
    const metrics = { a: Number.NaN, b: Number.POSITIVE_INFINITY, c: Number.NEGATIVE_INFINITY }
    const stored = jobRecord({
      snapshot: snapshot({ metrics, name: '#NaN', restartStrategy: '##' }),
    })
    expect(decodeJob(encodeJob(stored), 'x.job')).toEqual(stored)
  })

  it('is refused after any change of a byte', () => {
    const bytes = encodeJob(jobRecord())
    for (let i = 0; i < bytes.length; i++) {
      const changed = bytes.slice()
      changed[i]! ^= 0x01
      expect(codeOf(changed), `byte ${i}`).not.toBe('decoded')
    }
    for (let length = 0; length < bytes.length; length++) {
      expect(codeOf(bytes.subarray(0, length)), `length ${length}`).not.toBe('decoded')
    }
  })

  it('of a newer version says so', () => {
    expect(codeOf(Buffer.from('weir-job 2 00000000\n{}'))).toBe('UNSUPPORTED_VERSION')
  })
})
