import { describe, expect, it } from 'vitest'
import {
  decodeOrigin,
  encodeOrigin,
  matchOrigins,
  type OriginMatch,
  requireSameTopic,
  type TopicOrigin,
} from '../../../src/connectors/records/topic-origin.ts'

const S1: TopicOrigin = { topic: 's1', id: 'id-1', partitions: 4, cluster: 'c-1' }

describe('the origin of a position', () => {
  it('has one text', () => {
    const text = '{"topic":"s1","id":"id-1","partitions":4,"cluster":"c-1"}'
    expect(encodeOrigin(S1)).toBe(text)
    expect(decodeOrigin(text)).toEqual(S1)
    const unknown = { topic: 's1', id: '', partitions: 1 }
    expect(encodeOrigin(unknown)).toBe('{"topic":"s1","id":"","partitions":1}')
    expect(decodeOrigin(encodeOrigin(unknown))).toEqual(unknown)
  })

  it('is the bare id of the topic in a checkpoint of an earlier build', () => {
    expect(decodeOrigin('8b0d1c1e-6f0a-4a51-8f41-0c5be3a1f9d2')).toEqual({
      id: '8b0d1c1e-6f0a-4a51-8f41-0c5be3a1f9d2',
      partitions: 0,
    })
  })

  it.each(['{', '{}', '{"id":1,"partitions":1}', '{"id":"a"}'])('is refused as %s', (text) => {
    expect(() => decodeOrigin(text)).toThrow(expect.objectContaining({ code: 'MALFORMED_DATA' }))
  })
})

describe('matchOrigins', () => {
  it.each<[string, OriginMatch, Partial<TopicOrigin>, Partial<TopicOrigin>]>([
    ['equal ids', 'same', {}, {}],
    ['equal ids, more partitions', 'same', {}, { partitions: 8 }],
    ['equal ids, a restored log with another id', 'same', {}, { cluster: 'c-2' }],
    ['equal ids, a position without a name', 'same', { topic: undefined, partitions: 0 }, {}],
    ['another name', 'other-topic', {}, { topic: 's2', id: 'id-2' }],
    ['another name without ids', 'other-topic', { id: '' }, { topic: 's2', id: '' }],
    ['the same name in another cluster', 'other-cluster', {}, { id: 'id-2', cluster: 'c-2' }],
    ['another id in the same cluster', 'created-again', {}, { id: 'id-2' }],
    ['another id, the cluster unknown', 'created-again', { cluster: undefined }, { id: 'id-2' }],
    ['no stored id', 'taken-for-same', { id: '' }, {}],
    ['no id now', 'taken-for-same', {}, { id: '' }],
    ['no stored id, fewer partitions', 'created-again', { id: '' }, { partitions: 3 }],
    [
      'another id, and no stored name',
      'other-id',
      { topic: undefined, cluster: undefined },
      { id: 'id-2' },
    ],
  ])('%s: %s', (_, match, stored, now) => {
    expect(matchOrigins({ ...S1, ...stored }, { ...S1, ...now })).toBe(match)
  })
})

describe('requireSameTopic', () => {
  const messageOf = (stored: Partial<TopicOrigin>, now: Partial<TopicOrigin>): string => {
    try {
      requireSameTopic({ ...S1, ...stored }, { ...S1, ...now })
      return ''
    } catch (error) {
      expect(error).toMatchObject({ code: 'TOPIC_CHANGED' })
      return (error as Error).message
    }
  }

  it('names both topics, and says how to go on', () => {
    expect(messageOf({}, { topic: 's2', id: 'id-2' })).toBe(
      'the checkpoint has offsets of topic "s1" (id id-1), and the job reads topic "s2" (id id-2), where they mean other records; name topic "s1" to continue, or start without this checkpoint, with another checkpoint folder (-D execution.checkpointing.dir=DIR); in a job of your own, you can give the source another uid and restore with allowNonRestoredState',
    )
  })

  it('has one message for a topic that was created again, and others for one that was not', () => {
    const again = 'was deleted and created again; its id was id-1 before'
    expect(messageOf({}, { id: 'id-2' })).toContain(again)
    const elsewhere = messageOf({}, { id: 'id-2', cluster: 'c-2' })
    expect(elsewhere).toContain('of the log or cluster c-1, and the job reads')
    expect(elsewhere).not.toContain('created again')
    expect(messageOf({}, { topic: 's2', id: 'id-2' })).not.toContain('created again')
  })

  it('accepts the same topic, and one that nothing tells apart', () => {
    expect(messageOf({}, { partitions: 9 })).toBe('')
    expect(messageOf({ id: '' }, {})).toBe('')
  })
})
