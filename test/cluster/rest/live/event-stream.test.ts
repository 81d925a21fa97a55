import { describe, expect, it } from 'vitest'
import {
  EventStream,
  MOST_WAITING_BYTES,
  type StreamResponse,
  seenSequence,
} from '../../../../src/cluster/rest/live/event-stream.ts'

function response() {
  const written: string[] = []
  const fake = {
    writableLength: 0,
    isDestroyed: false,
    writeHead: () => fake,
    write: (text: string) => written.push(text),
    end: () => fake,
    destroy: () => {
      fake.isDestroyed = true
      return fake
    },
  }
  return { fake, written, stream: new EventStream(fake as unknown as StreamResponse, 'ab12') }
}

it('writes events with an id, and comments as signs of life', () => {
  const { written, stream } = response()
  stream.open()
  stream.send({ path: '/overview', status: 200, body: '{"jobs":[]}', sequence: 7 })
  stream.heartbeat()
  expect(written.join('')).toBe(
    'retry: 1000\n\nid: ab12-7\nevent: answer\ndata: {"path":"/overview","status":200,"body":{"jobs":[]}}\n\n:\n\n',
  )
})

it('disconnects a client that is too far behind', () => {
  const { fake, written, stream } = response()
  fake.writableLength = MOST_WAITING_BYTES + 1
  stream.heartbeat()
  expect([fake.isDestroyed, written]).toEqual([true, []])
})

describe('the id of the last event', () => {
  it.each([
    ['ab12-7', 7],
    ['cd34-7', 0],
    ['', 0],
    [undefined, 0],
    ['ab12-x', 0],
  ])('%s is the change %i', (id, sequence) => {
    expect(seenSequence(id, 'ab12')).toBe(sequence)
  })
})
