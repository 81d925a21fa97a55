import { expect, test } from 'vitest'
import { WaitingFrames } from '../../../src/serving/server/waiting-frames.ts'
import { FrameReader, KIND } from '../../../src/wire/frame.ts'
import { FrameWriter } from '../../../src/wire/frame-writer.ts'
import { beginRequest, RequestCursor } from '../../../src/wire/request.ts'

const PREAMBLE = { state: 'S', version: 0, deadlineMs: 1, consistency: { level: 'live' } } as const

test('frames come in order with their times, whatever number waits', () => {
  const waiting = new WaitingFrames()
  const writer = new FrameWriter()
  const cursor = new RequestCursor()
  let pushed = 0
  let shifted = 0
  const push = (): void => {
    writer.reset()
    beginRequest(writer, KIND.scan, 0, pushed + 1, PREAMBLE)
    writer.end(1)
    const frames = new FrameReader(() => 1_000)
    frames.append(writer.toBytes())
    frames.next()
    cursor.open(frames)
    cursor.readPreamble()
    waiting.push(cursor, frames.end - frames.start, pushed, pushed + 0.5)
    pushed += 1
  }
  const shift = (): void => {
    waiting.shift()
    expect([waiting.cursor.requestId, waiting.startedAt, waiting.deadline]).toEqual([
      shifted + 1,
      shifted,
      shifted + 0.5,
    ])
    shifted += 1
  }
  for (const [more, fewer] of [
    [3, 3],
    [500, 100],
    [1, 300],
    [2_000, 1],
    [0, 2_100],
  ] as const) {
    for (let i = 0; i < more; i++) push()
    for (let i = 0; i < fewer; i++) shift()
    expect(waiting.size).toBe(pushed - shifted)
  }
  waiting.release()
  expect(waiting.size).toBe(0)
})
