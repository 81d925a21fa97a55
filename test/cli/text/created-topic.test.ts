import { describe, expect, it } from 'vitest'
import { createdTopic } from '../../../src/cli/text/created-topic.ts'

const BASE = { topic: 'notes', partitions: 2 } as const

describe('the sentence about a new topic', () => {
  it('says that a topic without limits keeps every record', () => {
    expect(createdTopic('notes', { ...BASE, cleanupPolicy: 'delete' })).toBe(
      'created notes with 2 partitions: it keeps every record',
    )
    expect(createdTopic('notes', { ...BASE, cleanupPolicy: 'delete', retentionMs: -1 })).toContain(
      'it keeps every record',
    )
  })

  it('says that limits delete the oldest records', () => {
    const sentence = createdTopic('notes', {
      ...BASE,
      partitions: 1,
      cleanupPolicy: 'delete',
      retentionMs: 5,
    })
    expect(sentence).toBe(
      'created notes with 1 partition: it deletes the oldest records above its limits',
    )
  })

  it('says that compaction keeps the last record of each key', () => {
    expect(
      createdTopic('notes', { ...BASE, cleanupPolicy: 'compact', retentionBytes: 5 }),
    ).toContain('it keeps the last record of each key (compaction)')
    expect(createdTopic('notes', { ...BASE, cleanupPolicy: 'both', retentionBytes: 5 })).toContain(
      'and deletes the oldest above its limits',
    )
  })

  it('leaves out what the brokers did not say', () => {
    expect(createdTopic('notes', BASE)).toBe('created notes with 2 partitions')
  })
})
