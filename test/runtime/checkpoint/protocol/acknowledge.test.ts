import { describe, expect, it } from 'vitest'
import {
  type AcknowledgeFacts,
  judgeAck,
  judgeDecline,
  judgeExpiry,
} from '../../../../src/runtime/checkpoint/protocol/acknowledge.ts'
import type { CheckpointAck } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'

const timings = { startDelayMs: 0, alignmentMs: 0, syncMs: 0, asyncMs: 0 }

const ack = (changes: Partial<CheckpointAck> = {}): CheckpointAck => ({
  jobId: 'job',
  attempt: 2,
  checkpointId: 5,
  task: 'a#0',
  operators: [],
  timings,
  ...changes,
})

const decline = (changes: Partial<CheckpointAck> = {}) => ({ ...ack(changes), reason: 'full disk' })

const facts = (
  acked: readonly string[] = [],
  attempt: number | undefined = 2,
): AcknowledgeFacts => ({
  jobId: 'job',
  attempt,
  collecting: new Map([
    [
      5,
      {
        checkpointId: 5,
        tasks: new Set(['a#0', 'a#1']),
        acks: new Map(acked.map((task) => [task, ack({ task })])),
      },
    ],
  ]),
})

describe('judgeAck', () => {
  it('accepts the first of two', () => {
    const before = facts()
    const outcome = judgeAck(before, ack())
    expect(outcome.kind).toBe('accepted')
    if (outcome.kind === 'accepted') expect([...outcome.checkpoint.acks.keys()]).toEqual(['a#0'])
    expect(before.collecting.get(5)!.acks.size).toBe(0)
  })

  it('completes with the last one', () => {
    const outcome = judgeAck(facts(['a#1']), ack())
    expect(outcome.kind).toBe('completed')
    if (outcome.kind === 'completed') expect(outcome.checkpoint.acks.size).toBe(2)
  })

  it('ignores a second one of the same task', () => {
    expect(judgeAck(facts(['a#0']), ack()).kind).toBe('duplicate')
  })

  it('ignores one for a checkpoint that is settled', () => {
    expect(judgeAck(facts(), ack({ checkpointId: 4 })).kind).toBe('late-ignored')
  })

  it('ignores one of another attempt or job', () => {
    expect(judgeAck(facts(), ack({ attempt: 1 })).kind).toBe('foreign-ignored')
    expect(judgeAck(facts(), ack({ attempt: 3 })).kind).toBe('foreign-ignored')
    expect(judgeAck(facts(), ack({ jobId: 'other' })).kind).toBe('foreign-ignored')
  })

  it('ignores everything while no attempt runs', () => {
    expect(judgeAck({ ...facts(), attempt: undefined }, ack()).kind).toBe('foreign-ignored')
  })

  it('ignores a task that does not take part', () => {
    expect(judgeAck(facts(), ack({ task: 'b#0' })).kind).toBe('unknown-task')
  })
})

describe('judgeDecline', () => {
  it('aborts the checkpoint', () => {
    expect(judgeDecline(facts(), decline())).toEqual({ kind: 'aborted', checkpointId: 5 })
  })

  it('aborts even when the task has acknowledged', () => {
    expect(judgeDecline(facts(['a#0']), decline()).kind).toBe('aborted')
  })

  it('ignores late, foreign and unknown ones', () => {
    expect(judgeDecline(facts(), decline({ checkpointId: 6 })).kind).toBe('late-ignored')
    expect(judgeDecline(facts(), decline({ attempt: 1 })).kind).toBe('foreign-ignored')
    expect(judgeDecline(facts(), decline({ task: 'z#0' })).kind).toBe('unknown-task')
  })
})

describe('judgeExpiry', () => {
  it('aborts a checkpoint and names the missing tasks', () => {
    expect(judgeExpiry(facts(['a#0']), 5)).toEqual({ kind: 'expired', missing: ['a#1'] })
  })

  it('ignores a checkpoint that is settled', () => {
    expect(judgeExpiry(facts(), 4)).toEqual({ kind: 'late-ignored' })
  })
})
