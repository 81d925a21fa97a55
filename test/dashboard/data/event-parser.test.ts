import { expect, it } from 'vitest'
import { EventParser } from '../../../dashboard/src/data/event-parser.ts'

const TEXT =
  'retry: 1000\n\nid: a-1\nevent: answer\ndata: {"path":"/a: b"}\n\n:\n\ndata: second\n\n'

it('finds the events of a stream, in whatever pieces it arrives', () => {
  const expected = [
    { id: 'a-1', type: 'answer', data: '{"path":"/a: b"}' },
    { id: '', type: 'message', data: 'second' },
  ]
  for (const size of [1, 2, 7, TEXT.length]) {
    const parser = new EventParser()
    const events = []
    for (let at = 0; at < TEXT.length; at += size) {
      events.push(...parser.push(TEXT.slice(at, at + size)))
    }
    expect(events).toEqual(expected)
  }
})

it('keeps an event that is not complete', () => {
  const parser = new EventParser()
  expect(parser.push('data: one\n')).toEqual([])
  expect(parser.push('\ndata: tw')).toMatchObject([{ data: 'one' }])
})
